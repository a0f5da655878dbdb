"""Our lists of a log beside those of implicit, called by hand on the pairs of the log."""

import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from implicit.cpu.als import AlternatingLeastSquares
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender, TFIDFRecommender
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from recoeval.generators import ALS, BPR, LMF, Generator, ItemKNN, Train

K = 100
# Above one another by less than this share of the largest score, items are equal in float32.
ROUNDING = 1e-5
MOST = 4
"""Places of about 30,000 that may differ so: two items that implicit's sums put the other way."""


@dataclass(frozen=True)
class Pairs:
    """The log as implicit takes it: sorted ids, weights of a pair summed."""

    users: list[str]
    items: list[str]
    matrix: csr_matrix


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str, float]]:
    """5,500 rows, of which 500 repeat others; ids are texts, in no order."""
    rng = np.random.default_rng(8)
    users, items = rng.integers(300, size=5000), (500 * rng.random(5000) ** 2).astype(int)
    # Eighths: their sums are exact in any order.
    weights = 1 + rng.integers(0, 800, size=5000) / 8
    rows = [
        (f"u{user * 7919 % 1000}", f"i{item * 104729 % 10007}", float(weight))
        for user, item, weight in zip(users, items, weights, strict=True)
    ]
    rows += rows[::10]
    return [rows[at] for at in rng.permutation(len(rows))]


@pytest.fixture(scope="module")
def pairs(rows: list[tuple[str, str, float]]) -> Pairs:
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for user, item, weight in rows:
        sums[user, item] += weight
    users, items = (sorted({pair[side] for pair in sums}) for side in (0, 1))
    matrix = csr_matrix(
        (
            np.array(list(sums.values()), dtype=np.float32),
            ([users.index(user) for user, _ in sums], [items.index(item) for _, item in sums]),
        ),
        shape=(len(users), len(items)),
    )
    matrix.sort_indices()
    return Pairs(users, items, matrix)


def our_lists(generator: Generator, rows: list[tuple[str, str, float]]) -> dict[str, Any]:
    """Returns the items of each user, and their scores; asked in the order of nobody's ids."""
    log = pl.DataFrame(rows, schema=["user_id", "item_id", "weight"], orient="row")
    seen = log.select("user_id", "item_id").unique(maintain_order=True)
    train = Train(log.lazy(), seen.lazy(), None, seed=11, threads=1)
    users = [*log["user_id"].unique(maintain_order=True), "nobody", "u", "zz"]
    queries = pl.DataFrame({"query_id": users, "user_id": users})
    fitted = generator.fit(train)
    lists = pl.concat(fitted.recommend(queries[start::3], K).collect() for start in range(3)).sort(
        "query_id", "rank"
    )
    found = lists.group_by("query_id").agg("item_id", "score")
    return {user: (items, scores) for user, items, scores in found.iter_rows()}


def their_lists(model: Any, pairs: Pairs) -> dict[str, Any]:
    """Returns the same of a model of implicit."""
    model.fit(pairs.matrix, show_progress=False)
    ids, scores = model.recommend(
        np.arange(len(pairs.users)), pairs.matrix, N=K, filter_already_liked_items=True
    )
    return {
        user: ([pairs.items[at] for at in ids[row]], scores[row].tolist())
        for row, user in enumerate(pairs.users)
    }


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> int:
    """Returns how many places have another item, of an equal score in float32; others fail."""
    assert ours.keys() == theirs.keys()
    different = 0
    for user, (items, scores) in ours.items():
        others, known = theirs[user]
        assert len(items) == len(others), user
        near = ROUNDING * max(map(abs, known), default=0)
        assert np.allclose(scores, known, rtol=0, atol=near), user
        different += sum(one != other for one, other in zip(items, others, strict=True))
    return different


@pytest.mark.parametrize(
    ("make", "ours"),
    [
        (AlternatingLeastSquares, ALS()),
        (AlternatingLeastSquares, ALS(factors=8, iterations=3, regularization=1.5, alpha=10.0)),
        (AlternatingLeastSquares, ALS(factors=200, iterations=2)),
        (AlternatingLeastSquares, ALS(factors=1)),
        (BayesianPersonalizedRanking, BPR()),
        (
            BayesianPersonalizedRanking,
            BPR(factors=8, learning_rate=0.1, regularization=0.05, iterations=20),
        ),
        (BayesianPersonalizedRanking, BPR(factors=16, iterations=5, verify_negative_samples=False)),
        (LogisticMatrixFactorization, LMF()),
        (
            LogisticMatrixFactorization,
            LMF(factors=8, learning_rate=0.5, regularization=2.0, iterations=5, neg_prop=3),
        ),
    ],
    ids=str,
)
def test_factor_models(
    make: Callable[..., Any],
    ours: Generator,
    rows: list[tuple[str, str, float]],
    pairs: Pairs,
) -> None:
    with threadpool_limits(1, "blas"):
        model = make(num_threads=1, random_state=11, **ours.model_dump(exclude={"type"}))
        theirs = their_lists(model, pairs)
    assert differences(our_lists(ours, rows), theirs) <= MOST


@pytest.mark.parametrize(
    ("make", "ours"),
    [
        (CosineRecommender, ItemKNN()),
        (CosineRecommender, ItemKNN(neighbours=3)),
        (CosineRecommender, ItemKNN(neighbours=1000)),
        (TFIDFRecommender, ItemKNN(similarity="tf-idf")),
        (BM25Recommender, ItemKNN(similarity="bm25")),
        (BM25Recommender, ItemKNN(similarity="bm25", k1=100, b=0.3, neighbours=50)),
    ],
    ids=str,
)
def test_item_knn(
    make: Callable[..., Any],
    ours: ItemKNN,
    rows: list[tuple[str, str, float]],
    pairs: Pairs,
) -> None:
    options = {"K1": ours.k1, "B": ours.b} if ours.similarity == "bm25" else {}
    with warnings.catch_warnings():
        # implicit tells that it converts matrices of its own.
        warnings.simplefilter("ignore")
        theirs = their_lists(make(K=ours.neighbours, num_threads=1, **options), pairs)
    # Items without evidence, and seen ones, stand at the end with 0.
    evident = {
        user: tuple(zip(*[(i, s) for i, s in zip(*own, strict=True) if s > 0], strict=True))
        for user, own in theirs.items()
    }
    theirs = {user: own for user, own in evident.items() if own}
    assert differences(our_lists(ours, rows), theirs) <= MOST
