"""About what a run will take: a linear model of its stages over the rows of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import polars as pl

from recoeval.columns import ITEM_ID, USER_ID
from recoeval.data.folds import Rolling
from recoeval.data.sizes import count_rows
from recoeval.generators.ordering import order_of
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config, list_depth, wanted_measures
from recoeval.workflow.depths import Depth, depths_of, rows_told
from recoeval.workflow.logs import sources_of
from recoeval.workflow.rates import (
    AUDIT,
    CHANNELS,
    FILES,
    READ,
    SPLIT,
    START,
    SUMMARY,
    Rate,
    cost_of,
)

__all__ = ["Estimate", "StageEstimate", "estimate"]


INTEGERS: Final = 0.6
"""Cost of integer ids by that of text ids."""
ROWS_A_USER: Final = 50
"""Rows of the log by its users, where nothing else tells how many there are."""


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """About what a stage takes.

    Args:
        stage: its name in the manifest.
        rows: that it goes through; None: not known.
        seconds: of wall time; None: not known.
        memory_mb: at the peak; None: not known.
        measured: whether it is known what its rows cost. False: a generator of a type that
            nobody measured, taken for popularity.
    """

    stage: str
    rows: int | None
    seconds: float | None
    memory_mb: float | None
    measured: bool = True

    def times(self, folds: int) -> StageEstimate:
        """Returns the same stage of several folds.

        Args:
            folds: how many.
        """
        seconds = None if self.seconds is None else round(folds * self.seconds, 2)
        return replace(self, seconds=seconds)


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
        """Whether all stages are known; else the run takes at least this."""
        return all(each.seconds is not None and each.measured for each in self.stages)

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
    depths = depths_of(config, order_of(config.generators), depth)
    queries, told_by = _queries(config, rows, whole, depth)
    text = any(schema.get(name) == pl.String for schema in schemas.values() for name in _IDS)
    folds = config.split.folds if isinstance(config.split, Rolling) else 1
    share = 1.0 if text else INTEGERS
    stages = _stages(config, rows, whole, queries, depths=depths, share=share)
    # The log is read once; folds differ in time alone, since one comes after the other.
    stages = (stages[0], *(each.times(folds) for each in stages[1:]))
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
    *,
    depths: Mapping[str, Depth],
    share: float,
) -> tuple[StageEstimate, ...]:
    """Returns about what each stage takes of one fold.

    Args:
        config: the configuration.
        rows: of each input.
        log: rows of the log.
        queries: that are evaluated.
        depths: how deep the lists of each generator are.
        share: cost of the ids by that of text ids.
    """

    def by_rows(name: str, count: int | None, rate: Rate, known: bool = True) -> StageEstimate:
        if count is None:
            return StageEstimate(name, None, None, None, known)
        return _taken(name, count, rate.of(share * count), known)

    found = [by_rows("read the log", log, READ), by_rows("split and ground truth", log, SPLIT)]
    for name, generator in config.generators.items():
        fit, lists = f"{name}: fit", f"{name}: lists"
        if isinstance(generator, Precomputed):
            found.append(by_rows(lists, rows[f"lists[{name}]"], FILES))
            continue
        cost = cost_of(generator)
        learned, made = cost.of(generator)
        if cost.matrix is None:
            found.append(by_rows(fit, log, learned, cost.known))
        elif log is None or (items := rows.get("items")) is None:
            found.append(StageEstimate(fit, log, None, None))
        else:
            found.append(_taken(fit, log, cost.matrix.of(items)))
        depth = sum(generator.reads(depths[name].made).values()) or depths[name].made
        found.append(by_rows(lists, None if queries is None else queries * depth, made, cost.known))
    scored = None if queries is None else queries * len(config.generators)
    found.append(by_rows("summary", scored, SUMMARY))
    if told := rows_told(config, depths):
        read = None if queries is None else queries * told
        found.append(by_rows("channels", read, CHANNELS))
    return (*found, by_rows("audit", log, AUDIT))


def _taken(
    name: str, rows: int, taken: tuple[float, float], measured: bool = True
) -> StageEstimate:
    seconds, megabytes = taken
    memory = round(START.megabytes + megabytes)
    return StageEstimate(name, rows, round(seconds, 2), memory, measured)
