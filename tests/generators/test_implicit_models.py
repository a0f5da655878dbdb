import warnings
from dataclasses import replace

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import EngineError
from recoeval.generators import ALS, BPR, LMF
from recoeval.generators.blocks import pair_weights


def test_alpha_scales_the_weights_once(toy, recommend, equal):
    doubled = toy.with_train(rows=toy.train.rows.with_columns(pl.col("weight") * 2))
    equal(
        recommend(ALS(alpha=2.0).fit(toy.train), toy.queries, 20),
        recommend(ALS(alpha=1.0).fit(doubled.train), toy.queries, 20),
    )


def test_repeated_rows_add_their_weights(toy, recommend, equal):
    summed = toy.train.rows.group_by("user_id", "item_id").agg(pl.col("weight").sort().sum())
    equal(
        recommend(ALS().fit(toy.train), toy.queries, 20),
        recommend(ALS().fit(toy.with_train(rows=summed).train), toy.queries, 20),
    )


def test_other_seed_other_lists(toy, recommend):
    first = recommend(ALS().fit(toy.train), toy.queries, 20)
    second = recommend(ALS().fit(toy.with_train(seed=12).train), toy.queries, 20)
    assert not first.equals(second)


def test_cold_users_get_no_list(toy, recommend):
    lists = recommend(ALS().fit(toy.train), toy.queries, 20)
    assert not set(lists["query_id"]) & {5000, 5001}


def test_several_threads_give_full_lists(toy, recommend):
    lists = recommend(ALS().fit(toy.with_train(threads=2).train), toy.queries, 20)
    assert lists.height == recommend(ALS().fit(toy.train), toy.queries, 20).height


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_are_those_of_the_engine_and_blas_has_one(toy, monkeypatch, threads):
    import implicit.cpu.als
    import implicit.cpu.topk
    from threadpoolctl import threadpool_info

    found = []

    def note(asked: int) -> None:
        blas = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
        found.append((asked, blas))

    class Watched(implicit.cpu.als.AlternatingLeastSquares):
        def fit(self, *args, **options):
            note(self.num_threads)
            super().fit(*args, **options)

    def watched(*args, **options):
        note(options["num_threads"])
        return topk(*args, **options)

    topk = implicit.cpu.topk.topk
    monkeypatch.setattr(implicit.cpu.als, "AlternatingLeastSquares", Watched)
    monkeypatch.setattr(implicit.cpu.topk, "topk", watched)
    fitted = ALS(iterations=1).fit(toy.with_train(threads=threads).train)
    for start in range(0, toy.queries.height, 20):
        fitted.recommend(toy.queries[start : start + 20], 5).collect()
    assert len(found) > 2
    assert all(each == (threads, {1}) for each in found)


def test_ties_beyond_the_candidates_go_by_item(toy, recommend):
    # Ten items alike in all users: only the order of ids may decide, also across the cut.
    fitted = ALS(factors=4).fit(toy.train)
    fitted.model.item_factors[:] = 0.25
    fitted.model.item_factors[50:] = 0.5
    fitted.model.user_factors[:] = 1.0
    fitted = replace(fitted, seen=ALS().fit(toy.with_train(seen=None).train).seen)
    lists = recommend(fitted, toy.queries.head(2), 15)
    best = [*range(2050, 2060), *range(2000, 2005)]
    assert lists["item_id"].to_list() == best * 2
    assert lists["score"].to_list() == ([2.0] * 10 + [1.0] * 5) * 2


def test_ties_beyond_the_candidates_leave_seen_items_out(toy, recommend):
    fitted = ALS(factors=4).fit(toy.train)
    fitted.model.item_factors[:] = 0.25
    fitted.model.user_factors[:] = 1.0
    for user in (1002, 1010, 1020):
        query = pl.DataFrame({"query_id": [user], "user_id": [user]})
        unseen = sorted(set(range(2000, 2060)) - toy.seen_by(user))
        assert recommend(fitted, query, 10)["item_id"].to_list() == unseen[:10]


def test_ties_among_the_candidates_go_by_item(toy, recommend):
    fitted = ALS(factors=4).fit(toy.with_train(seen=None).train)
    fitted.model.item_factors[:] = 0.25
    fitted.model.item_factors[30] = 0.5
    fitted.model.user_factors[:] = 1.0
    best = [2030, *(item for item in range(2000, 2060) if item != 2030)]
    for k in (50, 60):
        assert recommend(fitted, toy.queries.head(1), k)["item_id"].to_list() == best[:k]


def test_weights_do_not_matter_to_bpr_but_to_lmf(toy, recommend):
    heavier = toy.with_train(rows=toy.train.rows.with_columns(pl.col("weight") * 2))
    assert same_lists(BPR(), toy, heavier, recommend)
    assert not same_lists(LMF(), toy, heavier, recommend)


def same_lists(generator, one, other, recommend) -> bool:
    first, second = (recommend(generator.fit(toy.train), toy.queries, 20) for toy in (one, other))
    return first.equals(second)


@pytest.mark.parametrize(
    ("generator", "message"),
    [
        (
            BPR(learning_rate=1e30, regularization=10.0, factors=2),
            (
                r"the fit diverged: factors are NaN or infinite with factors=2, "
                r"learning_rate=1e\+30, regularization=10, iterations=100 and pair weights up to "
                r"4\. Lower learning_rate or regularization"
            ),
        ),
        (
            LMF(learning_rate=1e38, factors=2),
            (
                r"the fit diverged: factors are NaN or infinite with factors=2, "
                r"learning_rate=1e\+38, regularization=0.6, iterations=30, neg_prop=30 and "
                r"pair weights up to 4\. Lower learning_rate or training\.weight"
            ),
        ),
    ],
    ids=["bpr", "lmf"],
)
def test_steps_that_are_too_long(toy, generator, message):
    with pytest.raises(EngineError, match=message):
        generator.fit(toy.train)


@pytest.mark.parametrize("generator", [BPR(factors=1), LMF(factors=1)], ids=["bpr", "lmf"])
def test_vectors_of_one_number(toy, recommend, generator):
    lists = recommend(generator.fit(toy.train), toy.queries, 5)
    assert set(lists.group_by("query_id").len()["len"]) == {5}


def test_infinite_scores_of_pairs(toy):
    fitted = ALS(factors=4).fit(toy.train)
    fitted.model.user_factors[:] = 1e30
    fitted.model.item_factors[:] = 1e30
    with pytest.raises(EngineError, match="scores are infinite"):
        fitted.score(toy.queries.with_columns(item_id=2000))


def test_order_of_rows_does_not_round_the_sum():
    # Halfway between two float32: the tiny weights decide, unless each is lost in the big one.
    ids, big, tiny = pl.Series([1]), 2.0**24 + 1, 2.0**-29
    sums = [
        pair_weights(
            pl.LazyFrame({"user_id": [1] * 3, "item_id": [1] * 3, "weight": weights}), ids, ids
        )[0, 0]
        for weights in ([big, tiny, tiny], [tiny, big, tiny], [tiny, tiny, big])
    ]
    assert len(set(sums)) == 1


def test_a_fit_that_diverges(toy):
    huge = toy.with_train(rows=toy.train.rows.with_columns(pl.lit(1e38).alias("weight")))
    with pytest.raises(EngineError, match=r"the fit diverged: .* alpha=1e\+06 .* Lower alpha"):
        ALS(alpha=1e6).fit(huge.train)


def test_infinite_scores(toy):
    fitted = ALS(factors=4).fit(toy.train)
    fitted.model.user_factors[:] = 1e30
    fitted.model.item_factors[:] = 1e30
    with pytest.raises(EngineError, match="scores are infinite"):
        fitted.recommend(toy.queries, 5)


def test_no_advice_about_blas_threads(toy):
    import implicit.utils

    implicit.utils._checked_blas_config = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ALS(iterations=1).fit(toy.train)


@pytest.mark.parametrize(
    "options",
    [
        {"factors": 0},
        {"factors": True},
        {"factors": "64"},
        {"iterations": 0},
        {"regularization": -0.1},
        {"regularization": float("nan")},
        {"alpha": 0},
        {"alpha": float("inf")},
    ],
)
def test_options_out_of_range(options):
    with pytest.raises(ValidationError):
        ALS(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"factors": 0},
        {"learning_rate": 0},
        {"learning_rate": "0.1"},
        {"regularization": -1},
        {"iterations": 2.5},
    ],
)
@pytest.mark.parametrize("generator", [BPR, LMF])
def test_options_of_gradient_descent_out_of_range(generator, options):
    with pytest.raises(ValidationError):
        generator(**options)


def test_options_of_one_model_alone():
    with pytest.raises(ValidationError):
        LMF(neg_prop=0)
    with pytest.raises(ValidationError):
        BPR(verify_negative_samples="yes")
