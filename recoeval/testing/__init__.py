"""A brute-force oracle: every number again in plain Python, to hold another engine against.

It follows definitions.md sentence by sentence, one query at a time, over lists and dicts. It
is slow and shares no code with the evaluation. Use it to test an engine, a metric or a file
format of your own.
"""

from recoeval.testing.brute_force import OracleResult, oracle
from recoeval.testing.statistics import bucket_labels, student_t

__all__ = ["OracleResult", "bucket_labels", "oracle", "student_t"]
