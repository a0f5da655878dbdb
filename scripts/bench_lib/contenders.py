"""Who is measured: programs, environments with pinned versions, on which data."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.peers_lib.environments import ROOT, Peer, ensure_environment

__all__ = ["CACHE", "CONTENDERS", "DEPTHS", "METRICS", "ROOT", "Case", "Contender", "find"]

CACHE = ROOT / ".bench"
METRICS = ("precision", "recall", "hit_rate", "mrr", "map", "ndcg")
DEPTHS = (10, 50, 100)


@dataclass(frozen=True, slots=True)
class Case:
    """Data that contenders are given.

    Args:
        size: S, M, L or huge: the folder of the data.
        ids: int or text.
        rows: `by user`: contiguous, each list by rank; or `interleaved`.
    """

    size: str
    ids: str
    rows: str = "by user"

    @property
    def title(self) -> str:
        """Its name in texts."""
        return f"{self.size} {self.ids} {self.rows}"

    def job(self, *, train: bool = False) -> dict[str, Any]:
        """Returns what the programs are told."""
        folder = CACHE / "data" / self.size
        lists = self.ids if self.rows == "by user" else self.rows
        files = "*.parquet" if self.size == "huge" else ""
        ending = "" if files else ".parquet"
        return {
            "lists": str(folder / f"lists_{lists}{ending}" / files),
            "truth": str(folder / f"truth_{self.ids}.parquet"),
            "train": str(folder / f"train_{self.ids}.parquet") if train else None,
            "metrics": METRICS,
            "k": DEPTHS,
        }


BY_USER_INT, INTERLEAVED, TEXT = ("int", "by user"), ("int", "interleaved"), ("text", "by user")


@dataclass(frozen=True, slots=True)
class Contender:
    """A program that is measured.

    Args:
        name: its short name.
        title: its name in texts.
        program: its file beside this one.
        kinds: ids and order of the rows that it is given.
        sizes: of the data.
        requirements: what pip installs in its environment; none: it runs in .venv.
        tolerance: the largest difference from our means that counts as equal; None: it has
            no means to compare.
        large: whether it is measured with --large.
        train: whether train pairs are given.
        environment: the name of its environment, where it is not that of the contender.
    """

    name: str
    title: str
    program: str
    kinds: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...] = ("S", "M", "L")
    requirements: tuple[str, ...] = ()
    tolerance: float | None = 1e-9
    large: bool = False
    train: bool = False
    environment: str = ""

    def takes(self, case: Case, *, large: bool = False) -> bool:
        """Returns whether it is measured on this data."""
        fits = self.large if large else case.size in self.sizes
        return fits and (case.ids, case.rows) in self.kinds

    def python(self) -> Path:
        """Returns its interpreter; the environment is made at the first call."""
        if not self.requirements:
            return Path(sys.executable)
        name = self.environment or self.name
        peer = Peer(name, name, self.requirements)
        return ensure_environment(peer, CACHE / "env")


EVERY = ("S", "M", "L", "huge")
SMALL = ("S", "M")
RECTOOLS = ("rectools==0.19.0", "pyarrow==20.0.0")

CONTENDERS = (
    Contender(
        "scan",
        "bare scan",
        "run_scan.py",
        (BY_USER_INT, INTERLEAVED, TEXT),
        EVERY,
        tolerance=None,
        large=True,
    ),
    # The same lists give the same bits, whatever the ids and the order of the rows.
    Contender(
        "ours",
        "recoeval",
        "run_ours.py",
        (BY_USER_INT, INTERLEAVED, TEXT),
        EVERY,
        tolerance=0.0,
        large=True,
    ),
    Contender(
        "train",
        "recoeval, `train=`",
        "run_ours.py",
        (BY_USER_INT,),
        tolerance=None,
        train=True,
    ),
    Contender(
        "duckdb",
        "DuckDB SQL",
        "run_duckdb.py",
        (BY_USER_INT, TEXT),
        requirements=("duckdb==2.0.1",),
    ),
    Contender(
        "rectools",
        "RecTools, shared tables",
        "run_rectools.py",
        (BY_USER_INT,),
        SMALL,
        RECTOOLS,
        large=True,
    ),
    Contender(
        "rectools_each",
        "RecTools, metric by metric",
        "run_rectools_each.py",
        (BY_USER_INT,),
        SMALL,
        RECTOOLS,
        environment="rectools",
    ),
    Contender(
        "replay",
        "RePlay, polars",
        "run_replay.py",
        (BY_USER_INT,),
        SMALL,
        ("replay-rec==0.22.0",),
        large=True,
    ),
    Contender(
        "pytrec_eval",
        "pytrec-eval-terrier",
        "run_pytrec_eval.py",
        (TEXT,),
        SMALL,
        ("pytrec-eval-terrier==0.5.11", "polars==2.1.0"),
    ),
    Contender(
        "ranx",
        "ranx",
        "run_ranx.py",
        (TEXT,),
        SMALL,
        ("ranx==0.3.21", "pandas==2.3.3", "pyarrow==26.0.1"),
    ),
)


def find(names: list[str] | None) -> tuple[Contender, ...]:
    """Returns the contenders of these names, in the order of the table; all if none are given.

    Raises:
        ValueError: a name is unknown.
    """
    known = [each.name for each in CONTENDERS]
    if unknown := set(names or ()) - set(known):
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    return tuple(each for each in CONTENDERS if not names or each.name in names)
