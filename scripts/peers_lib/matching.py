"""Finds which option of ours equals a metric of a peer, and for whom its mean is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from data import all_cases
from ours import FORMS, ORDERS, POPULATIONS, Computed, differences, evaluate_case, label_of
from ours import templates as all_templates

__all__ = ["NO_ORDER", "Match", "compute", "match_peer", "tie_orders"]

WORST = float("inf")
NO_ORDER = "none"
TRIVIAL = ("coverage",)
"""Metrics that are 1 for full lists, and so equal to much."""

WHERE = {
    "everywhere": ("binary", "graded", "cold", "full", "tiny", "many"),
    "where every listed item has a train row": ("binary", "graded", "full", "many"),
    "where everybody has a full list and a relevant item": ("full",),
}
"""The cases in which a metric may be equal, most of them first; ties are looked at apart."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Match:
    """What of ours equals a metric of a peer.

    Args:
        metric: as the peer writes it, K for the depth.
        ours: template of ours; None where none equals it.
        form: key of FORMS.
        users: largest difference of a user's value; None where the peer has no such values.
        population: key of POPULATIONS for which its mean is ours; None where none is.
        mean: largest difference of the mean.
        where: key of WHERE, in which cases.
    """

    metric: str
    ours: str | None
    form: str = "{}"
    users: float | None = None
    population: str | None = None
    mean: float | None = None
    where: str = "everywhere"

    @property
    def equal(self) -> bool:
        """Whether it is equal everywhere."""
        return self.ours is not None and self.where == "everywhere"


def match_peer(values: Iterable[Row], tolerance: float) -> list[Match]:
    """Returns one match a metric, in the order in which the peer computed them.

    Args:
        values: rows of the peer: case, metric, k, users, mean.
        tolerance: largest difference that counts as equal.
    """
    by_metric: dict[str, list[Row]] = defaultdict(list)
    for row in values:
        by_metric[row["metric"]].append(row)
    return [_first_match(metric, rows, tolerance) for metric, rows in by_metric.items()]


def _first_match(metric: str, rows: list[Row], tolerance: float) -> Match:
    for where, cases in WHERE.items():
        match = _match(metric, [row for row in rows if row["case"] in cases], tolerance)
        if match.ours is not None and (len(cases) > 1 or match.ours not in TRIVIAL):
            return replace(match, where=where)
    return Match(metric, None)


def _match(metric: str, rows: list[Row], tolerance: float) -> Match:
    """Returns the first template that is equal for users and mean, or else for users alone."""
    at_k = rows[0]["k"] is not None
    each = any(row["users"] is not None for row in rows)
    partly = None
    for template in all_templates():
        fixed = template.endswith(("@all", "@1000"))
        if (at_k and fixed) or (not at_k and "@K" in template):
            continue
        for form in FORMS:
            # Some of ours have no value for a user.
            known = label_of(template, rows[0]["k"]) in compute(rows[0]["case"], "relevant").users
            users = _users_difference(rows, template, form) if each and known else None
            if users is not None and users > tolerance:
                continue
            for population in POPULATIONS:
                mean = _mean_difference(rows, template, form, population)
                if mean <= tolerance:
                    return Match(metric, template, form, users, population, mean)
            if users is not None and partly is None:
                partly = Match(metric, template, form, users)
    return partly or Match(metric, None)


@cache
def compute(case: str, population: str, order: str | None = None) -> Computed:
    """Returns our numbers for a case by its name: see `evaluate_case`."""
    return evaluate_case(all_cases()[case], all_templates(), population, order)


def _users_difference(rows: list[Row], template: str, form: str) -> float:
    found: list[float] = []
    for row in rows:
        ours = compute(row["case"], "relevant").users[label_of(template, row["k"])]
        found += differences(row["users"] or {}, ours, form).values()
    return max(found, default=WORST)


def _mean_difference(rows: list[Row], template: str, form: str, population: str) -> float:
    worst = 0.0
    for row in rows:
        if row["mean"] is not None:
            ours = compute(row["case"], population).means.get(label_of(template, row["k"]))
            if ours is None:
                return WORST
            worst = max(worst, abs(row["mean"] - FORMS[form](ours)))
    return worst


def tie_orders(
    values: Iterable[Row], matches: Iterable[Match], tolerance: float
) -> dict[str, list[str]]:
    """Returns the metrics of the peer by the order of equal scores that gives their values.

    The order that explains most metrics comes first. All are under NO_ORDER if some metric's
    values come from no order. Metrics whose value is the same for every order are left out.
    """
    rows = [row for row in values if row["case"] == "ties" and row["users"]]
    possible: dict[str, set[str]] = {}
    for match in matches:
        if match.equal and match.users is not None:
            mine = [row for row in rows if row["metric"] == match.metric]
            orders = {
                order
                for order in ORDERS
                if all(_tied_difference(row, match, order) <= tolerance for row in mine)
            }
            if len(orders) < len(ORDERS):
                possible[match.metric] = orders
    if not all(possible.values()):
        return {NO_ORDER: list(possible)}
    found: dict[str, list[str]] = {}
    while possible:
        best = max(ORDERS, key=lambda order: sum(order in known for known in possible.values()))
        found[best] = [name for name, known in possible.items() if best in known]
        possible = {name: known for name, known in possible.items() if best not in known}
    return found


def _tied_difference(row: Row, match: Match, order: str) -> float:
    ours = compute("ties", "relevant", order).users[label_of(match.ours or "", row["k"])]
    return max(differences(row["users"], ours, match.form).values(), default=0.0)
