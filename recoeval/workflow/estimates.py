"""About what a run will take: a linear model of its stages over the rows of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from recoeval.columns import ITEM_ID, USER_ID
from recoeval.data.folds import Rolling
from recoeval.data.sizes import count_rows
from recoeval.generators.base import Generator
from recoeval.generators.implicit_models import ALS
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config, list_depth, wanted_measures
from recoeval.workflow.logs import sources_of

__all__ = ["Estimate", "StageEstimate", "estimate"]


@dataclass(frozen=True, slots=True)
class Rate:
    """What a million rows cost with text ids on two cores.

    Args:
        seconds: of wall time.
        megabytes: of memory at the peak, beside what the process holds anyway.
    """

    seconds: float
    megabytes: float


# The stages of a run in its manifest, by millions of their rows: those of `scripts/bench log` (a
# log of 50 M rows, lists of 100 M), and a fifth more time for busy machines; ALS from its own
# benchmark. They decide nothing.
READ: Final = Rate(0.1, 24)
SPLIT: Final = Rate(0.35, 28)
AUDIT: Final = Rate(0.13, 45)
FIT: Final = Rate(0.015, 20)
LISTS: Final = Rate(0.05, 10)
FILES: Final = Rate(0.065, 22)
SUMMARY: Final = Rate(0.8, 500)
ALS_FIT: Final = Rate(5, 120)
ALS_LISTS: Final = Rate(1.7, 120)
"""Of ALS with 64 factors and 15 iterations; its lists with 64 factors."""
FACTORS: Final = 64
ITERATIONS: Final = 15

INTEGERS: Final = 0.6
"""Cost of integer ids by that of text ids."""
START: Final = Rate(2, 200)
"""Of a run of no rows: not by the million."""
ROWS_A_USER: Final = 50
"""Rows of the log by its users, where nothing else tells how many there are."""


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """About what a stage takes.

    Args:
        stage: its name in the manifest.
        rows: that it goes through; None: not known.
        seconds: of wall time; None with unknown rows.
        memory_mb: at the peak; None with unknown rows.
    """

    stage: str
    rows: int | None
    seconds: float | None
    memory_mb: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """About what a run takes, on two cores, if no rule leaves rows out.

    Args:
        rows: of each input, by name; None: not known.
        queries: that are evaluated; None: not known.
        queries_from: what tells how many there are, in words.
        stages: in the order of the run.
    """

    rows: Mapping[str, int | None]
    queries: int | None
    queries_from: str
    stages: tuple[StageEstimate, ...]

    @property
    def seconds(self) -> float:
        """Wall time of the stages that are known."""
        return START.seconds + sum(each.seconds or 0.0 for each in self.stages)

    @property
    def peak_memory_mb(self) -> float:
        """The most memory of a stage that is known."""
        return max([START.megabytes, *(each.memory_mb or 0.0 for each in self.stages)])

    @property
    def whole(self) -> bool:
        """Whether all rows are known; else the run takes at least this."""
        return all(each.rows is not None for each in self.stages)

    def as_dict(self) -> dict[str, Any]:
        """Returns the estimate as plain values."""
        return {
            "rows": dict(self.rows),
            "queries": self.queries,
            "queries_from": self.queries_from,
            "stages": [asdict(each) for each in self.stages],
            "seconds": round(self.seconds, 1),
            "peak_memory_mb": round(self.peak_memory_mb),
            "whole": self.whole,
        }


def estimate(config: Config, schemas: Mapping[str, pl.Schema]) -> Estimate:
    """Returns about what a run takes; of the inputs only footers and first lines are read.

    Args:
        config: the configuration.
        schemas: columns by input.

    Raises:
        DataError: an input is missing.
    """
    rows = {name: count_rows(path, said=name, items=lists) for name, path, lists in _paths(config)}
    log = [rows[name] for name in sources_of(config)]
    whole = None if None in log else sum(count for count in log if count is not None)
    depth = list_depth(config, wanted_measures(config))
    queries, told_by = _queries(config, rows, whole, depth)
    text = any(schema.get(name) == pl.String for schema in schemas.values() for name in _IDS)
    folds = config.split.folds if isinstance(config.split, Rolling) else 1
    stages = tuple(
        _stage(name, of, rate, share=1.0 if text else INTEGERS, times=1 if number == 0 else folds)
        for number, (name, of, rate) in enumerate(_stages(config, rows, whole, queries, depth))
    )
    return Estimate(rows, queries, told_by, stages)


_IDS: Final = (USER_ID, ITEM_ID)


def _paths(config: Config) -> Iterator[tuple[str, str, bool]]:
    """Yields name and path of each input, and whether it has lists."""
    for name, source in sources_of(config).items():
        yield name, source.path or "", False
    tables = {
        "canonical_items": config.canonical_items and config.canonical_items.path,
        "users": config.users and config.users.table,
        "users.exclude": config.users and config.users.exclude,
        "items": config.items and config.items.table,
    }
    yield from ((name, path, False) for name, path in tables.items() if path)
    for name, generator in config.generators.items():
        if isinstance(generator, Precomputed):
            yield f"lists[{name}]", generator.in_fold(0).source, True


def _queries(
    config: Config, rows: Mapping[str, int | None], log: int | None, depth: int
) -> tuple[int | None, str]:
    """Returns about how many queries are evaluated, and what tells it."""
    lists = [count for name, count in rows.items() if name.startswith("lists[") and count]
    asked: int | None
    if lists:
        asked, told_by = max(lists) // depth, f"rows of lists / {depth:,}"
    elif rows.get("users"):
        asked, told_by = rows["users"], "rows of the users table"
    else:
        asked = None if log is None else log // ROWS_A_USER
        told_by = f"rows of the log / {ROWS_A_USER}"
    if config.sample_users is not None and config.sample_users < 1:
        told_by += f" x {config.sample_users:.12g}"
        asked = None if asked is None else round(asked * config.sample_users)
    return asked, told_by


def _stages(
    config: Config,
    rows: Mapping[str, int | None],
    log: int | None,
    queries: int | None,
    depth: int,
) -> Iterator[tuple[str, int | None, Rate]]:
    """Yields each stage with the rows that it goes through and what a million of them cost."""
    yield "read the log", log, READ
    yield "split and ground truth", log, SPLIT
    for name, generator in config.generators.items():
        if isinstance(generator, Precomputed):
            yield f"{name}: lists", rows[f"lists[{name}]"], FILES
        else:
            fit, lists = _rates(generator)
            yield f"{name}: fit", log, fit
            yield f"{name}: lists", None if queries is None else queries * depth, lists
    scored = None if queries is None else queries * len(config.generators)
    yield "summary", scored, SUMMARY
    yield "audit", log, AUDIT


def _rates(generator: Generator) -> tuple[Rate, Rate]:
    """Returns what the train rows and the lists of a trained generator cost."""
    if not isinstance(generator, ALS):
        return FIT, LISTS
    size = generator.factors / FACTORS
    fit = size * generator.iterations / ITERATIONS * ALS_FIT.seconds
    return Rate(fit, ALS_FIT.megabytes), Rate(size * ALS_LISTS.seconds, ALS_LISTS.megabytes)


def _stage(name: str, rows: int | None, rate: Rate, *, share: float, times: int) -> StageEstimate:
    if rows is None:
        return StageEstimate(name, None, None, None)
    millions = share * rows / 1e6
    seconds = round(times * millions * rate.seconds, 2)
    return StageEstimate(name, rows, seconds, round(START.megabytes + millions * rate.megabytes))
