from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from recoeval.errors import ConfigError, DataError, EngineError
from recoeval.generators import Generator, Merge
from recoeval.generators.merge import Channel, Merging
from recoeval.generators.merging import merge_lists
from recoeval.testing.contracts import ListsContract
from recoeval.testing.merging import MergeRules, merge_of
from recoeval.testing.toy import ToyLog, make_log
from tests.generators.others import SCHEMA, toy_shelf

FILE = Path(__file__).parents[1] / "cases" / "merges.yaml"
CASES = yaml.safe_load(FILE.read_text(encoding="utf-8"))


def scored(items):
    if isinstance(items, dict):
        return [(item, float(score)) for item, score in items.items()]
    return [(item, 1 / rank) for rank, item in enumerate(items, 1)]


def frame(items, *, query="u"):
    rows = [(query, item, rank, score) for rank, (item, score) in enumerate(scored(items), 1)]
    return pl.DataFrame(rows, schema=["query_id", "item_id", "rank", "score"], orient="row")


def rules_of(merge: Merge) -> MergeRules:
    def given(option):
        values = {name: getattr(channel, option) for name, channel in merge.channels.items()}
        return {name: value for name, value in values.items() if value is not None}

    return MergeRules(
        method=merge.method,
        channels=list(merge.channels),
        quotas=given("quota"),
        weights=given("weight"),
        priorities=given("priority"),
        total=merge.total,
        normalize=merge.normalize or "minmax",
        constant=merge.constant or 60.0,
    )


def number(text):
    return float(sum(Fraction(part.strip()) for part in str(text).split("+")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_worked_by_hand(case):
    merge = Merge.model_validate(case["merge"])
    merged = merge_lists(
        {name: frame(items) for name, items in case["lists"].items()}, merge, case["k"]
    )
    assert merged.lists["item_id"].to_list() == case["expected"]
    assert merged.lists["rank"].to_list() == list(range(1, len(case["expected"]) + 1))
    assert merged.lists["channel"].to_list() == case["givers"]
    assert merged.duplicates == case["duplicates"]
    assert list(merged.duplicates) == list(merge.channels)
    assert merge.reads(case["k"]) == case["reads"]
    for giver, item, at in merged.lists.select("channel", "item_id", "channel_rank").iter_rows():
        assert list(case["lists"][giver])[at - 1] == item
    if "score" in case:
        assert merged.lists["score"].to_list() == pytest.approx(
            [number(text) for text in case["score"]], rel=1e-15, abs=0
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_oracle_agrees_with_the_hand(case):
    lists = {name: scored(items) for name, items in case["lists"].items()}
    rows, duplicates = merge_of(lists, rules_of(Merge.model_validate(case["merge"])), case["k"])
    assert [row[0] for row in rows] == case["expected"]
    assert [row[2] for row in rows] == case["givers"]
    assert duplicates == case["duplicates"]


MERGES = [
    Merge(channels={"als": 5, "popular": {"quota": 10, "priority": 1}, "editorial": 3}),
    Merge(method="round_robin", channels={"als": None, "popular": 4}, total=15),
    Merge(method="weighted", channels={"als": {"weight": 2}, "popular": 8}, total=15),
    Merge(method="weighted", normalize="rank", channels={"als": 9, "popular": 8}),
    Merge(method="rrf", channels={"als": None, "editorial": {"weight": 0.5}}),
]


class TestContract(ListsContract):
    @pytest.fixture(params=MERGES, ids=lambda merge: f"{merge.method}-{merge.normalize}")
    def generator(self, request: pytest.FixtureRequest) -> Generator:
        return request.param

    @pytest.fixture
    def toy(self) -> ToyLog:
        toy = make_log()
        shelf = toy_shelf(["als", "popular", "editorial"], toy.queries)
        return replace(toy, train=replace(toy.train, others=shelf))


def test_text_ids_stay_text_and_nobody_asks():
    merge = Merge(channels={"a": 2})
    merged = merge_lists({"a": frame(["p", "q"]).clear()}, merge, 10)
    schema = {"query_id": pl.String, "item_id": pl.String, "rank": pl.Int64, "score": pl.Float64}
    assert dict(merged.lists.schema) == {**schema, "channel": pl.String, "channel_rank": pl.Int64}
    assert merged.duplicates == {"a": 0}


@pytest.mark.parametrize("merge", MERGES, ids=lambda merge: f"{merge.method}-{merge.normalize}")
def test_no_lists_at_all(merge, toy):
    empty = dict.fromkeys(merge.channels, pl.DataFrame(schema=SCHEMA))
    merged = merge_lists(empty, merge, 10)
    assert merged.lists.is_empty()
    assert set(merged.duplicates.values()) == {0}


def test_merges_of_merges(toy):
    shelf = toy_shelf(["als", "popular", "editorial"], toy.queries)
    inner = Merge(method="round_robin", channels={"als": None, "popular": None}, total=12)
    train = replace(toy.train, others=shelf)
    lists = inner.fit(train).recommend(toy.queries, inner.length(100)).collect()
    outer = Merge(method="weighted", channels={"inner": 12, "editorial": 6})
    both = toy_shelf([], toy.queries)
    both.frames = {"inner": lists, "editorial": shelf.frames["editorial"]}
    merged = Merging(outer, both).merged(toy.queries, 100).lists
    assert merged["rank"].max() == 18
    assert set(merged["channel"]) == {"inner", "editorial"}


def test_without_others_it_cannot_be_fitted(toy):
    with pytest.raises(EngineError) as caught:
        Merge(channels={"als": 3, "b": None}).fit(toy.train)
    assert str(caught.value) == "a merge reads the lists of als, b: give them as Train.others"


def test_rows_without_scores_are_named():
    unscored = frame(["p", "q", "r"]).with_columns(
        score=pl.when(pl.col("rank") > 1).then(pl.lit(None, pl.Float64)).otherwise(2.0)
    )
    lists = {"als": frame(["p"]), "editorial": unscored}
    merge = Merge(method="weighted", channels={"als": None, "editorial": None})
    with pytest.raises(DataError) as caught:
        merge_lists(lists, merge, 10)
    assert str(caught.value) == (
        "lists[editorial].score: 2 of 3 rows have no finite score, which normalize: minmax needs, "
        "e.g. ('u', 'q'), ('u', 'r'): write normalize: rank"
    )
    # Rows that do not take part need none, and neither do ranks.
    first = Merge(method="weighted", channels={"als": None, "editorial": 1})
    assert merge_lists(lists, first, 10).lists["item_id"].to_list() == ["p"]
    ranked = merge.model_copy(update={"normalize": "rank"})
    assert merge_lists(lists, ranked, 10).lists["item_id"].to_list() == ["p", "q", "r"]
    nulls = unscored.with_columns(score=pl.lit(None))
    assert merge_lists({"als": nulls}, Merge(channels={"als": 2}), 10).lists.height == 2


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_scores_that_are_no_numbers_are_none(score):
    merge = Merge(method="weighted", channels={"a": None})
    with pytest.raises(DataError, match="1 of 2 rows have no finite score"):
        merge_lists({"a": frame({"p": 1.0, "q": score})}, merge, 10)


def test_the_range_of_the_largest_scores():
    merge = Merge(method="weighted", channels={"a": None})
    scores = {"p": 1.5e308, "q": 0.0, "r": -1.5e308}
    assert merge_lists({"a": frame(scores)}, merge, 9).lists["score"].to_list() == [1.0, 0.5, 0.0]
    tiny = {"p": 5e-324, "q": 0.0}
    assert merge_lists({"a": frame(tiny)}, merge, 9).lists["score"].to_list() == [1.0, 0.0]


class TestReads:
    def test_a_quota_reads_what_those_before_it_may_have_given(self):
        merge = Merge(channels={"als": 300, "popular": 100, "two_tower": 100})
        assert merge.reads(1000) == {"als": 300, "popular": 400, "two_tower": 500}
        assert merge.reads(350) == {"als": 300, "popular": 350, "two_tower": 350}

    def test_turns_of_unequal_quotas(self):
        merge = Merge(method="round_robin", channels={"als": 300, "popular": 100, "rest": 10})
        # als: 300 rounds, all of 100 and of 10. popular: round 100 goes back, als comes after it.
        # rest: round 10 goes back and begins with it, so that the others have had 9 turns.
        assert merge.reads(1000) == {"als": 410, "popular": 209, "rest": 28}

    def test_sums_read_what_takes_part_whatever_is_asked_for(self):
        merge = Merge(method="rrf", channels={"als": 300, "popular": None}, total=50)
        assert merge.reads(10) == merge.reads(1000) == {"als": 300, "popular": 50}
        merge = Merge(method="weighted", channels={"als": 300, "popular": None})
        assert merge.reads(10) == merge.reads(1000) == {"als": 300, "popular": 500}

    def test_the_length_of_the_list(self):
        assert Merge(channels={"a": 3, "b": 4}).length(100) == 7
        assert Merge(channels={"a": 3, "b": 4}).length(5) == 5
        assert Merge(channels={"a": 3, "b": None}).length(100) == 100
        assert Merge(channels={"a": 3, "b": None}, total=9).length(100) == 9


class TestWhatIf:
    merge = Merge(
        channels={"als": 3, "popular": {"quota": 2, "priority": 1}, "rest": None}, total=9
    )

    def test_quotas(self):
        assert self.merge.quotas == {"als": 3, "popular": 2, "rest": None}

    def test_without_a_channel(self):
        assert self.merge.without("als") == Merge(
            channels={"popular": {"quota": 2, "priority": 1}, "rest": None}, total=9
        )
        assert Merge(channels={"als": 3}).without("als") is None

    def test_more_slots_for_a_channel(self):
        assert self.merge.with_slots("popular", 5) == Merge(
            channels={"als": 3, "popular": {"quota": 7, "priority": 1}, "rest": None}, total=14
        )
        assert Merge(channels={"als": 3}).with_slots("als", 1) == Merge(channels={"als": 4})
        assert self.merge.with_slots("rest", 5) is None

    def test_unknown_channels_and_no_slots(self):
        text = "unknown channel 'alss'. Did you mean 'als'? Channels: als, popular, rest"
        for change in (self.merge.without, lambda name: self.merge.with_slots(name, 1)):
            with pytest.raises(ConfigError) as caught:
                change("alss")
            assert str(caught.value) == text
        with pytest.raises(ConfigError) as caught:
            self.merge.with_slots("als", 0)
        assert str(caught.value) == "expected at least one slot more, got 0"


class TestOptions:
    def test_short_forms(self):
        merge = Merge.model_validate({"channels": {"a": None, "b": 3, "c": {"quota": 4}}})
        assert merge.quotas == {"a": None, "b": 3, "c": 4}
        assert merge.method == "quota"
        assert Merge.model_validate(merge.model_dump()) == merge
        stored = merge.model_dump(mode="json", exclude_none=True)
        assert stored["channels"] == {"a": {}, "b": {"quota": 3}, "c": {"quota": 4}}
        assert Merge.model_validate(stored) == merge

    @pytest.mark.parametrize("value", [0, -1, 10**6 + 1, 10**40, 2.5, "many", True, [3]])
    def test_no_quota(self, value):
        with pytest.raises(ValidationError, match="expected nothing, a quota"):
            Merge.model_validate({"channels": {"a": value}})

    def test_what_is_said_of_no_quota(self):
        with pytest.raises(ValidationError) as caught:
            Merge.model_validate({"channels": {"a": True}})
        (problem,) = caught.value.errors()
        assert str(problem["ctx"]["error"]) == (
            "expected nothing, a quota (an integer >= 1 and <= 1000000) or "
            "{quota: , weight: , priority: }, got true"
        )
        assert problem["loc"] == ("channels", "a")

    def test_false_removes_a_channel(self):
        channels = {"a": 5, "b": False, "c": None}
        assert list(Merge.model_validate({"channels": channels}).channels) == ["a", "c"]
        with pytest.raises(ValidationError, match="at least 1 item"):
            Merge.model_validate({"channels": {"a": False}})

    @pytest.mark.parametrize(
        ("value", "shown"),
        [(10**5000, "a number of 16610 bits"), ("x" * 99, "'" + "x" * 59 + "...")],
        ids=["number", "text"],
    )
    def test_long_values_are_cut(self, value, shown):
        with pytest.raises(ValidationError) as caught:
            Merge.model_validate({"channels": {"a": value}})
        assert str(caught.value.errors()[0]["ctx"]["error"]).endswith(f", got {shown}")

    @pytest.mark.parametrize(
        "options",
        [
            {"channels": {}},
            {"channels": {"a": {"quota": 0}}},
            {"channels": {"a": {"quota": "3"}}},
            {"channels": {"a": {"weigth": 3}}},
            {"channels": {"a": {"priority": 1.5}}},
            {"channels": {"a": 1}, "total": 0},
            {"channels": {"a": 1}, "total": 10**6 + 1},
            {"channels": {"a": {"quota": 10**6 + 1}}},
            {"channels": {"a": 1}, "method": "sum"},
            {"method": "rrf", "channels": {"a": {"weight": 0}}},
            {"method": "rrf", "channels": {"a": {"weight": -1}}},
            {"method": "rrf", "channels": {"a": {"weight": float("inf")}}},
            {"method": "rrf", "channels": {"a": {"weight": float("nan")}}},
            {"method": "rrf", "channels": {"a": {"weight": 1e101}}},
            {"method": "rrf", "channels": {"a": 1}, "constant": 0},
            {"method": "rrf", "channels": {"a": 1}, "constant": float("inf")},
            {"method": "weighted", "channels": {"a": 1}, "normalize": "zscore"},
        ],
    )
    def test_refused(self, options):
        with pytest.raises(ValidationError):
            Merge.model_validate(options)

    @pytest.mark.parametrize(
        ("options", "place", "methods"),
        [
            ({"channels": {"a": {"weight": 2}}}, "channels.a.weight", "weighted or rrf"),
            (
                {"channels": {"a": {"priority": 2}}, "method": "round_robin"},
                "channels.a.priority",
                "quota",
            ),
            ({"channels": {"a": 2}, "method": "rrf", "normalize": "rank"}, "normalize", "weighted"),
            ({"channels": {"a": 2}, "method": "weighted", "constant": 60}, "constant", "rrf"),
        ],
    )
    def test_options_of_other_methods(self, options, place, methods):
        with pytest.raises(ValidationError) as caught:
            Merge.model_validate(options)
        (problem,) = caught.value.errors()
        method = options.get("method", "quota")
        assert str(problem["ctx"]["error"]) == (
            f"{place} is of no use with method: {method}: remove it, or write method: {methods}"
        )

    def test_the_schema_shows_the_short_forms(self):
        schema = TypeAdapter(Merge).json_schema()
        channel = schema["$defs"]["Channel"]
        assert channel["anyOf"][1:] == [
            {"type": "integer", "minimum": 1, "maximum": 1_000_000},
            {"type": "null"},
            {"const": False},
        ]
        assert set(channel["anyOf"][0]["properties"]) == set(Channel.model_fields)
        assert channel["anyOf"][0]["additionalProperties"] is False
        assert schema["properties"]["channels"]["additionalProperties"] == {
            "$ref": "#/$defs/Channel"
        }

    def test_places_of_its_channels(self):
        assert Merge(channels={"als": 3}).places == {"channels.als": "als"}
