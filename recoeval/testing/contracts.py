"""Tests that authors of metrics and generators inherit; they need pytest.

A class that is subclassed in a test module brings its tests along. They use the public way
through `recoeval.evaluate` and `Generator.fit`, on a small log of their own.
"""

from recoeval.testing.generator_contract import GeneratorContract, ListsContract
from recoeval.testing.metric_contract import MetricContract

__all__ = ["GeneratorContract", "ListsContract", "MetricContract"]
