"""What recoeval computes for a case: every metric, option, depth and way to count users."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal, get_args, get_origin

import polars as pl

import recoeval as rv
from recoeval.errors import ConfigError
from recoeval.metrics import METRICS, measures

__all__ = [
    "FORMS",
    "ORDERS",
    "POPULATIONS",
    "Computed",
    "differences",
    "evaluate_case",
    "label_of",
    "templates",
]

Case = dict[str, Any]

LEFT_OUT = ("recall_ceiling",)
"""Metrics that no peer can have: they tell of a generator, not of its lists."""

FORMS: dict[str, Callable[[float], float]] = {
    "{}": lambda value: value,
    "1 - {}": lambda value: 1.0 - value,
}
"""Ways to write a peer's number with ours."""

POPULATIONS = {
    "relevant": "users with relevant items; without a list 0",
    "listed": "users with relevant items and a list",
    "everyone": "all users, `zero_relevant: zero`",
    "everyone_one": "all users, `zero_relevant: one`",
    "lists": "users with a list, `zero_relevant: zero`",
    "lists_one": "users with a list, `zero_relevant: one`",
    "null_is_0": "users with relevant items, with 0 where ours is null; ours leaves those out",
}
"""Whom a mean may be taken over, and what is written to get it."""

ORDERS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "item id as a number, lowest first": lambda rows: sorted(rows, key=lambda row: row[0]),
    "item id as a number, highest first": lambda rows: sorted(rows, key=lambda row: -row[0]),
    "item id as text, lowest first": lambda rows: sorted(rows, key=lambda row: str(row[0])),
    "item id as text, highest first": lambda rows: sorted(
        rows, key=lambda row: str(row[0]), reverse=True
    ),
    "as given": list,
    "as given, last first": lambda rows: rows[::-1],
}
"""How items of equal score may be ordered."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Our numbers for one case and one population.

    Args:
        means: value by label.
        users: value by label and user; None where a user has none.
    """

    means: dict[str, float | None]
    users: dict[str, dict[str, float | None]]


@cache
def templates() -> tuple[str, ...]:
    """Returns every metric with every choice of its options, fewest options first.

    The letter K stands for the depth; @all is there where the grammar allows it, and @1000 is
    deeper than every list.
    """
    found = []
    for name, metric in METRICS.items():
        choices = [_choices(option, field) for option, field in metric.model_fields.items()]
        for picked in product(*choices):
            options = ", ".join(filter(None, picked))
            text = f"{name}({options})" if options else name
            # K relevant items can be assumed only where all gains are 1.
            if name in LEFT_OUT or ("ideal=k" in options and "gain=binary" not in options):
                continue
            depths = ("@K", "@all", "@1000") if metric.takes_k else ("",)
            found += [text + depth for depth in depths if _parses(text + depth)]
    return tuple(sorted(found, key=lambda text: text.count("=")))


def _choices(option: str, field: Any) -> list[str | None]:
    values: Iterable[Any] = ()
    if get_origin(field.annotation) is Literal:
        values = (value for value in get_args(field.annotation) if value != field.default)
    elif option == "rel":
        values = (2,)
    return [None, *(f"{option}={value}" for value in values)]


def _parses(text: str) -> bool:
    try:
        label_of(text, 5)
    except ConfigError:
        return False
    return True


def label_of(template: str, k: int | None) -> str:
    """Returns the key of the result: the template at K, in its normal form."""
    return measures([template.replace("@K", f"@{k}")], [])[0].label


def evaluate_case(
    case: Case, texts: Iterable[str], population: str, order: str | None = None
) -> Computed:
    """Returns our numbers for a case.

    Args:
        case: lists, truth, judged, train, users and depths.
        texts: templates.
        population: key of POPULATIONS.
        order: key of ORDERS; None: by score, as a frame without ranks is read.
    """
    truth, users = dict(case["truth"]), [str(user) for user in case["users"]]
    if population.startswith("list"):
        truth = {user: rows for user, rows in truth.items() if user in case["lists"]}
        users = [user for user in users if user in case["lists"]]
    shown = {user: [*case["judged"][user], *(i for i, _ in truth[user])] for user in truth}
    zero = {"everyone": "zero", "everyone_one": "one", "lists": "zero", "lists_one": "one"}
    evaluation = rv.evaluate(
        _lists(case, order),
        _table(truth, "gain"),
        metrics=[text.replace("@K", f"@{k}") for text in texts for k in case["depths"]],
        k=[],
        train=_pairs(case["train"]),
        users=pl.DataFrame({"user_id": [int(user) for user in users]}),
        exposures=_pairs(shown),
        policies={"repeats": "include", "zero_relevant": zero.get(population, "skip")},
    )
    labels = [measure.label for measure in evaluation.measures]
    per_user = evaluation.per_query  # one query a user
    ids = [str(user) for user in per_user["user_id"]]
    each = {
        label: dict(zip(ids, per_user[label].to_list(), strict=True))
        for label in labels
        if label in per_user.columns
    }
    if population == "null_is_0":
        return Computed({label: _mean_with_zeros(rows) for label, rows in each.items()}, each)
    return Computed({label: evaluation.value(label) for label in labels}, each)


def differences(
    theirs: dict[str, float | None], ours: dict[str, float | None], form: str
) -> dict[str, float]:
    """Returns how far the values of each user are apart, for users that both sides have.

    Where ours is null (no relevant item of that gain, no list) nothing is compared; `null_is_0`
    among the populations tells how the peer counts it.
    """
    return {
        user: abs(value - FORMS[form](own))
        for user, value in theirs.items()
        if value is not None and (own := ours.get(user)) is not None
    }


def _mean_with_zeros(values: dict[str, float | None]) -> float:
    return sum(value or 0.0 for value in values.values()) / len(values)


def _lists(case: Case, order: str | None) -> pl.DataFrame:
    if order is None:
        return _table(case["lists"], "score")
    lists = {}
    for user, rows in case["lists"].items():
        ranked = sorted(ORDERS[order](rows), key=lambda row: -row[1])
        lists[user] = [[item, rank] for rank, (item, _) in enumerate(ranked, start=1)]
    return _table(lists, "rank")


def _pairs(items_by_user: dict[str, list[int]]) -> pl.DataFrame:
    return _table({user: [[item] for item in items] for user, items in items_by_user.items()})


def _table(rows_by_user: dict[str, Any], *columns: str) -> pl.DataFrame:
    rows = [(int(user), *row) for user, rows in rows_by_user.items() for row in rows]
    return pl.DataFrame(rows, schema=["user_id", "item_id", *columns], orient="row")
