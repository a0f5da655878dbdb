"""How much of the test window is known from the train window."""

import numpy as np
import polars as pl

from recoeval.data.repeats import Repeats, count_repeats
from recoeval.data.trainpairs import Codes, Coding, TrainPairs

CODING = Coding(pl.Series("user_id", [1, 2]), pl.Series("item_id", [1, 2]))


def codes(*pairs: tuple[int, int]) -> Codes:
    rows = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
    return CODING.find(rows).to_numpy()


def test_how_much_of_the_truth_is_known():
    every = codes((1, 1), (1, 2), (2, 1))
    pairs = TrainPairs(CODING, every, codes((1, 1)), codes((1, 2)), np.array([1, 0]))
    marked = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [1, 2, 1, 2]})
    found = count_repeats(pairs, CODING.find(marked), 1)
    assert found == Repeats(pairs=4, trained=1, before=3, seen=1, truth_trained=1)
