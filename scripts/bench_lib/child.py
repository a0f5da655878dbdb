"""What the programs run_*.py share: the job, the clock, the answer. Standard library only."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

__all__ = ["BUCKETS", "Answer", "bucket_of", "label_of", "read_job"]

BUCKETS = ("[-inf,5)", "[5,10)", "[10,20)", "[20,inf)")
"""Names of the buckets by |R|, as recoeval writes them."""
EDGES = (5, 10, 20)


def read_job() -> dict[str, Any]:
    """Returns the job that the first argument names: paths, metrics, depths."""
    return dict(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


def bucket_of(relevant: int) -> str:
    """Returns the bucket of a user with so many relevant items.

    Example:
        >>> bucket_of(4), bucket_of(5), bucket_of(20)
        ('[-inf,5)', '[5,10)', '[20,inf)')
    """
    return BUCKETS[sum(relevant >= edge for edge in EDGES)]


def label_of(metric: str, bucket: str | None = None) -> str:
    """Returns the key of a mean: `recall@10`, or `recall@10 [5,10)` for a bucket."""
    return metric if bucket is None else f"{metric} {bucket}"


class Answer:
    """What a program found, and what it cost.

    Args:
        packages: whose versions the answer names.
    """

    def __init__(self, packages: Iterable[str]) -> None:
        self.values: dict[str, float] = {}
        self.stages: list[dict[str, Any]] = []
        self.extra: dict[str, Any] = {}
        self.packages = tuple(packages)

    @contextmanager
    def stage(self, name: str = "work") -> Iterator[None]:
        """Measures wall and CPU time of what is done inside; imports stay outside."""
        wall, cpu = perf_counter(), _cpu()
        yield
        seconds = {"wall": perf_counter() - wall, "cpu": _cpu() - cpu}
        self.stages.append({"stage": name, **seconds})

    def add_means(
        self,
        overall: Mapping[str, float],
        buckets: Mapping[str, Mapping[str, float]],
    ) -> None:
        """Adds means over all users, and those by bucket."""
        self.values |= {label_of(metric): float(mean) for metric, mean in overall.items()}
        for bucket, means in buckets.items():
            self.values |= {label_of(metric, bucket): float(x) for metric, x in means.items()}

    def add_columns(self, columns: Mapping[str, Any], relevant: Sequence[int]) -> None:
        """Adds means of per-user values: one array a metric, in the order of `relevant`.

        Args:
            columns: numpy arrays by metric.
            relevant: numpy array: number of relevant items of each user.
        """
        places = sum((relevant >= edge) * 1 for edge in EDGES)
        masks = {bucket: places == place for place, bucket in enumerate(BUCKETS)}
        overall = {metric: values.mean() for metric, values in columns.items()}
        buckets = {
            bucket: {metric: values[mask].mean() for metric, values in columns.items()}
            for bucket, mask in masks.items()
            if mask.any()
        }
        self.add_means(overall, buckets)

    def write(self) -> None:
        """Writes the answer to the file of the second argument."""
        text = {
            "values": self.values,
            "stages": self.stages,
            "versions": {package: version(package) for package in self.packages},
            "extra": self.extra,
        }
        Path(sys.argv[2]).write_text(json.dumps(text), encoding="utf-8")


def _cpu() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(each.ru_utime + each.ru_stime for each in used)
