"""Queries may be scored in any number of blocks: the numbers keep every bit."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from recoeval.analysis.channels import contribution_table
from recoeval.analysis.evaluator import Evaluator
from recoeval.analysis.population import Population
from recoeval.analysis.results import Evaluation
from recoeval.analysis.whatif import CONFIGURED, what_if_table
from recoeval.columns import CAUSES
from recoeval.data.background import Background
from recoeval.data.buckets import Bucket
from recoeval.data.queries import blocks_of
from recoeval.data.truth import Policies, Truth, apply_policies
from recoeval.metrics import measures
from tests.counting import count_train_users

USERS, ITEMS = 230, 60
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
METRICS = [
    "recall",
    "recall@1",
    "recall@10",
    "recall(gain=linear)",
    "ndcg",
    "ndcg(rel=2)",
    "precision",
    "capped_recall",
    "f1",
    "map",
    "mrr@all",
    "hits@quota",
    "recall_ceiling",
    "r_precision",
    "coverage",
    "list_fill",
    "seen_share",
    "tie_share",
    "judged",
    "unknown_item_share",
    "item_coverage",
    "gini",
    "entropy",
    "novelty",
    "mean_popularity",
]
BUCKETS = {
    "activity": Bucket(by="train_interactions", edges=(1, 3)),
    "country": Bucket(by="column", column="country"),
    "fame": Bucket(side="item", by="train_popularity", quantiles=(0.5, 0.9)),
    "age": Bucket(side="item", by="item_age", edges=(1, 30)),
}


def pairs(rng: np.random.Generator, rows: int, users: int = USERS) -> pl.DataFrame:
    return pl.DataFrame(
        {"user_id": rng.integers(0, users, rows), "item_id": rng.integers(0, ITEMS, rows)}
    ).unique(maintain_order=True)


def background(rng: np.random.Generator) -> Background:
    # A third of the users and some of the items have no train row.
    rows = pairs(rng, 400, 150).filter(pl.col("item_id") % 7 > 0)
    counts = rows.group_by("user_id").agg(train_interactions=pl.len().cast(pl.Int64))
    popularity, users = count_train_users(rows.lazy())
    born = pl.Series([None, NOON.replace(year=2025), NOON.replace(day=6)], dtype=pl.Datetime("us"))
    return Background(
        seen=rows.lazy(),
        activity=counts.with_columns(train_rows="train_interactions").lazy(),
        popularity=popularity,
        train_users=users,
        items=pl.DataFrame(
            {
                "item_id": range(1, ITEMS),
                "created_at": born.dt.replace_time_zone("UTC").gather(np.arange(1, ITEMS) % 3),
                "available": np.arange(1, ITEMS) % 11 > 0,
            }
        ),
        exposed=pairs(rng, 2000).lazy(),
        users=pl.DataFrame(
            {
                "user_id": range(USERS),
                "country": rng.choice(["de", "fr", "is"], USERS),
                "quota": rng.integers(1, 9, USERS),
            }
        ),
    )


def truth(rng: np.random.Generator, known: Background) -> Truth:
    rows = pairs(rng, 900)
    # Queries 2 u and 2 u + 1 belong to user u.
    asked = rows.with_columns(
        query_id=pl.col("user_id") * 2 + rng.integers(0, 2, rows.height),
        gain=pl.Series(rng.choice([1.0, 1.5, 2.0, 3.25], rows.height)),
    )
    kinds = asked.select("query_id", "item_id", label=pl.lit("view"))
    bought = asked.filter(pl.col("gain") > 2).select("query_id", "item_id", label=pl.lit("buy"))
    queries = asked.select("query_id", "user_id").unique().with_columns(query_time=pl.lit(NOON))
    return apply_policies(
        asked.select("query_id", "item_id", "gain").lazy(),
        queries,
        Policies(),
        universe=None,
        seen=known.seen,
        warm_users=known.seen,
        warm_items=known.seen,
        kinds=pl.concat([kinds, bought]),
    )


def lists(rng: np.random.Generator, queries: pl.DataFrame) -> pl.DataFrame:
    rows = queries["query_id"].sample(fraction=0.9, seed=1)
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "query_id": [query] * size,
                    "item_id": rng.integers(0, ITEMS, size),
                    "rank": range(1, size + 1),
                    "score": np.sort(rng.integers(0, 5, size))[::-1].astype(float),
                }
            )
            for query in rows
            for size in (int(rng.integers(1, 25)),)
        ]
    )


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    rng = np.random.default_rng(3)
    known = background(rng)
    asked = measures(METRICS, [5])
    return Evaluator.of(truth(rng, known), asked, background=known, buckets=BUCKETS)


@pytest.fixture(scope="module")
def delivered(evaluator: Evaluator) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(4)
    return {"als": lists(rng, evaluator.truth.queries)}


def in_blocks(
    evaluator: Evaluator, delivered: dict[str, pl.DataFrame], blocks: int, *, seed: int = 0
) -> Evaluation:
    """Returns the evaluation of lists whose queries are scored in so many blocks."""
    queries = evaluator.truth.queries
    if seed:
        queries = queries.sample(fraction=1, shuffle=True, seed=seed)
    size = -(-queries.height // blocks)
    scored = {
        name: [
            evaluator.score(rows.lazy(), block, serves_cold_users=False, serves_cold_items=False)
            for block in blocks_of(queries, size)
        ]
        for name, rows in delivered.items()
    }
    return evaluator.evaluation(scored, counts={}, definitions={})


@pytest.fixture(scope="module")
def whole(evaluator: Evaluator, delivered: dict[str, pl.DataFrame]) -> Evaluation:
    scored = {
        name: [evaluator.score(rows.lazy(), serves_cold_users=False, serves_cold_items=False)]
        for name, rows in delivered.items()
    }
    return evaluator.evaluation(scored, counts={}, definitions={})


@pytest.mark.parametrize("blocks", [1, 2, 7, 100])
def test_numbers_do_not_depend_on_the_shards(evaluator, delivered, whole, blocks):
    found = in_blocks(evaluator, delivered, blocks, seed=blocks)
    for table in ("summary", "per_query", "hits", "lost", "loss"):
        # Every bit: no tolerance.
        assert getattr(found, table).equals(getattr(whole, table)), table


def test_the_example_has_everything_that_could_differ(whole):
    assert {"all", *BUCKETS, "positives", "coldness", "served"} == {*whole.summary["bucket_by"]}
    catalogue = whole.summary.filter(pl.col("name") == "gini")
    assert {*catalogue["bucket_by"]} == {"all", *BUCKETS}
    most = whole.loss.filter(bucket_by="all").select(pl.col(CAUSES).max()).row(0, named=True)
    # What a list may not contain is no relevant pair either: nothing relevant is filtered.
    assert [cause for cause, count in most.items() if not count] == ["filtered"]
    assert whole.per_query["ndcg(rel=2)@5"].null_count() > 0


def test_losses_add_up_to_the_relevant_pairs(evaluator, whole):
    total = whole.loss.select(pl.sum_horizontal(CAUSES)).to_series()
    assert total.equals(whole.loss["relevant"], check_names=False)
    # 4 depths (1, 5, 10, the whole list) for each generator, bucket and part of the truth.
    assert whole.loss.group_by("generator", "bucket_by", "bucket").len()["len"].unique().item() == 4
    overall = whole.loss.filter(bucket_by="all")
    assert overall["relevant"].unique().to_list() == [evaluator.truth.pairs.height]


def test_hits_of_the_loss_are_the_hits_of_the_metrics(whole):
    # Recall by micro average is hits / relevant, in every bucket and part of the truth.
    recall = whole.summary.filter(name="recall", statistic="micro").join(
        whole.loss, on=["generator", "bucket_by", "bucket", "k"]
    )
    assert recall.height == 3 * (whole.loss.select("bucket_by", "bucket").unique().height)
    expected = pl.when(pl.col("relevant") > 0).then(pl.col("hit") / pl.col("relevant"))
    assert recall["value"].equals(recall.select(expected).to_series(), check_names=False)


def test_the_ceiling_is_what_the_loss_leaves(whole):
    ceiling = whole.summary.filter(name="recall_ceiling", statistic="micro").join(
        whole.loss.filter(k=5), on=["generator", "bucket_by", "bucket"]
    )
    lost = pl.col("unavailable") + pl.col("cold_item") + pl.col("cold_user")
    expected = pl.when(pl.col("relevant") > 0).then(
        (pl.col("relevant") - lost) / pl.col("relevant")
    )
    assert ceiling["value"].equals(ceiling.select(expected).to_series(), check_names=False)
    assert ceiling["value"].min() < 0.9


@pytest.fixture(scope="module")
def population(evaluator: Evaluator) -> Population:
    return Population.of(evaluator.scorer.numbering, evaluator.groups, evaluator.splits)


@pytest.mark.parametrize("blocks", [1, 7])
def test_recall_of_a_channel_is_that_of_the_metric(evaluator, population, blocks):
    rng = np.random.default_rng(5)
    queries = evaluator.truth.queries
    delivered = {name: lists(rng, queries) for name in ("als", "new", "old")}
    scored = {
        name: [
            evaluator.score(rows.lazy(), block)
            for block in blocks_of(queries.sample(fraction=1, shuffle=True, seed=blocks), 90)
        ]
        for name, rows in delivered.items()
    }
    told = evaluator.evaluation(scored, counts={}, definitions={})
    found = {name: pl.concat([each.found for each in own]) for name, own in scored.items()}
    lengths = {name: told.per_query.filter(generator=name) for name in scored}
    groups = {"merged": {"als": 10, "new": 5, "old": 1}}
    table = contribution_table(found, lengths, groups, population)
    assert {*table["bucket_by"]} == {"all", *BUCKETS, "positives", "coldness"}
    recall = told.summary.filter(
        pl.col("metric").is_in(["recall@1", "recall@5", "recall@10"]), statistic="macro"
    )
    keys = ["generator", "bucket_by", "bucket", "k"]
    both = table.join(recall, on=keys, maintain_order="left")
    assert both.height == table.height
    for name in ("queries", "users"):
        assert both[name].equals(both[f"{name}_right"], check_names=False)
    # Every bit: no tolerance.
    assert both["recall"].equals(both["value"], check_names=False)
    hits = table.join(told.loss, on=keys, maintain_order="left")
    assert hits["hits"].equals(hits["hit"], check_names=False)
    shares = table.group_by("bucket_by", "bucket").agg(
        pl.col("shapley").sum(), pl.col("union_recall").first()
    )
    assert (shares["shapley"] - shares["union_recall"].fill_null(0)).abs().max() < 1e-12


def test_lists_matched_again_are_what_the_engine_found(evaluator, population):
    rows = lists(np.random.default_rng(6), evaluator.truth.queries)
    scored = evaluator.score(rows.lazy())
    seen = evaluator.scorer.seen
    assert seen is not None
    prepared = (
        rows.unique(["query_id", "item_id"], keep="first", maintain_order=True)
        .join(seen.collect(), on=["query_id", "item_id"], how="anti", maintain_order="left")
        .sort("query_id", maintain_order=True)
    )
    told = what_if_table(
        [(CONFIGURED, prepared), (("a", "dropped"), prepared.clear())], population, merge="m"
    )
    row = told.filter(bucket_by="all", change="as configured").row(0, named=True)
    assert row["hits"] == scored.found.height
    lengths = scored.per_query.join(evaluator.truth.queries, on="query_id")
    means = lengths.group_by("user_id").agg(pl.col("returned").mean())
    assert row["slots"] == pytest.approx(means["returned"].mean(), abs=1e-12)
