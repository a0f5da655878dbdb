"""Metrics: what is computed for a query, from sums over its hits.

Importing this package defines all metrics; a new one is a class in one of its files.
"""

from recoeval.metrics import accuracy, lists, ranking
from recoeval.metrics.base import METRICS, Measure, Metric, Term, measures, parse_metric

__all__ = [
    "METRICS",
    "Measure",
    "Metric",
    "Term",
    "accuracy",
    "lists",
    "measures",
    "parse_metric",
    "ranking",
]
