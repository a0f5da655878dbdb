"""What a reader of the numbers of a run should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from recoeval.columns import QUERY_TIME
from recoeval.component import format_duration
from recoeval.data.folds import Rolling
from recoeval.metrics import Measure
from recoeval.workflow.config import Config
from recoeval.workflow.logs import Log
from recoeval.workflow.preparation import Prepared
from recoeval.workflow.stages import stage_notes

__all__ = ["notes_of", "notes_on_reuse"]

EARLIEST_YEAR: Final = 1990
"""Logs that end before it were probably read with a wrong unit of time."""


def notes_of(
    config: Config, log: Log, folds: Sequence[Prepared], measured: Sequence[Measure]
) -> Iterator[str]:
    """Yields sentences about a run.

    Args:
        config: the configuration.
        log: the log.
        folds: at least one.
        measured: what was computed.
    """
    if config.stage is not None:
        yield from stage_notes(config.stage, measured, _catalogue_size(folds[-1]))
    yield from _on_generators(config, folds[-1].train.threads)
    yield from _on_split(config, log)
    yield from _on_roles(log.roles.counts)
    if log.end is not None and log.end.year < EARLIEST_YEAR:
        yield f"all times lie before {EARLIEST_YEAR}: is timestamp_unit right?"


def notes_on_reuse(reused: Mapping[str, str]) -> Iterator[str]:
    """Yields which lists were not made now.

    Args:
        reused: the run whose lists were used again, by generator.
    """
    for name, run in reused.items():
        yield f"{name}: lists of run {run}: same settings, data, versions; --fresh trains anew"


def _catalogue_size(prepared: Prepared) -> int | None:
    times: list[datetime] = prepared.truth.queries[QUERY_TIME].drop_nulls().to_list()
    catalogue = prepared.background.catalogue(max(times, default=None))
    return None if catalogue is None else len(catalogue)


def _on_generators(config: Config, threads: int) -> Iterator[str]:
    trained = [
        name
        for name, generator in config.generators.items()
        if generator.type in {"als", "bpr", "lmf"}
    ]
    if trained and threads > 1:
        yield (
            f"{', '.join(trained)}: trained with {threads} threads, so that the "
            "factors differ in the last bits between runs; engine.threads: 1 makes them equal"
        )


def _on_split(config: Config, log: Log) -> Iterator[str]:
    split = config.split
    if isinstance(split, Rolling) and split.folds > 1 and split.step and split.step < split.test:
        yield (
            f"split.step {format_duration(split.step)} is shorter than the test window of "
            f"{format_duration(split.test)}: folds share test rows, and differ less than nights do"
        )
    train, test = (log.facts.get(f"split.{side}") for side in ("train", "test"))
    if train and test and train.end and test.start and train.end >= test.start:
        yield (
            f"split.train goes on until {train.end}, and split.test starts {test.start}: "
            "what is learned is partly later than what is asked for"
        )


def _on_roles(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yields what was renamed and left out before anything else."""
    renamed, users, items = (counts.get(role, {}) for role in ("canonical_items", "users", "items"))
    if renamed:
        yield (
            f"canonical_items: {renamed['aliases_in_log']:,} of {renamed['aliases']:,} aliases in "
            f"the log, {renamed['rows_renamed']:,} rows renamed"
        )
    if "excluded_users" in users:
        strangers = users["excluded_unknown"]
        unknown = f"; {strangers:,} more are not in the log" if strangers else ""
        excluded, rows = users["excluded_users"], users["excluded_rows"]
        yield f"users: {excluded:,} excluded, with {rows:,} rows{unknown}"
    if "busy_users" in users:
        busy, rows = users["busy_users"], users["busy_rows"]
        yield f"users: {busy:,} left out for more than max_rows_per_day, with {rows:,} rows"
    if items.get("available_was_null"):
        yield f"items: the rule `available` is null for {items['available_was_null']:,}"
