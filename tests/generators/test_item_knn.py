import math
from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recoeval.errors import EngineError
from recoeval.generators import ItemKNN, Train, item_knn

Weights = dict[tuple[int, int], float]
# Items 1 and 2 have the same users, item 3 shares one with each.
SMALL = [(10, 1), (10, 2), (11, 1), (11, 2), (11, 3), (12, 3)]


def train_of(weights: Weights) -> Train:
    rows = [(user, item, weight) for (user, item), weight in weights.items()]
    schema = {"user_id": pl.Int64, "item_id": pl.Int64, "weight": pl.Float64}
    log = pl.DataFrame(rows, schema=schema, orient="row").lazy()
    return Train(log, log.select("user_id", "item_id"), None, seed=1, threads=1)


def lists_of(knn: ItemKNN, weights: Weights, k: int = 9) -> dict[int, list[tuple[int, float]]]:
    users = sorted({user for user, _ in weights})
    queries = pl.DataFrame({"query_id": users, "user_id": users})
    lists = knn.fit(train_of(weights)).recommend(queries, k).collect().sort("query_id", "rank")
    found: dict[int, list[tuple[int, float]]] = {user: [] for user in users}
    for query, item, rank, score in lists.iter_rows():
        found[query].append((item, score))
        assert rank == len(found[query])
    return found


def test_cosine_by_hand():
    # Similarity of 1 and 2: 2 / 2; of 3 to either: 1 / 2.
    found = lists_of(ItemKNN(), dict.fromkeys(SMALL, 1.0))
    assert found[12] == [(1, pytest.approx(0.5)), (2, pytest.approx(0.5))]
    assert found[10] == [(3, pytest.approx(1.0))]
    assert found[11] == []


def test_neighbours_are_few_and_equals_go_by_item():
    # Of two neighbours one is the item itself; 1 and 2 are equally near to 3.
    found = lists_of(ItemKNN(neighbours=2), dict.fromkeys(SMALL, 1.0))
    assert found == {10: [], 11: [], 12: [(1, pytest.approx(0.5))]}


def test_one_neighbour_is_the_item_itself():
    assert not any(lists_of(ItemKNN(neighbours=1), dict.fromkeys(SMALL, 1.0)).values())


def test_cosine_of_weights_by_hand():
    # Vectors of items over users 10 and 11: (3, 0), (4, 1); user 11 gives its weight of 1.
    found = lists_of(ItemKNN(), {(10, 1): 3.0, (10, 2): 4.0, (11, 2): 1.0})
    assert found[11] == [(1, pytest.approx(12 / (3 * math.sqrt(17))))]


def test_lists_end_where_evidence_ends():
    found = lists_of(ItemKNN(), {(10, 1): 1.0, (10, 2): 1.0, (11, 1): 1.0, (12, 3): 1.0})
    assert found == {10: [], 11: [(2, pytest.approx(math.sqrt(0.5)))], 12: []}


def test_users_of_all_but_one_item_say_nothing_in_tf_idf():
    pairs = {(10, 1): 1.0, (10, 2): 1.0, (11, 2): 1.0, (11, 3): 1.0}
    assert not any(lists_of(ItemKNN(similarity="tf-idf"), pairs).values())
    assert any(lists_of(ItemKNN(), pairs).values())


def similarities(knn: ItemKNN, weights: Weights) -> dict[tuple[int, int], float]:
    """Returns the similarity of each two items, in plain Python."""
    own, of_item = defaultdict(dict), defaultdict(dict)
    for (user, item), weight in weights.items():
        own[user][item] = of_item[item][user] = weight
    rarity = {user: math.log(len(of_item) / (1 + len(items))) for user, items in own.items()}
    length = {item: math.fsum(users.values()) for item, users in of_item.items()}
    average = math.fsum(length.values()) / len(length)

    def value(user: int, item: int) -> float:
        weight = weights[user, item]
        if knn.similarity == "cosine":
            return weight
        if knn.similarity == "tf-idf":
            return math.sqrt(weight) * rarity[user]
        norm = 1 - knn.b + knn.b * length[item] / average
        return weight * (knn.k1 + 1) / (knn.k1 * norm + weight) * rarity[user]

    vectors = {item: {user: value(user, item) for user in users} for item, users in of_item.items()}
    if knn.similarity != "bm25":
        for vector in vectors.values():
            norm = math.sqrt(math.fsum(each**2 for each in vector.values()))
            for user in vector:
                vector[user] = vector[user] / norm if norm else 0.0
    return {
        (one, other): math.fsum(
            vectors[one][user] * vectors[other][user]
            for user in of_item[one].keys() & of_item[other]
        )
        for one in vectors
        for other in vectors
    }


@given(
    pairs=st.dictionaries(
        st.tuples(st.integers(0, 7), st.integers(0, 9)),
        st.sampled_from([0.25, 1.0, 2.0, 7.5]),
        min_size=1,
        max_size=40,
    ),
    knn=st.sampled_from(
        [
            ItemKNN(neighbours=100),
            ItemKNN(similarity="tf-idf", neighbours=100),
            ItemKNN(similarity="bm25", neighbours=100),
            ItemKNN(similarity="bm25", neighbours=100, k1=0, b=1),
            ItemKNN(similarity="bm25", neighbours=100, k1=50.0, b=0),
        ]
    ),
)
def test_all_neighbours_against_plain_python(pairs, knn):
    near, found = similarities(knn, pairs), lists_of(knn, pairs)
    items = {item for _, item in pairs}
    for user, listed in found.items():
        own = {item: weight for (owner, item), weight in pairs.items() if owner == user}
        expected = {
            item: math.fsum(weight * near[liked, item] for liked, weight in own.items())
            for item in items - own.keys()
        }
        # What is 0 but for rounding may be listed or not.
        surely = {item for item, score in expected.items() if score > 1e-12}
        assert surely <= {item for item, _ in listed}
        for item, score in listed:
            assert score == pytest.approx(expected[item], rel=1e-9, abs=1e-12)
        assert listed == sorted(listed, key=lambda each: (-each[1], each[0]))


@given(
    pairs=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 9)), min_size=1, max_size=40),
    neighbours=st.integers(1, 4),
)
def test_few_neighbours_against_plain_python(pairs, neighbours):
    weights = dict.fromkeys(pairs, 1.0)
    near, found = (
        similarities(ItemKNN(), weights),
        lists_of(ItemKNN(neighbours=neighbours), weights),
    )
    # Rounded: equal similarities are equal, and go to the lower id.
    nearest = {
        item: sorted(
            (other for one, other in near if one == item and near[one, other] > 0),
            key=lambda other: (-round(near[item, other], 9), other),
        )[:neighbours]
        for item in {item for _, item in pairs}
    }
    for user, listed in found.items():
        own = {item for owner, item in pairs if owner == user}
        expected = defaultdict(float)
        for liked in own:
            for other in set(nearest[liked]) - own:
                expected[other] += near[liked, other]
        assert dict(listed) == pytest.approx(expected)


def test_parts_of_items_and_users(toy, recommend, equal, monkeypatch):
    whole = recommend(ItemKNN(neighbours=5).fit(toy.train), toy.queries, 20)
    monkeypatch.setattr(item_knn, "_CHUNK", 1)
    equal(whole, recommend(ItemKNN(neighbours=5).fit(toy.train), toy.queries, 20))


def test_threads_do_not_matter(toy, recommend, equal):
    equal(
        recommend(ItemKNN().fit(toy.train), toy.queries, 20),
        recommend(ItemKNN().fit(toy.with_train(threads=2).train), toy.queries, 20),
    )


def test_scores_without_evidence_are_zero():
    fitted = ItemKNN().fit(train_of({(10, 1): 1.0, (12, 3): 1.0}))
    pairs = pl.DataFrame({"query_id": [1, 2], "user_id": [10, 10], "item_id": [3, 4]})
    assert fitted.score(pairs).to_list() == [0.0, None]


def test_infinite_weights(toy):
    huge = toy.with_train(rows=toy.train.rows.with_columns(weight=pl.lit(3e38)))
    with pytest.raises(EngineError) as caught:
        ItemKNN().fit(huge.train)
    assert str(caught.value) == "weights of a pair add up to infinity: lower training.weight"


@pytest.mark.parametrize(
    "options",
    [
        {"neighbours": 0},
        {"neighbours": 2.5},
        {"similarity": "jaccard"},
        {"similarity": "bm25", "k1": -1.0},
        {"similarity": "bm25", "b": 1.5},
    ],
)
def test_options_out_of_range(options):
    with pytest.raises(ValidationError):
        ItemKNN(**options)


@pytest.mark.parametrize("option", ["k1", "b"])
def test_options_of_bm25_alone(option):
    with pytest.raises(ValidationError, match=f"{option} is an option of similarity: bm25 alone"):
        ItemKNN(similarity="tf-idf", **{option: 0.5})
    assert ItemKNN(**ItemKNN().model_dump()) == ItemKNN()
