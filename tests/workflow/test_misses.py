"""The sample of lost pairs that `recoeval report --misses` shows."""

from pathlib import Path

import polars as pl

from recoeval.analysis.results import Evaluation
from recoeval.analysis.verdict import Verdict
from recoeval.workflow.misses import sample_of
from recoeval.workflow.store import Run

HITS = [
    (0, "pop", 2, 10, 3, 1.0),
    (0, "als", 1, 10, 1, 1.0),
    (0, "als", 1, 11, 9, 2.0),
    (1, "als", 1, 12, 2, 1.0),
]
LOST = [
    (0, "als", 2, 10, 1.0, "cold_user"),
    (1, "als", 3, 10, 1.0, "not_retrieved"),
    (0, "pop", 1, 10, 1.0, "not_retrieved"),
    (0, "pop", 1, 11, 2.0, "not_retrieved"),
]


def run_of(seed: int = 7) -> Run:
    keys = {"fold": pl.Int64, "generator": pl.String, "query_id": pl.Int64, "item_id": pl.Int64}
    hits = pl.DataFrame(HITS, {**keys, "rank": pl.Int64, "gain": pl.Float64}, orient="row")
    lost = pl.DataFrame(LOST, {**keys, "gain": pl.Float64, "cause": pl.String}, orient="row")
    per_query = pl.concat([hits.select("fold", "generator"), lost.select("fold", "generator")])
    evaluation = Evaluation(pl.DataFrame(), per_query, hits, {}, {}, (), lost_pairs=lost.lazy())
    return Run(Path("x"), evaluation, Verdict("none", (), ()), {"seed": seed})


def rows(found: pl.DataFrame) -> set[tuple[object, ...]]:
    return set(found.select("fold", "generator", "query_id", "item_id", "rank", "cause").rows())


def test_every_fold_and_generator_has_its_own() -> None:
    found = sample_of(run_of(), k=2, count=9)
    assert rows(found) == {
        (0, "als", 1, 11, 9, "below_k"),
        (0, "als", 2, 10, None, "cold_user"),
        (1, "als", 3, 10, None, "not_retrieved"),
        (0, "pop", 2, 10, 3, "below_k"),
        (0, "pop", 1, 10, None, "not_retrieved"),
        (0, "pop", 1, 11, None, "not_retrieved"),
    }
    # In the order of the run, and not by name.
    assert found["generator"].to_list() == ["pop"] * 3 + ["als"] * 3
    assert found.filter(generator="als")["fold"].to_list() == [0, 0, 1]


def test_whole_lists_have_nothing_below_k() -> None:
    found = sample_of(run_of(), k=None, count=9)
    assert "below_k" not in found["cause"].to_list()
    assert found.height == len(LOST)


def test_count_is_of_each_fold_and_generator_and_the_same_each_time() -> None:
    found = sample_of(run_of(), k=2, count=1)
    assert found.select("fold", "generator").rows() == [(0, "pop"), (0, "als"), (1, "als")]
    assert found.equals(sample_of(run_of(), k=2, count=1))
    assert rows(found) <= rows(sample_of(run_of(), k=2, count=2))


def test_another_seed_another_sample() -> None:
    samples = {tuple(sample_of(run_of(seed), k=2, count=1)["item_id"]) for seed in range(20)}
    assert len(samples) > 1
