"""Factor models of the library implicit: alternating least squares, BPR, logistic factorisation."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from recoeval.component import Count, Flag, Number
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.factors import fit_factors

__all__ = ["ALS", "BPR", "LMF"]

Positive = Annotated[Number, Field(gt=0)]
Penalty = Annotated[Number, Field(ge=0)]


class ALS(Generator):
    """Matrix factorisation of implicit feedback by alternating least squares.

    The confidence of a (user, item) pair is alpha x the sum of the weights of its train rows.
    Users without a train row get no list.

    The same seed and one thread give the same lists, bit by bit, whatever the order of the rows
    and the block of queries. With several threads the factors, and with them the lists, are not
    bit-reproducible: keep the lists, or set `engine.threads: 1`.

    Source: Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets;
        AlternatingLeastSquares of implicit 0.7, on the CPU, in float32.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["als"] = "als"
    factors: Count = 64
    """Length of the vectors of users and items. Default 64; time and memory grow with it."""
    iterations: Count = 15
    """Rounds of alternating fits. Default 15; more change little."""
    regularization: Penalty = 0.01
    """Penalty on the length of the vectors. Default 0.01; raise it for sparse logs."""
    alpha: Positive = 1.0
    """Confidence of a train row of weight 1, where no interaction counts as 1. Default 1.0."""

    def fit(self, train: Train) -> Fitted:
        """Returns the factors.

        Raises:
            DataError: no train rows.
            EngineError: the fit diverged, or implicit refused.
        """
        from implicit.cpu.als import AlternatingLeastSquares

        remedy = "Lower alpha or training.weight, or raise regularization"
        return fit_factors(AlternatingLeastSquares, self, train, remedy=remedy)


class BPR(Generator):
    """Matrix factorisation that ranks the items of a user above others (BPR).

    Every pair counts once: weights are ignored. An item that is not the user's is drawn in
    proportion to its pairs. Users without a train row get no list.

    The same seed and one thread give the same lists, bit by bit, whatever the order of the rows
    and the block of queries. Several threads write the same vectors without locks, so that the
    lists are not bit-reproducible: keep the lists, or set `engine.threads: 1`.

    Source: Rendle et al. (2009), BPR: Bayesian personalized ranking from implicit feedback;
        BayesianPersonalizedRanking of implicit 0.7, on the CPU, in float32.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["bpr"] = "bpr"
    factors: Count = 100
    """Length of the vectors of users and items, beside a bias of the item. Default 100."""
    learning_rate: Positive = 0.01
    """Step of each update. Default 0.01."""
    regularization: Penalty = 0.01
    """Penalty on the length of the vectors. Default 0.01; raise it for sparse logs."""
    iterations: Count = 100
    """Rounds of as many updates as there are pairs. Default 100."""
    verify_negative_samples: Flag = True
    """Whether a drawn item that is the user's own is skipped. Default true."""

    def fit(self, train: Train) -> Fitted:
        """Returns the factors.

        Raises:
            DataError: no train rows.
            EngineError: the fit diverged, or implicit refused.
        """
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        remedy = "Lower learning_rate or regularization"
        return fit_factors(BayesianPersonalizedRanking, self, train, remedy=remedy)


class LMF(Generator):
    """Logistic matrix factorisation: the probability that a user interacts with an item.

    A pair counts by the sum of the weights of its train rows. Users without a train row get no
    list.

    The same seed and one thread give the same lists, bit by bit, whatever the order of the rows
    and the block of queries. With several threads each draws its own random items, so that their
    number changes the lists: keep the lists, or set `engine.threads: 1`.

    Source: Johnson (2014), Logistic matrix factorization for implicit feedback data;
        LogisticMatrixFactorization of implicit 0.7, on the CPU, in float32.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["lmf"] = "lmf"
    factors: Count = 30
    """Length of the vectors of users and items, beside a bias of each. Default 30."""
    learning_rate: Positive = 1.0
    """Step of the first update; later ones are smaller. Default 1.0."""
    regularization: Penalty = 0.6
    """Penalty on the length of the vectors. Default 0.6; raise it for sparse logs."""
    iterations: Count = 30
    """Rounds over all users and all items. Default 30."""
    neg_prop: Count = 30
    """Random items for each pair of a user, at most the length of the vectors. Default 30."""

    def fit(self, train: Train) -> Fitted:
        """Returns the factors.

        Raises:
            DataError: no train rows.
            EngineError: the fit diverged, or implicit refused.
        """
        from implicit.cpu.lmf import LogisticMatrixFactorization

        remedy = "Lower learning_rate or training.weight"
        return fit_factors(LogisticMatrixFactorization, self, train, remedy=remedy)
