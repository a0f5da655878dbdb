"""Real logs, which are not in this repository: every figure is worked out a second time.

Set RECOEVAL_REAL_DATA to the folder that holds them.
"""

import csv
import gzip
import math
import os
import subprocess
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.columns import CAUSES

CUTOFF = datetime(2022, 5, 5, 16, tzinfo=UTC)
KUAIRAND = {
    "name": "kuairand",
    "split": {"test_start": CUTOFF.isoformat()},
    "ground_truth": {"relevant": "is_click = 1 AND dwell_ms > 30000"},
    "generators": {
        "popularity": None,
        "als": {"factors": 16, "regularization": 0.1, "alpha": 10.0},
        "random": None,
    },
    "baselines": ["random"],
    "metrics": ["recall", "hit_rate", "precision", "capped_recall", "ndcg", "map", "coverage"],
    "k": [10, 50, 100],
    "buckets": {
        "popularity": {"side": "item", "by": "train_popularity", "quantiles": [0.8, 0.95]},
        "activity": {"by": "train_interactions", "edges": [1, 20, 40]},
        "truth_size": {"by": "relevant_items", "edges": [2, 5]},
    },
    "constraints": [
        "recall@100 >= 0.12",
        {"metric": "recall@100", "generators": ["als"], "min": 0.2},
    ],
    "engine": {"threads": 1},
}
Pairs = list[tuple[Any, Any]]


class Plain:
    """Popularity, evaluated in plain Python over dicts and sets."""

    def __init__(self, train: Pairs, test: Pairs) -> None:
        seen, users_of = defaultdict(set), defaultdict(set)
        for user, item in train:
            seen[user].add(item)
            users_of[item].add(user)
        self.ranking = sorted(users_of, key=lambda item: (-len(users_of[item]), item))
        self.seen, self.distinct = seen, set(test)
        self.truth: dict[Any, set[Any]] = defaultdict(set)
        for user, item in self.distinct:
            if item not in seen[user]:
                self.truth[user].add(item)

    def hits(self, user: Any, depth: int) -> list[int]:
        """Returns the ranks of the relevant items among the first unseen ones."""
        found, rank = [], 0
        for item in self.ranking:
            if item in self.seen[user]:
                continue
            rank += 1
            if rank > depth:
                break
            if item in self.truth[user]:
                found.append(rank)
        return found

    def mean(self, metric: str, depth: int) -> float:
        """Returns the mean over users, summed exactly."""
        values = []
        for user, relevant in self.truth.items():
            hits = self.hits(user, depth)
            values.append(
                {
                    "recall": len(hits) / len(relevant),
                    "precision": len(hits) / depth,
                    "hit_rate": float(bool(hits)),
                    "capped_recall": len(hits) / min(depth, len(relevant)),
                    "map": sum(number / rank for number, rank in enumerate(hits, 1))
                    / min(depth, len(relevant)),
                    "ndcg": sum(1 / math.log2(rank + 1) for rank in hits)
                    / sum(1 / math.log2(r + 2) for r in range(min(depth, len(relevant)))),
                }[metric]
            )
        return math.fsum(values) / len(values)


@pytest.fixture(scope="module")
def kuairand(real_data: Path) -> Path:
    return real_data / "kuairand_demo"


@pytest.fixture(scope="module")
def rows(kuairand: Path) -> list[dict[str, str]]:
    with gzip.open(kuairand / "demo_interactions.csv.gz", "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def runs(kuairand: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, rv.Run]:
    """One run from parquet, one from csv.gz."""
    folder = tmp_path_factory.mktemp("kuairand")
    return {
        ending: rv.run(
            {
                **KUAIRAND,
                "interactions": {
                    "path": str(kuairand / f"demo_interactions.{ending}"),
                    "timestamp_unit": "ms",
                },
                "output": {"path": str(folder)},
            }
        )
        for ending in ("parquet", "csv.gz")
    }


def positives(rows: list[dict[str, str]]) -> tuple[Pairs, Pairs]:
    """Returns the rows before and from the cutoff that pass the rule, read by Python alone."""
    cutoff = int(CUTOFF.timestamp() * 1000)
    sides: tuple[Pairs, Pairs] = ([], [])
    for row in rows:
        if row["is_click"] == "1" and float(row["dwell_ms"] or 0) > 30_000:
            pair = int(row["user_id"]), int(row["item_id"])
            sides[int(row["timestamp"]) >= cutoff].append(pair)
    return sides


def test_parquet_and_csv_give_the_same_numbers(runs: dict[str, rv.Run]) -> None:
    one, other = runs["parquet"], runs["csv.gz"]
    assert one.summary.equals(other.summary)
    assert one.per_query.equals(other.per_query)
    assert one.hits.equals(other.hits)
    assert one.verdict == other.verdict
    for part in ("log", "splits", "truth", "lists", "definitions"):
        assert one.manifest[part] == other.manifest[part]


def test_kuairand_counts(runs: dict[str, rv.Run], rows: list[dict[str, str]]) -> None:
    manifest = runs["parquet"].manifest
    truth = manifest["truth"]
    assert manifest["log"]["interactions"]["rows"] == len(rows) == 74_038
    distinct = {tuple(row.values()) for row in rows}
    assert manifest["log"]["interactions"]["exact_duplicates"] == len(rows) - len(distinct) == 1_452
    assert truth["train_rows"] == 9_998
    assert truth["relevant_rows"] == 2_292
    assert truth["relevant_pairs"] == 2_280
    assert truth["dropped_repeats"] == 1
    assert (truth["truth_pairs"], truth["truth_queries"]) == (2_279, 1_214)
    assert truth["rule_was_null"] == 0
    train, test = positives(rows)
    plain = Plain(train, test)
    assert (len(train), len(test), len(plain.distinct)) == (9_998, 2_292, 2_280)
    sizes = [len(items) for items in plain.truth.values() if items]
    assert (sum(sizes), len(sizes)) == (2_279, 1_214)
    universe = {row["user_id"] for row in rows if int(row["timestamp"]) >= CUTOFF.timestamp() * 1e3}
    assert truth["zero_relevant_queries"] == len(universe) - len(sizes)


def test_kuairand_truth_by_sql(runs: dict[str, rv.Run], kuairand: Path) -> None:
    import duckdb

    log, cutoff = kuairand / "demo_interactions.parquet", int(CUTOFF.timestamp() * 1000)
    relevant = "SELECT DISTINCT user_id, item_id FROM log WHERE is_click = 1 AND dwell_ms > 30000"
    sql = f"""
        WITH log AS (SELECT * FROM '{log}'),
        truth AS ({relevant} AND timestamp >= {cutoff} EXCEPT {relevant} AND timestamp < {cutoff}),
        activity AS (SELECT user_id, count(*) AS n FROM log WHERE timestamp < {cutoff} GROUP BY 1)
        SELECT user_id, count(*), coalesce(any_value(n), 0)
        FROM truth LEFT JOIN activity USING (user_id) GROUP BY user_id ORDER BY user_id
    """  # noqa: S608 - of constants
    found = duckdb.sql(sql).fetchall()
    ours = runs["parquet"].per_query.filter(generator="popularity").sort("user_id")
    assert [row[:2] for row in found] == ours.select("user_id", "relevant").rows()
    labels = {"[1,20)": range(1, 20), "[20,40)": range(20, 40), "[40,inf)": range(40, 10**6)}
    labels["0"] = range(1)
    expected = {label: sum(n in ends for *_, n in found) for label, ends in labels.items()}
    buckets = runs["parquet"].summary.filter(
        bucket_by="activity", metric="recall@100", statistic="macro", generator="als"
    )
    users = dict(buckets.select("bucket", "users").rows())
    assert users == {label: count for label, count in expected.items() if label in users}
    assert sum(users.values()) == 1_214


@pytest.mark.parametrize(
    ("metric", "k"),
    [
        ("recall", 100),
        ("recall", 50),
        ("recall", 10),
        ("precision", 100),
        ("hit_rate", 10),
        ("capped_recall", 50),
        ("map", 100),
        ("ndcg", 100),
    ],
)
def test_kuairand_popularity_by_brute_force(
    runs: dict[str, rv.Run], rows: list[dict[str, str]], metric: str, k: int
) -> None:
    plain = Plain(*positives(rows))
    plain.truth = {user: items for user, items in plain.truth.items() if items}
    ours = runs["parquet"].value(f"{metric}@{k}", "popularity")
    assert ours == pytest.approx(plain.mean(metric, k), rel=0, abs=1e-12)


def test_kuairand_verdict(runs: dict[str, rv.Run]) -> None:
    run = runs["parquet"]
    assert [(row[0], row[2], row[3]) for row in run.verdict.outcomes] == [
        ("recall@100 >= 0.12", "popularity", "pass"),
        ("recall@100 >= 0.12", "als", "pass"),
        ("recall@100 >= 0.2", "als", "fail"),
    ]
    assert run.verdict.exit_code == 1
    # Figures that no change of the code may move without a word.
    assert run.value("recall@100", "popularity") == pytest.approx(0.237644, abs=1e-6)
    assert run.value("recall@100", "als") == pytest.approx(0.1677, abs=0.005)
    assert run.value("coverage", "popularity") == 1.0
    trained = {user for user, _ in positives_of(run)}
    served = run.per_query.filter(generator="als")["user_id"].is_in(list(trained)).sum()
    assert run.value("coverage", "als") == served / 1_214


def test_kuairand_loss(runs: dict[str, rv.Run], rows: list[dict[str, str]]) -> None:
    """Causes add up to the truth, and are those that plain Python finds, overall and by bucket."""
    run = runs["parquet"]
    truth = run.manifest["truth"]["truth_pairs"]
    for row in run.loss.iter_rows(named=True):
        assert sum(row[cause] for cause in CAUSES) == row["relevant"], row
    whole = run.loss.filter(bucket_by="all")
    assert set(whole["relevant"]) == {truth}
    for name in ("activity", "truth_size", "coldness", "popularity"):
        parts = run.loss.filter(bucket_by=name).group_by("generator", "k").agg(pl.col(CAUSES).sum())
        sums = parts.join(whole, on=["generator", "k"], suffix="_all", validate="1:1")
        assert sums.height == whole.height
        assert all(sums[cause].equals(sums[f"{cause}_all"]) for cause in CAUSES)
    plain = Plain(*positives(rows))
    warm = set(plain.ranking)
    cold = sum(item not in warm for items in plain.truth.values() for item in items)
    hits = {k: sum(len(plain.hits(user, k)) for user in plain.truth) for k in (10, 50, 100)}
    for row in whole.filter(generator="popularity").iter_rows(named=True):
        k, found = row["k"], hits[100]
        assert row["cold_item"] == cold
        assert (row["hit"], row["below_k"]) == (hits[k], found - hits[k])
        assert row["not_retrieved"] == truth - cold - found


def positives_of(run: rv.Run) -> Pairs:
    log = pl.read_parquet(run.manifest["inputs"][0]["path"])
    early = pl.col("timestamp") < int(CUTOFF.timestamp() * 1000)
    return (
        log.filter(early, is_click=1)
        .filter(pl.col("dwell_ms") > 30_000)["user_id", "item_id"]
        .rows()
    )


def test_the_command_on_kuairand(
    kuairand: Path, runs: dict[str, rv.Run], repository: Path, tmp_path: Path
) -> None:
    config = repository / "configs" / "kuairand.yaml"
    command = [sys.executable, "-m", "recoeval", "run", str(config)]
    command += ["--set", f"output.path={tmp_path}", "--set", "engine.threads=1"]
    environ = {**os.environ, "RECOEVAL_KUAIRAND": str(kuairand)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    (path,) = (tmp_path / "kuairand").iterdir()
    assert rv.open_run(path).summary.equals(runs["parquet"].summary)


def test_movietweetings(real_data: Path, tmp_path: Path) -> None:
    path = real_data / "movietweetings_100k" / "ratings.dat.gz"
    names = ["user_id", "item_id", "rating", "timestamp"]
    run = rv.run(
        {
            "interactions": {
                "path": str(path),
                "format": {"separator": "::", "header": False, "names": names},
                "timestamp_unit": "s",
            },
            "split": {"test": "14d"},
            "ground_truth": {"relevant": "rating >= 8"},
            "generators": {"popularity": None, "als": {"factors": 8, "iterations": 3}},
            "metrics": ["recall", "coverage"],
            "k": [10, 100],
            "engine": {"threads": 1},
            "output": {"path": str(tmp_path)},
        }
    )
    with gzip.open(path, "rt", encoding="utf-8") as file:
        table = [line.rstrip("\n").split("::") for line in file]
    assert run.manifest["log"]["interactions"]["rows"] == len(table) == 100_000
    latest = max(int(row[3]) for row in table)
    # The window ends a microsecond after the last row, so its first moment is not in it.
    sides: tuple[Pairs, Pairs] = ([], [])
    for user, item, rating, time in table:
        if int(rating) >= 8:
            sides[int(time) > latest - 14 * 86_400].append((int(user), item))
    plain = Plain(*sides)
    plain.truth = {user: items for user, items in plain.truth.items() if items}
    truth = run.manifest["truth"]
    assert truth["train_rows"] == len(sides[0])
    assert truth["relevant_rows"] == len(sides[1])
    assert truth["truth_pairs"] == sum(len(items) for items in plain.truth.values())
    assert truth["truth_queries"] == len(plain.truth)
    for k in (10, 100):
        ours = run.value(f"recall@{k}", "popularity")
        assert ours == pytest.approx(plain.mean("recall", k), rel=0, abs=1e-12)
    # Ids are text of seven digits: those below 1,000,000 keep their zeros.
    assert run.hits.schema["item_id"] == pl.String
    assert run.hits.schema["query_id"] == pl.Int64
    assert set(run.hits["item_id"].str.len_chars()) == {7}
    assert run.hits["item_id"].str.starts_with("0").any()
    assert set(run.hits["item_id"]) <= {row[1] for row in table}


def test_a_published_split_in_two_files(real_data: Path, tmp_path: Path) -> None:
    folder = real_data / "ml1m_spectralcf"
    run = rv.run(
        {
            "split": {side: str(folder / f"{side}.parquet") for side in ("train", "test")},
            "generators": {"popularity": None},
            "metrics": ["recall", "map"],
            "k": [20, 40],
            "output": {"path": str(tmp_path)},
        }
    )
    [report] = run.manifest["splits"]
    assert (report["train"]["rows"], report["test"]["rows"]) == (179_207, 47_103)
    assert report["test"]["users"] == run.manifest["truth"]["truth_queries"] == 5_479
    # Published figures; the order of items with equal counts is not.
    assert run.value("recall@20") == pytest.approx(0.0382, abs=0.002)
    assert run.value("recall@40") == pytest.approx(0.0969, abs=0.002)
    assert run.value("map@20") == pytest.approx(0.0065, abs=0.0005)
    sides = [pl.read_parquet(folder / f"{side}.parquet").rows() for side in ("train", "test")]
    plain = Plain(sides[0], sides[1])
    plain.truth = {user: items for user, items in plain.truth.items() if items}
    assert run.value("recall@20") == pytest.approx(plain.mean("recall", 20), rel=0, abs=1e-12)
