"""Random inputs of an evaluation, and the way from them through the public API and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from hypothesis import strategies as st

import recoeval as rv

Row = dict[str, Any]

ITEMS = {
    "int": (-3, 0, 1, 2, 9, 10, 11, 2**53, 2**53 + 1),
    "text": ("0", "010", "09", "10", "9", "A", "a", "é", "z 1"),
}
USERS = {"int": (0, 1, 2, 10, 33), "text": ("01", "1", "U", "u", "ü")}
SCORES = (2.5, 1.0, 1e-9, 0.0, -0.0, -1.0)
GAINS = (0.5, 1.0, 2.0, 3.0, 4.5)
DEPTHS = (1, 2, 3, 5, 100)
GENERATORS = ("als", "pop")

PER_QUERY_METRICS = (
    "hits",
    "precision",
    "precision(denominator=returned)",
    "recall",
    "recall(gain=linear)",
    "capped_recall",
    "f1",
    "hit_rate",
    "mrr",
    "map",
    "map(denominator=relevant)",
    "auprc",
    "ndcg",
    "ndcg(gain=exponential)",
    "ndcg(gain=binary)",
    "ndcg(gain=binary, ideal=k)",
)
WITHOUT_K = ("r_precision",)
WITHOUT_ALL = ("precision", "f1", "ndcg(gain=binary, ideal=k)")
WHOLE = tuple(f"{name}@all" for name in PER_QUERY_METRICS if not name.startswith(WITHOUT_ALL))
QUOTA = tuple(f"{name}@quota" for name in PER_QUERY_METRICS)
LIST_METRICS = ("coverage", "duplicate_share", "list_fill", "seen_share", "tie_share")
ITEM_METRICS = ("item_coverage", "gini", "entropy", "novelty", "mean_popularity")


def at_level(name: str, rel: str = "2") -> str:
    """Returns the metric with only gains of that worth relevant: "recall(gain=linear, rel=2)@5"."""
    stem, at, depth = name.partition("@")
    options = stem[stem.index("(") + 1 : -1] + ", " if "(" in stem else ""
    return f"{stem.partition('(')[0]}({options}rel={rel}){at}{depth}"


@dataclass(frozen=True)
class Case:
    """Everything that an evaluation gets, as plain rows."""

    recs: Sequence[Row]
    truth: Sequence[Row]
    metrics: Sequence[str]
    k: Sequence[int]
    train: Sequence[Row] | None = None
    users: Sequence[Any] | None = None
    items: Sequence[Row] | None = None
    exposures: Sequence[Row] | None = None
    policies: Mapping[str, str] | None = None

    def arguments(self) -> dict[str, Any]:
        return dict(vars(self))


def evaluate(case: Case, **more: Any) -> rv.Evaluation:
    """Returns what the public API says about the case."""
    if case.items is not None:
        more["items"] = table(case.items)
    if case.exposures is not None:
        more["exposures"] = table(case.exposures)
    return rv.evaluate(
        table(case.recs),
        table(case.truth),
        metrics=list(case.metrics),
        k=list(case.k),
        train=None if case.train is None else table(case.train),
        users=None if case.users is None else _universe(case.users),
        policies=None if case.policies is None else dict(case.policies),
        **more,
    )


def table(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


def _universe(users: Sequence[Any]) -> pl.DataFrame:
    return table([user if isinstance(user, dict) else {"user_id": user} for user in users])


def per_query(evaluation: rv.Evaluation) -> dict[tuple[str, Any], Row]:
    return _keyed(evaluation.per_query, "query_id")


def per_user(evaluation: rv.Evaluation) -> dict[tuple[str, Any], Row]:
    return _keyed(evaluation.per_user, "user_id")


def _keyed(frame: pl.DataFrame, key: str) -> dict[tuple[str, Any], Row]:
    rows = {(row["generator"], row[key]): row for row in frame.iter_rows(named=True)}
    assert len(rows) == frame.height
    return rows


def summary(
    evaluation: rv.Evaluation, bucket_by: str = "all", bucket: str = "all"
) -> dict[tuple[str, str, str], Row]:
    """Returns (generator, metric, statistic) -> row of SUMMARY, of one bucket."""
    frame = evaluation.summary.filter(
        (pl.col("bucket_by") == bucket_by) & (pl.col("bucket") == bucket)
    )
    rows = {
        (row["generator"], row["metric"], row["statistic"]): row
        for row in frame.iter_rows(named=True)
    }
    assert len(rows) == frame.height
    return rows


def losses(
    evaluation: rv.Evaluation, bucket_by: str = "all", bucket: str = "all"
) -> dict[tuple[str, int | None], Row]:
    """Returns (generator, K) -> row of LOSS, of one bucket; K is None for the whole list."""
    frame = evaluation.loss.filter(
        (pl.col("bucket_by") == bucket_by) & (pl.col("bucket") == bucket)
    )
    rows = {(row["generator"], row["k"]): row for row in frame.iter_rows(named=True)}
    assert len(rows) == frame.height
    return rows


@st.composite
def queries(draw: st.DrawFn, kind: str, *, several: bool) -> dict[Any, Any]:
    """Draws query -> user; without `several` the query is the user."""
    users = draw(st.lists(st.sampled_from(USERS[kind]), min_size=1, max_size=4, unique=True))
    if not several:
        return {user: user for user in users}
    count = draw(st.integers(len(users), len(users) + 3))
    names = [f"q{n}" for n in range(count)]
    return {name: users[n % len(users)] for n, name in enumerate(names)}


@st.composite
def lists(draw: st.DrawFn, kind: str, mode: str, *, clean: bool = False) -> list[Row]:
    """Draws the rows of one list, best first: ties, repeated items, gaps in the ranks."""
    pool = st.sampled_from(ITEMS[kind])
    items = draw(st.lists(pool, max_size=8, unique=clean))
    rows: list[Row] = [{"item_id": item} for item in items]
    if mode != "score":
        steps = draw(st.lists(st.integers(1, 1 if clean else 3), min_size=8, max_size=8))
        for place, row in enumerate(rows):
            row["rank"] = sum(steps[: place + 1])
    if mode != "rank":
        scores = draw(st.lists(st.sampled_from(SCORES), min_size=8, max_size=8))
        for row, score in zip(rows, scores, strict=False):
            row["score"] = score
    if rows and not clean and draw(st.booleans()):
        rows.append(draw(st.sampled_from(rows)))
    return rows


@st.composite
def gains(draw: st.DrawFn, kind: str, *, min_size: int = 0) -> dict[Any, float]:
    pairs = st.dictionaries(
        st.sampled_from(ITEMS[kind]), st.sampled_from(GAINS), min_size=min_size, max_size=7
    )
    return draw(pairs)


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    kind: str | None = None,
    mode: str | None = None,
    several: bool | None = None,
    trained: bool | None = None,
    zero_relevant: Sequence[str] = ("skip", "zero", "one"),
) -> Case:
    """Draws a whole evaluation. At least one query has truth that no policy can remove."""
    kind = kind or draw(st.sampled_from(("int", "text")))
    mode = mode or draw(st.sampled_from(("rank", "score", "both")))
    several = draw(st.booleans()) if several is None else several
    trained = draw(st.booleans()) if trained is None else trained
    owners = draw(queries(kind, several=several))
    key = "query_id" if several else "user_id"

    truth: list[Row] = []
    for number, (query, user) in enumerate(owners.items()):
        for item, gain in draw(gains(kind, min_size=0 if number else 1)).items():
            row = {key: query, "user_id": user, "item_id": item, "gain": gain}
            truth.append(row)
            # The lesser gain of a repeated pair must not count.
            if draw(st.booleans()):
                truth.append(row | {"gain": min(GAINS)})
    if draw(st.booleans()):
        truth = [{name: row[name] for name in row if name != "gain"} for row in truth]

    recs: list[Row] = []
    stranger = "q?" if several else next(u for u in USERS[kind] if u not in owners)
    first = truth[0]
    for generator in draw(st.sampled_from((GENERATORS, GENERATORS[:1]))):
        own: list[Row] = []
        for query in (*owners, stranger):
            rows = draw(lists(kind, mode)) if draw(st.integers(0, 3)) else []
            own += [{key: query} | row for row in rows]
        asked, wanted = {row[key] for row in truth}, {row["item_id"] for row in truth}
        if not any(row[key] in asked and row["item_id"] in wanted for row in own):
            # No id in common at all would be an error.
            last: Row = {"rank": 99, "score": -9.0, "item_id": first["item_id"]}
            unused = {"rank": "score", "score": "rank", "both": ""}[mode]
            own.append({key: first[key]} | {name: last[name] for name in last if name != unused})
        recs += [{"generator": generator} | row for row in own]

    train = None
    policies: dict[str, str] = {}
    if trained:
        train, policies = draw(history(kind, owners, truth))
    users = None
    zero = draw(st.sampled_from(tuple(zero_relevant)))
    if zero != "skip" or draw(st.booleans()):
        users = [{"query_id": q, "user_id": u} if several else u for q, u in owners.items()]
        policies = policies | {"zero_relevant": zero}
    k = draw(st.lists(st.sampled_from(DEPTHS), min_size=1, max_size=3, unique=True))
    metrics = [*PER_QUERY_METRICS, *LIST_METRICS]
    return Case(recs, truth, metrics, k, train, users, policies=policies)


@st.composite
def known_cases(draw: st.DrawFn, **options: Any) -> Case:
    """Draws an evaluation with a table of items, exposures, and users with quota and country."""
    case = draw(cases(**options))
    kind = "int" if isinstance(case.truth[0]["item_id"], int) else "text"
    first, query = case.truth[0], "query_id" in case.truth[0]
    others = [item for item in ITEMS[kind] if item != first["item_id"]]
    listed = draw(st.lists(st.sampled_from(others), unique=True))
    items: list[Row] = [{"item_id": first["item_id"], "available": True, "topic": "a"}]
    for item in listed:
        shop = {"available": draw(st.booleans()), "topic": draw(st.sampled_from(("a", "b", None)))}
        items.append({"item_id": item} | shop)
    owners = {row["query_id" if query else "user_id"]: row["user_id"] for row in case.truth}
    for row in case.users or ():
        named = row if isinstance(row, dict) else {"user_id": row}
        owners[named["query_id" if query else "user_id"]] = named["user_id"]
    pairs = st.tuples(st.sampled_from(sorted(set(owners.values()), key=str)), _item(kind))
    shown = [(first["user_id"], first["item_id"]), *draw(st.lists(pairs, max_size=12))]
    country = {user: draw(st.sampled_from(("NO", "se", None))) for user in owners.values()}
    users = [
        ({"query_id": name} if query else {})
        | {"user_id": user, "quota": draw(st.integers(1, 9)), "country": country[user]}
        for name, user in owners.items()
    ]
    return replace(
        case,
        items=draw(st.permutations(items)),
        exposures=[{"user_id": user, "item_id": item} for user, item in shown],
        users=users,
    )


@st.composite
def history(
    draw: st.DrawFn, kind: str, owners: Mapping[Any, Any], truth: Sequence[Row]
) -> tuple[list[Row], dict[str, str]]:
    """Draws train pairs (some seen, some of strangers) and the policies that need them."""
    pairs = st.tuples(st.sampled_from(sorted(set(owners.values()), key=str)), _item(kind))
    first = truth[0]
    drawn = [pair for pair in draw(st.lists(pairs, max_size=8)) if pair[1] != first["item_id"]]
    # The first pair of the truth stays: warm user, warm item, not seen.
    safe = next(item for item in ITEMS[kind] if item != first["item_id"])
    stranger = USERS[kind][-1] if USERS[kind][-1] != first["user_id"] else USERS[kind][0]
    train = [
        {"user_id": user, "item_id": item}
        for user, item in [*drawn, (first["user_id"], safe)]
        if (user, item) != (first["user_id"], first["item_id"])
    ]
    if stranger not in owners.values():
        train.append({"user_id": stranger, "item_id": first["item_id"]})
        policies = {"cold_items": draw(st.sampled_from(("keep", "drop")))}
    else:
        policies = {}
    policies["repeats"] = draw(st.sampled_from(("exclude", "include")))
    policies["cold_users"] = draw(st.sampled_from(("keep", "drop")))
    return train, policies


def _item(kind: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(ITEMS[kind])


def shuffled(draw: Any, case: Case) -> Case:
    """Returns the case with the rows of every input in another order."""
    return replace(
        case,
        recs=draw(st.permutations(list(case.recs))),
        truth=draw(st.permutations(list(case.truth))),
        train=None if case.train is None else draw(st.permutations(list(case.train))),
        users=None if case.users is None else draw(st.permutations(list(case.users))),
        items=None if case.items is None else draw(st.permutations(list(case.items))),
        exposures=None if case.exposures is None else draw(st.permutations(list(case.exposures))),
    )
