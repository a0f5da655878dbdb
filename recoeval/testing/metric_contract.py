"""What every metric promises, as tests that a metric's author inherits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import ConfigError
from recoeval.metrics.base import Measure, Metric, measures, parse_metric
from recoeval.testing.toy import Tables, make_tables, require, same

__all__ = ["MetricContract"]


class MetricContract:
    """What holds for every metric; subclass it in a test module and give the fixture `text`.

    In a test module of the metric's author:

        class TestLift(MetricContract):
            never_falls = True

            @pytest.fixture
            def text(self):
                return "lift(base=2)"

    Args:
        bounds: smallest and largest value.
        never_falls: it does not fall with K.
        of_truth: value of a list that is the truth itself, gains descending, at a K that
            reaches its end; None: not the same for every truth.
        of_nothing: value of a query that has no list, and of lists without a hit; None: there
            is none, or it depends on more.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    never_falls: ClassVar[bool] = False
    of_truth: ClassVar[float | None] = None
    of_nothing: ClassVar[float | None] = 0.0
    depths: ClassVar[tuple[int, ...]] = (1, 2, 5, 10, 50)

    @pytest.fixture
    def text(self) -> str:
        """The metric under test, with its options and without K: override this fixture."""
        pytest.fail("give the fixture 'text'")

    @pytest.fixture
    def metric(self, text: str) -> Metric:
        """The parsed metric."""
        return parse_metric(text)[0]

    @pytest.fixture
    def tables(self) -> Tables:
        """Lists, truth and all that is known besides."""
        return make_tables()

    @pytest.fixture
    def asked(self, metric: Metric) -> tuple[Measure, ...]:
        """The metric at every depth."""
        return measures([metric.name], self.depths)

    def test_prints_back_as_it_was_read(self, text: str, metric: Metric) -> None:
        """Its name parses to an equal metric, with or without spaces."""
        require(metric.name == text, f"{text!r} prints as {metric.name!r}")
        spaced = text.replace("(", " ( ").replace("=", " = ").replace(")", " ) ")
        for written in (metric.name, spaced):
            again = parse_metric(written)[0]
            require(again == metric and hash(again) == hash(metric), f"{written!r} is another")

    def test_options_are_strict_and_explained(self, metric: Metric) -> None:
        """Unknown options are refused, known ones have a docstring, values cannot change."""
        with pytest.raises(ConfigError):
            parse_metric(f"{metric.title}(no_such_option=1)")
        with pytest.raises(ValidationError):
            setattr(metric, "no_such_field", 1)  # noqa: B010 - mypy knows that it has none
        fields = type(metric).model_fields
        silent = [name for name, field in fields.items() if not field.description]
        require(not silent, f"options without a docstring: {silent}")

    def test_says_what_it_is(self, metric: Metric) -> None:
        """`recoeval list metric NAME` has something to say."""
        require(type(metric).__doc__, "no docstring")
        require(metric.formula, "no formula")
        require(metric.source, "no source")

    def test_values_are_numbers_within_bounds(
        self, asked: tuple[Measure, ...], tables: Tables
    ) -> None:
        """No value is NaN or infinite, and none is out of bounds."""
        low, high = self.bounds
        found = [*values(tables, asked), *summaries(tables, asked)]
        known = [value for value in found if value is not None]
        require(known, "no value at all")
        for value in known:
            require(math.isfinite(value), f"value {value}")
            require(low - 1e-12 <= value <= high + 1e-12, f"{value} is not in {self.bounds}")

    def test_evaluated_queries_have_a_value(
        self, metric: Metric, asked: tuple[Measure, ...], tables: Tables
    ) -> None:
        """No value is null, but where no gain is large enough to count."""
        if metric.kind != "accuracy":
            pytest.skip("no value of a query")
        found = per_query(tables, asked)
        if asked[0].rel is not None:
            enough = tables.truth.filter(pl.col("gain") >= asked[0].rel)
            # What was seen has left the truth.
            enough = enough.join(tables.train, on=["user_id", "item_id"], how="anti")
            found = found.join(enough, on="user_id", how="semi")
        for row in found.select(labels(asked)).iter_rows():
            require(None not in row, f"values {row}")

    def test_it_does_not_fall_with_k(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """A longer list is not worse, for metrics that say so."""
        if not self.never_falls:
            pytest.skip("not declared")
        for row in per_query(tables, asked).select(labels(asked)).iter_rows():
            known = [value for value in row if value is not None]
            for shorter, longer in pairwise(known):
                require(shorter <= longer, f"{shorter} falls to {longer}")

    def test_the_truth_as_its_own_list(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """The best list there is has the declared value."""
        if self.of_truth is None:
            pytest.skip("not declared")
        best = tables.truth.sort("user_id", "gain", descending=[False, True], maintain_order=True)
        ranked = best.with_columns(
            rank=pl.int_range(1, pl.len() + 1).over("user_id"), score=-pl.row_index("n").cast(float)
        )
        own = Tables(**{**vars(tables), "recs": ranked.drop("gain")})
        # What was seen leaves lists and truth alike.
        for value in values(own, asked[-1:]):
            require(value is not None, "a query without a value")
            require(math.isclose(value or 0, self.of_truth, abs_tol=1e-12), f"{value}")

    def test_queries_without_a_list(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """They have a value, and it is that of a list without a hit."""
        if asked[0].metric.kind != "accuracy" or self.of_nothing is None:
            pytest.skip("no value of a query, or not declared")
        rows = per_query(tables, asked).filter(pl.col("returned") == 0)
        require(rows.height, "every query has a list")
        for row in rows.select(labels(asked)).iter_rows():
            # None: no gain is large enough to count.
            require(set(row) <= {self.of_nothing, None}, f"values {row}")

    def test_queries_without_relevant_items(
        self, metric: Metric, asked: tuple[Measure, ...], tables: Tables
    ) -> None:
        """They have 0 under "zero" and the declared value under "one", or none under both."""
        if metric.kind != "accuracy":
            pytest.skip("no value of a query")
        declared = metric.value_of_nothing
        alone = declared is None or asked[0].rel is not None
        for empty, expected in (("zero", None if alone else 0.0), ("one", declared)):
            found = tables.evaluate(labels(asked), empty=empty).per_query
            rows = found.filter(pl.col("relevant") == 0).select(labels(asked))
            require(rows.height, "every query has relevant items")
            wanted = {None if alone else expected}
            for row in rows.iter_rows():
                require(set(row) == wanted, f"under {empty!r}: {row}, expected {wanted}")

    def test_row_order_does_not_matter(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """Shuffled inputs give the same bits."""
        first = tables.evaluate(labels(asked))
        for seed in (1, 2):
            other = tables.shuffled(seed).evaluate(labels(asked))
            same(first.summary, other.summary)
            same(first.per_query, other.per_query)

    def test_integer_and_text_ids(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """Ids are names: their type changes no number."""
        first, other = (one.evaluate(labels(asked)) for one in (tables, tables.of_texts()))
        same(first.summary, other.summary)

    def test_shards_do_not_matter(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """A query has the same value alone as among others."""
        if asked[0].metric.kind == "catalogue":
            pytest.skip("one value of all queries")
        whole = per_query(tables, asked)
        users = whole["user_id"].to_list()
        for shards in (2, 7):
            parts = [
                per_query(tables.of_users(users[start::shards]), asked) for start in range(shards)
            ]
            same(whole, pl.concat(parts).sort("user_id"))

    def test_other_metrics_do_not_matter(self, asked: tuple[Measure, ...], tables: Tables) -> None:
        """It is the same beside others, and in any order."""
        alone = tables.evaluate(labels(asked)).summary
        mixed = tables.evaluate(["recall@3", *reversed(labels(asked)), "ndcg@all"]).summary
        own = mixed.filter(pl.col("metric").is_in(labels(asked)))
        order = ("bucket_by", "bucket", "metric", "statistic")
        same(alone.sort(order), own.sort(order))


def labels(asked: Iterable[Measure]) -> list[str]:
    """Returns the keys of the results."""
    return [measure.label for measure in asked]


def per_query(tables: Tables, asked: Iterable[Measure]) -> pl.DataFrame:
    """Returns PER_QUERY by user."""
    return tables.evaluate(labels(asked)).per_query.sort("user_id")


def values(tables: Tables, asked: tuple[Measure, ...]) -> list[Any]:
    """Returns the values of all queries; none for metrics of the catalogue."""
    if asked[0].metric.kind == "catalogue":
        return []
    frame = per_query(tables, asked)
    return [value for label in labels(asked) for value in frame[label]]


def summaries(tables: Tables, asked: tuple[Measure, ...]) -> list[Any]:
    """Returns every value of SUMMARY."""
    return tables.evaluate(labels(asked)).summary["value"].to_list()
