"""What measures ask of gains, scores, quotas and roles: refused before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recoeval.columns import GAIN, QUERY_ID, QUOTA, SCORE
from recoeval.errors import ConfigError, DataError, Problem, some
from recoeval.metrics.base import DEEPEST, Measure

__all__ = ["refuse_gains", "refuse_missing_roles", "refuse_missing_scores", "refuse_quotas"]


def refuse_gains(gains: pl.Series, measure: Measure) -> None:
    """Refuses gains for which a measure is no number, or is not defined.

    Raises:
        DataError: gains that are too large or too small, or that are not 1 where they must be.
    """
    metric = measure.metric
    low, high = metric.gain_limits
    if gains.is_empty() or (gains.min() == gains.max() == 1.0 and low <= 1.0 <= high):
        return
    if measure.rel is not None:
        gains = gains.filter(gains >= measure.rel)
    for bad, how in (
        (gains.filter(gains > high), f"above {high:g}, too large"),
        (gains.filter(gains < low), f"below {low:g}, too small"),
    ):
        if len(bad):
            text = f"{len(bad)} gains are {how} for {measure.label}, e.g. {some(bad.sort())}"
            raise DataError(Problem(text, f"truth.{GAIN}"))
    unequal = gains.filter(gains != 1.0)
    if metric.needs_equal_gains and len(unequal):
        text = (
            f"{len(unequal)} gains are not 1, e.g. {some(unequal.sort())}; {measure.label} takes "
            f"binary gains only: write {metric.title}(gain=binary, ideal=k)"
        )
        raise DataError(Problem(text, f"truth.{GAIN}"))


def refuse_missing_roles(measures: Sequence[Measure], *, exposures: bool, catalogue: bool) -> None:
    """Refuses measures that would read 0 where nothing is known.

    Args:
        measures: what is asked for.
        exposures: whether it is known what users were shown.
        catalogue: whether there is a catalogue.

    Raises:
        ConfigError: all measures that need what is not known.
    """
    problems = []
    for measure in measures:
        if measure.metric.needs_exposures and not exposures:
            problems.append(Problem(f"{measure.label} needs exposures", "metrics"))
        if measure.metric.needs_catalogue and not catalogue:
            text = f"{measure.label} needs a catalogue: an items table, or train data"
            problems.append(Problem(text, "metrics"))
    if problems:
        raise ConfigError(*problems)


def refuse_quotas(queries: pl.DataFrame, measures: Sequence[Measure]) -> None:
    """Refuses measures cut at a quota where queries have none, or bad ones.

    Raises:
        ConfigError: there is no column `quota`.
        DataError: a quota that is no integer from 1 to the largest K.
    """
    asked = [measure.label for measure in measures if measure.place.at == QUOTA]
    if not asked:
        return
    place = f"queries.{QUOTA}"
    if QUOTA not in queries.columns:
        text = f"{asked[0]} needs a column {QUOTA} of the users or queries: the depth of each"
        raise ConfigError(Problem(text, "metrics"))
    quotas = queries[QUOTA]
    if quotas.dtype != pl.Int64:
        text = f"expected integers >= 1, got {quotas.dtype}; {asked[0]} reads it"
        raise DataError(Problem(text, place))
    deep = ~pl.col(QUOTA).is_between(1, DEEPEST)
    bad = queries.filter(pl.col(QUOTA).is_null() | deep).sort(QUERY_ID)
    if bad.height:
        shown = some(bad.select(QUERY_ID, QUOTA).iter_rows())
        text = f"{bad.height} queries have no quota from 1 to {DEEPEST:,}, e.g. {shown}"
        raise DataError(Problem(f"{text}; {asked[0]} reads it", place))


def refuse_missing_scores(unscored: int, rows: int, measures: Sequence[Measure]) -> None:
    """Refuses lists without scores where a measure cuts by score.

    Args:
        unscored: rows whose score is null or NaN.
        rows: rows of the lists.
        measures: what is asked for.

    Raises:
        DataError: there are such rows.
    """
    asked = [measure.label for measure in measures if measure.metric.needs_scores]
    if asked and unscored:
        text = f"{unscored} of {rows} rows have no score, and {asked[0]} cuts lists by score"
        raise DataError(Problem(text, f"lists.{SCORE}"))
