"""What becomes of relevant pairs, and of all others, from one stage to the next."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoeval.analysis.candidates import count_candidates
from recoeval.analysis.funnel import funnel_lost, funnel_table
from recoeval.analysis.stages import Stage
from recoeval.columns import FUNNEL_SCHEMA
from recoeval.testing.channels import funnel_counts
from tests.agreement import TOLERANCE, examples
from tests.analysis.populations import SIDES, Log, logs

# Of query 1, 10 goes through, 11 is lost by the ranker, 12 comes in by the ranker, 13 is nowhere;
# of query 2, 20 is lost by the ranker.
WORKED = Log(
    {
        "merged": {1: [10, 11, 90], 2: [91, 20]},
        "ranked": {1: [12, 10, 90, 11], 2: [91]},
        "als": {1: [10, 11]},
        "new": {1: [11, 90, 13], 2: [20, 91]},
    },
    {1: {10, 11, 12, 13}, 2: {20}, 3: {30}, 4: set()},
    {1: 1, 2: 2, 3: 3, 4: 4},
)
STAGES = (Stage("recall", "merged", 3), Stage("rank", "ranked", 2))
CHANNELS = {"als": 2, "new": 2}
SHOWN = pl.DataFrame(
    {"query_id": [1, 1, 1, 2, 77], "item_id": [10, 90, 55, 91, 10]},
    schema={"query_id": pl.Int64, "item_id": pl.Int64},
)


def table(
    log: Log,
    stages: Sequence[Stage],
    channels: Mapping[str, int],
    *,
    blocks: Sequence[Sequence[int]] | None = None,
    exposed: pl.DataFrame | None = None,
) -> pl.DataFrame:
    population = log.population()
    given_blocks = [list(log.users)] if blocks is None else blocks
    counted = count_candidates(
        ({name: log.frame(name, own) for name in log.lists} for own in given_blocks),
        stages,
        population,
        channels=channels,
        exposed=exposed,
    )
    return funnel_table(
        stages,
        {name: log.found(name) for name in log.lists},
        {name: log.lengths(name) for name in log.lists},
        population,
        channels=channels,
        candidates=counted,
        fold=1,
    )


def rows_of(found: pl.DataFrame, channel: str, bucket: str = "all") -> list[dict[str, Any]]:
    return found.filter(channel=channel, bucket=bucket).to_dicts()


def picked(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_pairs_worked_by_hand() -> None:
    found = table(WORKED, STAGES, CHANNELS)
    assert found.schema == FUNNEL_SCHEMA
    rows = rows_of(found, "all")
    assert picked(rows, "fold", "stage", "generator", "k", "queries", "users") == [
        (1, "recall", "merged", 3, 3, 3),
        (1, "rank", "ranked", 2, 3, 3),
    ]
    assert picked(rows, "relevant", "survived", "lost", "inserted") == [(6, 3, 3, 0), (6, 1, 2, 1)]
    recalls = [pytest.approx((2 / 4 + 1) / 3), pytest.approx((1 / 4) / 3)]
    assert [row["recall"] for row in rows] == recalls
    assert [row["hit_survival"] for row in rows] == [3 / 6, 1 / 3]
    precisions = [pytest.approx((2 / 3 + 1 / 3) / 3), pytest.approx((2 / 2) / 3)]
    assert [row["precision"] for row in rows] == precisions


def test_pairs_of_a_channel_worked_by_hand() -> None:
    found = table(WORKED, STAGES, CHANNELS)
    numbers = ("relevant", "survived", "lost", "inserted", "precision")
    assert picked(rows_of(found, "als"), *numbers) == [(2, 2, 0, 0, None), (2, 1, 1, 0, None)]
    # 13 stands below the K of the channel.
    assert picked(rows_of(found, "new"), *numbers) == [(2, 2, 0, 0, None), (2, 0, 2, 0, None)]
    assert rows_of(found, "als")[0]["recall"] == pytest.approx((2 / 4) / 3)


def test_candidates_worked_by_hand() -> None:
    found = table(WORKED, STAGES, CHANNELS, exposed=SHOWN)
    shares = ("candidates", "kept", "exposed")
    # 10 of query 1 and 91 of query 2 stay; 10, 90 and 91 were shown.
    assert picked(rows_of(found, "all"), *shares) == [(5, 2 / 5, 3 / 5), (3, None, 2 / 3)]
    assert picked(rows_of(found, "als"), *shares) == [(2, 1 / 2, 1 / 2), (1, None, 1.0)]
    assert picked(rows_of(found, "new"), *shares) == [(4, 1 / 4, 2 / 4), (1, None, 1.0)]
    assert picked(rows_of(found, "all", "left"), *shares)[0] == (2, 1 / 2, 1 / 2)
    assert picked(rows_of(found, "all", "nobody"), *shares)[0] == (0, None, None)
    assert picked(rows_of(found, "all", "even"), *shares)[0] == (None, None, None)
    unknown = table(WORKED, STAGES, CHANNELS)
    assert picked(rows_of(unknown, "all"), *shares) == [(5, 2 / 5, None), (3, None, None)]


def test_without_candidates() -> None:
    found = {name: WORKED.found(name) for name in WORKED.lists}
    lengths = {name: WORKED.lengths(name) for name in ("merged", "ranked")}
    rows = funnel_table(STAGES, found, lengths, WORKED.population(), channels=CHANNELS)
    shares = ("candidates", "kept", "exposed")
    assert picked(rows_of(rows, "all"), *shares) == [(5, None, None), (3, None, None)]
    assert picked(rows_of(rows, "als"), *shares) == [(None, None, None)] * 2


def test_the_stage_that_lost_each_pair() -> None:
    found = {name: WORKED.found(name) for name in WORKED.lists}
    lost = funnel_lost(STAGES, found, WORKED.population(), fold=1).collect()
    assert lost.columns == ["fold", "query_id", "item_id", "gain", "stage"]
    assert lost.rows() == [
        (1, 1, 11, 1.0, "rank"),
        (1, 1, 12, 1.0, "recall"),
        (1, 1, 13, 1.0, "recall"),
        (1, 2, 20, 1.0, "rank"),
        (1, 3, 30, 1.0, "recall"),
    ]


@st.composite
def funnels(draw: st.DrawFn) -> tuple[Log, list[Stage], dict[str, int], pl.DataFrame]:
    log = draw(logs(5))
    names = st.sampled_from(sorted(log.lists))
    stages = [
        Stage(f"stage {place}", draw(names), draw(st.integers(1, 7)))
        for place in range(draw(st.integers(1, 3)))
    ]
    channels = {name: draw(st.integers(1, 7)) for name in draw(st.sets(names))}
    shown = draw(st.sets(st.tuples(st.sampled_from([*log.users, 77]), st.integers(0, 7))))
    schema = {"query_id": pl.Int64, "item_id": pl.Int64}
    return log, stages, channels, pl.DataFrame(list(shown), schema=schema, orient="row")


@examples(60)
@given(case=funnels())
def test_losses_and_final_hits_are_the_truth(case: tuple[Any, ...]) -> None:
    log, stages, channels, shown = case
    found = table(log, stages, channels, exposed=shown)
    for _, own in found.group_by("channel", "bucket_by", "bucket"):
        last = own.row(len(stages) - 1, named=True)
        assert own["lost"].sum() + last["survived"] == last["relevant"]
        assert (own["inserted"] >= 0).all()
    found_pairs = {name: log.found(name) for name in log.lists}
    lost = funnel_lost(stages, found_pairs, log.population()).collect()
    assert not lost.select("query_id", "item_id").is_duplicated().any()
    for place, stage in enumerate(stages):
        row = rows_of(found, "all")[place]
        assert row["lost"] == lost.filter(pl.col("stage") == stage.name).height


@examples(60)
@given(case=funnels())
def test_every_number_is_that_of_the_definition(case: tuple[Any, ...]) -> None:
    log, stages, channels, shown = case
    found = table(log, stages, channels, exposed=shown)
    steps = [(log.lists[stage.generator], stage.k) for stage in stages]
    for channel, by, bucket in found.select("channel", "bucket_by", "bucket").unique().rows():
        truth = log.restricted(by, bucket)
        told = funnel_counts(steps, truth, log.users)
        rows = rows_of(found.filter(bucket_by=by), channel, bucket)
        for row, expected in zip(rows, told, strict=True):
            if channel == "all":
                for name, value in expected.items():
                    assert row[name] == pytest.approx(value, abs=TOLERANCE), name
            else:
                owned = {
                    (query, item)
                    for query, own in truth.items()
                    for item in own
                    if item in log.lists[channel].get(query, ())[: channels[channel]]
                }
                assert row["relevant"] == len(owned)
                assert row["survived"] + row["inserted"] == len(owned & first_of(log, row))


def first_of(log: Log, row: Mapping[str, Any]) -> set[tuple[int, int]]:
    """The first k of the stage of a row."""
    lists = log.lists[row["generator"]]
    return {(query, item) for query, own in lists.items() for item in own[: row["k"]]}


@examples(60)
@given(case=funnels())
def test_candidates_are_those_of_the_lists(case: tuple[Any, ...]) -> None:
    log, stages, channels, shown = case
    found = table(log, stages, channels, exposed=shown)
    single = [[query] for query in log.users]
    assert found.equals(table(log, stages, channels, exposed=shown, blocks=single))
    exposed = set(shown.rows())
    for place, stage in enumerate(stages):
        first = first_of(log, {"generator": stage.generator, "k": stage.k})
        for channel in ("all", *channels):
            own = first
            if channel != "all":
                own = first & first_of(log, {"generator": channel, "k": channels[channel]})
            for bucket in ("all", *SIDES):
                counted = {query for query, own_items in log.truth.items() if own_items}
                rest = {
                    (query, item)
                    for query, item in own
                    if query in counted and bucket in ("all", SIDES[query % 2])
                }
                row = rows_of(found, channel, bucket)[place]
                assert row["candidates"] == len(rest)
                assert row["exposed"] == (len(rest & exposed) / len(rest) if rest else None)
                if place + 1 < len(stages) and rest:
                    after = stages[place + 1]
                    kept = first_of(log, {"generator": after.generator, "k": after.k})
                    assert row["kept"] == len(rest & kept) / len(rest)
                else:
                    assert row["kept"] is None
