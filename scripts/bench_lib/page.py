"""The page docs/performance.md: what stands between its markers, and facts of the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill

from scripts.bench_lib.contenders import ROOT

__all__ = ["PAGE", "facts_of", "machine", "with_section", "write_section"]

PAGE = ROOT / "docs" / "performance.md"


def machine() -> str:
    """Returns processor, cores and memory; no name of a host."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return f"{model}, {cores} cores, {memory:.0f} GB of memory, {platform.system()}"


def facts_of(versions: Mapping[str, str], rounds: int) -> str:
    """Returns the line under a table: when, where, with what.

    Args:
        versions: by package.
        rounds: how many there were.
    """
    python = ".".join(map(str, sys.version_info[:3]))
    packages = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    times = "one round" if rounds == 1 else f"medians of {rounds} interleaved rounds"
    return _wrap(
        f"Measured on {datetime.now(UTC):%Y-%m-%d}: {times}, each in a fresh process; {machine()};"
        f" Python {python}, {packages}."
    )


def _wrap(text: str) -> str:
    return fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def with_section(page: str, name: str, text: str) -> str:
    r"""Returns the page with what stands between the markers of a section replaced.

    Args:
        page: Markdown.
        name: of the section.
        text: Markdown, which ends with a line break.

    Raises:
        ValueError: the page lacks the markers.

    Example:
        >>> with_section("<!-- a: begin -->\nold\n<!-- a: end -->\n", "a", "new\n")
        '<!-- a: begin -->\n\nnew\n\n<!-- a: end -->\n'
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"the page lacks the markers of the section {name}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def write_section(name: str, text: str) -> None:
    """Replaces a section of the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_section(page, name, text), encoding="utf-8")
    print(f"Wrote the section {name} of {PAGE.relative_to(ROOT)}.")
