"""Parts of the truth: each is scored as if it were the whole."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from recoeval.engine.local import Scorer
from recoeval.metrics import measures

METRICS = [
    *("hits", "precision", "recall", "recall(gain=linear)", "capped_recall", "f1", "hit_rate"),
    *("mrr", "map", "auprc", "ndcg", "ndcg(gain=exponential)", "r_precision", "recall_ceiling"),
    *("ndcg(gain=binary, ideal=k)", "precision(denominator=returned)", "recall(min_score=-9)"),
    *("recall@all", "ndcg@all", "map@all", "recall@quota", "ndcg@quota", "f1@quota"),
]
RELS = [1.5, 3.0]


def with_rel(text: str, rel: float) -> str:
    """The metric with a smallest gain."""
    name, at, cut = text.partition("@")
    shown = repr(rel).removesuffix(".0")
    inside = f"{name[:-1]}, rel={shown})" if name.endswith(")") else f"{name}(rel={shown})"
    return inside + at + cut


def shuffled_lists(seed: int) -> dict[str, pl.DataFrame]:
    """Lists of 60 queries with repeated and seen rows, and a truth with labels and gains."""
    rng = np.random.default_rng(seed)
    queries = np.arange(60)
    rows = [
        (int(query), int(item), rank)
        for query in queries[:54]
        for rank, item in enumerate(rng.integers(0, 30, rng.integers(0, 25)), 1)
    ]
    lists = pl.DataFrame(rows, schema=["query_id", "item_id", "rank"], orient="row")
    truth = pl.DataFrame(
        [
            (int(query), int(item), float(rng.choice([1.0, 1.0, 1.0, 1.5, 2.25, 3.0])))
            for query in queries[3:]
            for item in rng.permutation(30)[: rng.integers(1, 12)]
        ],
        schema=["query_id", "item_id", "gain"],
        orient="row",
    )
    seen = pl.DataFrame(
        [(int(q), int(i)) for q in queries for i in rng.permutation(30)[:4]],
        schema=["query_id", "item_id"],
        orient="row",
    )
    truth = truth.join(seen, on=["query_id", "item_id"], how="anti")
    size = truth.height
    flags = {name: rng.random(size) < 0.3 for name in ("unavailable", "cold_item", "cold_user")}
    labels = truth.with_columns(label=pl.Series(rng.choice(["a", "b"], size)))
    twice = truth.sample(fraction=0.3, seed=seed).with_columns(label=pl.lit("c"))
    return {
        "lists": lists.with_columns(score=-pl.col("rank").cast(pl.Float64)),
        "truth": truth,
        "seen": seen,
        "queries": pl.DataFrame(
            {"query_id": queries, "user_id": queries // 2, "quota": rng.integers(1, 9, 60)}
        ),
        "labels": pl.concat([labels, twice]).select("query_id", "item_id", "label"),
        "reach": truth.select("query_id", "item_id").with_columns(**flags),
    }


def score(tables: dict[str, pl.DataFrame], metrics: list[str], truth: pl.DataFrame, **options):
    scorer = Scorer.of(
        tables["queries"],
        truth,
        measures(metrics, [1, 5]),
        seen=tables["seen"].lazy(),
        drop_seen=True,
        catalogue=pl.Series("item_id", range(30)),
        reach=tables["reach"],
        **options,
    )
    flags = {"serves_cold_users": False, "serves_cold_items": True}
    return scorer.score(tables["lists"].lazy(), **flags)


def values(frame: pl.DataFrame, metrics: list[str]) -> pl.DataFrame:
    labels = [measure.label for measure in measures(metrics, [1, 5])]
    return frame.select("query_id", "user_id", "returned", *labels)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rel", RELS)
def test_a_smallest_gain_is_the_truth_without_the_others(seed, rel):
    tables = shuffled_lists(seed)
    asked = [with_rel(text, rel) for text in METRICS]
    found = score(tables, [*METRICS, *asked], tables["truth"]).per_query
    alone = score(tables, METRICS, tables["truth"].filter(pl.col("gain") >= rel)).per_query
    # Queries without such a gain are null, here and there.
    labels = [measure.label for measure in measures(METRICS, [1, 5])]
    empty = pl.when(pl.col("relevant") > 0).then(pl.col(labels))
    expected = values(alone.with_columns(empty), METRICS)
    own = values(found, asked)
    assert_frame_equal(own.rename(dict(zip(own.columns, expected.columns, strict=True))), expected)
    assert expected["recall@5"].null_count() > 3


@pytest.mark.parametrize("seed", range(3))
def test_a_label_is_the_truth_without_the_others(seed):
    tables = shuffled_lists(seed)
    metrics = [*METRICS, *(with_rel(text, 1.5) for text in METRICS), "coverage"]
    slices = {"kind": tables["labels"], "again": tables["labels"].filter(pl.col("label") == "c")}
    found = score(tables, metrics, tables["truth"], slices=slices).sliced
    assert found["bucket_by"].unique(maintain_order=True).to_list() == ["kind", "again"]
    for bucket_by, label in [("kind", "a"), ("kind", "b"), ("kind", "c"), ("again", "c")]:
        own = tables["labels"].filter(pl.col("label") == label)
        part = tables["truth"].join(own, on=["query_id", "item_id"], how="semi")
        alone = score(tables, metrics[:-1], part).per_query.filter(pl.col("relevant") > 0)
        rows = found.filter(pl.col("bucket_by") == bucket_by, pl.col("bucket") == label)
        shared = [name for name in alone.columns if name in rows.columns]
        assert_frame_equal(rows.select(shared), alone.select(shared))
        assert {"relevant", "user_id", "quota", "hits@5", "above f1(rel=1.5)@5"} <= set(shared)
    assert "coverage" not in found.columns


def test_no_slices_no_rows():
    tables = shuffled_lists(0)
    found = score(tables, ["recall"], tables["truth"])
    assert found.sliced.columns == ["bucket_by", "bucket"]
    assert found.listed.columns == ["bucket_by", "bucket", "item_id"]
    assert found.listed.is_empty()


@pytest.mark.parametrize("size", [1, 7, 59, 60])
def test_blocks_together_are_the_whole(size):
    tables = shuffled_lists(4)
    metrics = [*METRICS, *(with_rel(text, 1.5) for text in METRICS), "gini", "entropy@quota"]
    groups = tables["queries"].select("query_id", bucket=pl.col("query_id").mod(3).cast(pl.String))
    scorer = Scorer.of(
        tables["queries"],
        tables["truth"],
        measures(metrics, [1, 5]),
        seen=tables["seen"].lazy(),
        drop_seen=True,
        catalogue=pl.Series("item_id", range(30)),
        slices={"kind": tables["labels"]},
        groups=groups,
        reach=tables["reach"],
    )
    lists = tables["lists"].lazy()
    whole = scorer.score(lists)
    blocks = [tables["queries"].slice(start, size) for start in range(0, 60, size)]
    bare = [block.select("query_id", "user_id") for block in blocks]
    parts = [scorer.score(lists, block) for block in bare]
    for name in ("per_query", "hits", "lost"):
        assert_frame_equal(
            pl.concat([getattr(part, name) for part in parts]),
            getattr(whole, name),
            check_exact=True,
        )
    keys = ["bucket_by", "bucket", "query_id"]
    sliced = pl.concat([part.sliced for part in parts]).sort(keys)
    assert_frame_equal(sliced, whole.sliced.sort(keys), check_exact=True)
    keys[-1] = "item_id"
    listed = pl.concat([part.listed for part in parts]).group_by(keys).sum().sort(keys)
    assert_frame_equal(listed, whole.listed.sort(keys))
    assert listed.columns[3:] == ["@1", "@5", "@quota"]


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_rows_changes_no_bit(seed):
    tables = shuffled_lists(5)
    metrics = [*METRICS, *(with_rel(text, 1.5) for text in METRICS), "gini"]
    orders = [tables]
    orders.append(
        {
            name: frame if name == "queries" else frame.sample(fraction=1, shuffle=True, seed=seed)
            for name, frame in tables.items()
        }
    )
    one, other = (
        score(each, metrics, each["truth"], slices={"kind": each["labels"]}) for each in orders
    )
    for name in ("per_query", "hits", "lost", "sliced", "listed"):
        assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
