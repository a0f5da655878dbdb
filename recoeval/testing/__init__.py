"""A brute-force oracle: every number again in plain Python, to hold another engine against.

It follows definitions.md sentence by sentence, one query at a time, over lists and dicts. It
is slow and shares no code with the evaluation. Use it to test an engine, a metric or a file
format of your own.
"""

from recoeval.testing.brute_force import oracle
from recoeval.testing.outcome import OracleResult
from recoeval.testing.statistics import (
    bucket_labels,
    over_folds,
    popularity_labels,
    quantile_cuts,
    student_t,
)

__all__ = [
    "OracleResult",
    "bucket_labels",
    "oracle",
    "over_folds",
    "popularity_labels",
    "quantile_cuts",
    "student_t",
]
