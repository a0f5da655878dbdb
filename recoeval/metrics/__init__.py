"""Metrics: what is computed for a query, from sums over its hits, or for all lists together.

Importing this package defines all metrics; a new one is a class in one of its files.
"""

from recoeval.metrics import accuracy, catalogue, lists, ranking
from recoeval.metrics.base import (
    METRICS,
    Accuracy,
    Cut,
    Measure,
    Metric,
    Term,
    measures,
    parse_metric,
)

__all__ = [
    "METRICS",
    "Accuracy",
    "Cut",
    "Measure",
    "Metric",
    "Term",
    "accuracy",
    "catalogue",
    "lists",
    "measures",
    "parse_metric",
    "ranking",
]
