"""What metrics there are, their options and depths, from docs/definitions.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from recoeval.errors import ConfigError, did_you_mean

__all__ = ["Metric", "parse"]

_GAINS: Final = ("linear", "exponential", "binary")
# A tuple: these words. None: a number.
_ACCURACY: Final[dict[str, dict[str, tuple[str, ...] | None]]] = {
    "hits": {},
    "precision": {"denominator": ("k", "returned")},
    "recall": {"gain": ("binary", "linear"), "min_score": None},
    "capped_recall": {},
    "f1": {},
    "hit_rate": {},
    "mrr": {},
    "map": {"denominator": ("capped", "relevant")},
    "auprc": {},
    "ndcg": {"gain": _GAINS, "ideal": ("relevant", "k")},
    "r_precision": {},
    "recall_ceiling": {},
}
_DELIVERED: Final = (
    "coverage",
    "duplicate_share",
    "judged",
    "list_fill",
    "seen_share",
    "tie_share",
    "unknown_item_share",
)
_CATALOGUE: Final = ("entropy", "gini", "item_coverage", "mean_popularity", "novelty")
_WITHOUT_K: Final = ("coverage", "duplicate_share", "r_precision", "recall_ceiling")
_TAKE_ALL: Final = ("hits", "recall", "capped_recall", "hit_rate", "mrr", "map", "auprc", "ndcg")


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of the result.

    Args:
        label: "ndcg(gain=exponential)@10".
        name: "ndcg".
        kind: "accuracy": a value a query; "delivered" or "catalogue": one value of many lists.
        options: {"gain": "exponential"}.
        k: where a list ends: a depth, items; "all"; "quota": the query's own depth; None for
            metrics without K.
    """

    label: str
    name: str
    kind: str
    options: Mapping[str, str]
    k: int | str | None

    @property
    def rel(self) -> float:
        """The gain from which an item counts as relevant; 0 where every gain does."""
        return float(self.options.get("rel", 0))


def parse(text: str, depths: Sequence[int]) -> list[Metric]:
    """Returns the metrics that a text such as "recall" or "ndcg(gain=binary)@10" asks for.

    Args:
        text: name, options in brackets, "@K", "@all" or "@quota".
        depths: depths of a metric that names none, items.

    Raises:
        ConfigError: unknown name, option, value or depth.
    """
    known = (*_ACCURACY, *_DELIVERED, *_CATALOGUE)
    match = re.fullmatch(r"(\w+)(?:\(([^()]*)\))?(?:@(\w+))?", text)
    if match is None or match[1] not in known:
        raise ConfigError(f"unknown metric {text!r}.{did_you_mean(text, known)}")
    name, inside, depth = match.groups()
    kind = "accuracy" if name in _ACCURACY else "delivered" if name in _DELIVERED else "catalogue"
    stem, options = text.partition("@")[0], _options(text, name, inside or "")
    if name in _WITHOUT_K:
        if depth is not None:
            raise ConfigError(f"metric {text!r}: it takes no depth")
        return [Metric(stem, name, kind, options, None)]
    if depth == "quota" or (depth == "all" and name in _TAKE_ALL and options.get("ideal") != "k"):
        return [Metric(text, name, kind, options, depth)]
    wanted = depths if depth is None else [int(depth) if depth.isdecimal() else 0]
    if min(wanted, default=0) < 1:
        raise ConfigError(f"metric {text!r}: needs a depth >= 1")
    return [Metric(f"{stem}@{k}", name, kind, options, k) for k in wanted]


def _options(text: str, name: str, inside: str) -> dict[str, str]:
    taken = _ACCURACY[name] | {"rel": None} if name in _ACCURACY else {}
    options: dict[str, str] = {}
    for part in inside.split(","):
        if not part.strip():
            continue
        key, _, choice = (piece.strip() for piece in part.partition("="))
        words = taken.get(key, ())
        fits = _is_number(choice) if words is None else choice in words
        if not fits or (key == "rel" and float(choice) <= 0):
            raise ConfigError(f"metric {text!r}: unknown option or value {key}={choice}")
        options[key] = choice
    return options


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
