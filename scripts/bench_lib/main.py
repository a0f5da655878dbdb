"""The benchmark: recoeval, a bare scan, DuckDB and other libraries on the same lists.

Usage: scripts/bench [--quick | --large] [--sizes S,M] [--only ours,duckdb] [--rounds N] [--no-page]
       scripts/bench huge | log | candidates [--rounds N] [--no-page]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from scripts.bench_lib.candidates import measure_candidates
from scripts.bench_lib.comparison import cases_of, compare, ensure_data
from scripts.bench_lib.contenders import CACHE, Case, find
from scripts.bench_lib.log import measure_log
from scripts.bench_lib.page import write_section

SIZES = ("S", "M", "L")
QUICK = ["ours", "duckdb", "scan"]


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns what is asked for, with sizes and contenders filled in."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument(
        "mode",
        nargs="?",
        choices=("lists", "huge", "log", "candidates"),
        default="lists",
        help="lists: all contenders (default); huge: 5 million users; log: a run on 50 million rows"
        " with popularity and three lists; candidates: ALS against implicit alone",
    )
    parser.add_argument("--quick", action="store_true", help="S and M; recoeval, DuckDB and a scan")
    parser.add_argument(
        "--large", action="store_true", help="RecTools and RePlay on L; 18 GB of memory each"
    )
    parser.add_argument("--sizes", help="of S,M,L; default: all")
    parser.add_argument("--only", help="contenders, as in ours,duckdb; default: all")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--no-page", action="store_true", help="leave docs/performance.md alone")
    asked = parser.parse_args(arguments)
    if asked.rounds < 1:
        parser.error("--rounds: at least 1")
    if asked.quick and asked.large:
        parser.error("--quick and --large: one of them")
    asked.partly = asked.mode == "lists" and bool(asked.quick or asked.only or asked.sizes)
    default = ("S", "M") if asked.quick else ("L",) if asked.large else SIZES
    asked.sizes = tuple(asked.sizes.split(",")) if asked.sizes else default
    if unknown := set(asked.sizes) - set(SIZES):
        parser.error(f"--sizes: unknown: {', '.join(sorted(unknown))}; known: {', '.join(SIZES)}")
    names = asked.only.split(",") if asked.only else QUICK if asked.quick else None
    try:
        asked.contenders = find(names)
    except ValueError as error:
        parser.error(f"--only: {error}")
    return asked


def lists(asked: argparse.Namespace) -> tuple[str, list[str]]:
    """Compares the contenders; returns text and problems."""
    for size in asked.sizes:
        ensure_data(size)
    result = compare(asked.contenders, cases_of(asked.sizes), asked.rounds, large=asked.large)
    return result.text(), result.problems()


def huge(asked: argparse.Namespace) -> tuple[str, list[str]]:
    """Measures L and five times L with text ids; returns text and problems."""
    cases = [Case("L", "text"), Case("huge", "text")]
    for case in cases:
        ensure_data(case.size)
    result = compare(find(["ours", "scan"]), cases, asked.rounds)
    return result.text(), result.problems()


def main() -> int:
    """Runs what is asked for; returns 1 where values differ or a contender failed."""
    asked = parse()
    CACHE.mkdir(exist_ok=True)
    modes: dict[str, Callable[[argparse.Namespace], tuple[str, list[str]]]] = {
        "lists": lists,
        "huge": huge,
        "log": lambda asked: measure_log(asked.rounds),
        "candidates": lambda asked: measure_candidates(asked.rounds),
    }
    text, problems = modes[asked.mode](asked)
    print(text)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    # What is measured in part is printed, and leaves the page alone.
    if not asked.no_page and not asked.partly:
        write_section("large" if asked.large else asked.mode, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
