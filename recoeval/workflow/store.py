"""The run directory. A run exists if and only if its manifest does: it is written last."""

from __future__ import annotations

import glob
import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from recoeval.analysis.constraints import Constraint
from recoeval.analysis.results import Evaluation
from recoeval.analysis.verdict import Check, Failure, Verdict
from recoeval.columns import FOLD, GENERATOR, ITEM_ID, QUERY_ID, RANK, SCORE
from recoeval.data.failures import reading
from recoeval.errors import ConfigError, DataError, Problem
from recoeval.metrics import Measure, parse_metric
from recoeval.workflow.disk import folder_of, write_file, write_table
from recoeval.workflow.shapes import ManifestFile, VerdictFile, require_shape

__all__ = ["Run", "RunDirectory", "open_run"]

MANIFEST = "manifest.json"
CONFIG = "config.yaml"
CONSTRAINTS = "constraints.json"
SUMMARY = "summary.parquet"
PER_QUERY = "per_query"
HITS = "hits"
LOST = "lost"
LOSS = "loss.parquet"
RECOMMENDATIONS = "recommendations"
BEYOND = "cache/beyond"
"""Rows of stored lists below where they end, which only merges and the test for ties read."""
SHELVES = ".lists"
OF_CHANNELS = ("channels", "overlap", "what_if", "funnel")
"""Tables of a run that has several channels, merges or a funnel."""
COMPLETE = "complete"
PARTIAL = "partial"
"""Status of a run in which a generator failed, and others did not."""
COUNTS = ("truth", "lists", "folds")
"""What the manifest holds of the counts of an evaluation; `folds` where there are several."""


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A finished run.

    Args:
        path: its directory.
        evaluation: the result tables.
        verdict: the outcome of the constraints.
        manifest: versions, fingerprints, counts, times: what manifest.json holds.
    """

    path: Path
    evaluation: Evaluation
    verdict: Verdict
    manifest: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, verdict: {self.verdict.outcome})"

    @property
    def status(self) -> str:
        """Whether it is complete, or partial: `verdict.failures` says what failed."""
        return str(self.manifest.get("status", COMPLETE))

    @property
    def summary(self) -> pl.DataFrame:
        """SUMMARY, one row a number."""
        return self.evaluation.summary

    @property
    def per_query(self) -> pl.DataFrame:
        """PER_QUERY, one row a generator and query."""
        return self.evaluation.per_query

    @property
    def per_user(self) -> pl.DataFrame:
        """PER_USER, one row a generator and user."""
        return self.evaluation.per_user

    @property
    def hits(self) -> pl.DataFrame:
        """HITS, one row a relevant item found."""
        return self.evaluation.hits

    @property
    def lost(self) -> pl.DataFrame:
        """LOST, one row a relevant item that is in no list, and why."""
        return self.evaluation.lost

    @property
    def loss(self) -> pl.DataFrame:
        """LOSS, relevant items by cause, one row a generator, bucket and K."""
        return self.evaluation.loss

    @property
    def channels(self) -> pl.DataFrame:
        """CHANNELS, what each channel adds to the recall of all of them, by bucket and K."""
        return self.evaluation.channels

    @property
    def overlap(self) -> pl.DataFrame:
        """OVERLAP, how much of two channels' lists is the same."""
        return self.evaluation.overlap

    @property
    def what_if(self) -> pl.DataFrame:
        """WHAT_IF, merges without a channel, and with more slots for it."""
        return self.evaluation.what_if

    @property
    def funnel(self) -> pl.DataFrame:
        """FUNNEL, what each stage keeps and loses."""
        return self.evaluation.funnel

    @property
    def folds(self) -> pl.DataFrame:
        """The mean of each number over the folds and its spread; empty with one fold."""
        return self.evaluation.folds

    def value(
        self,
        metric: str,
        generator: str | None = None,
        bucket: str | None = None,
        *,
        fold: int | None = None,
    ) -> float | None:
        """Returns one number; see `Evaluation.value`."""
        return self.evaluation.value(metric, generator, bucket, fold=fold)

    def check(
        self, constraints: Sequence[str | Mapping[str, Any] | Constraint] | Mapping[str, Any]
    ) -> Verdict:
        """Returns the verdict of further constraints; see `Evaluation.check`."""
        return self.evaluation.check(constraints)


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, default=str, allow_nan=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run directory while it is written."""

    path: Path

    @classmethod
    def create(cls, root: str | Path, name: str) -> RunDirectory:
        """Returns a new, empty directory <root>/<name>/<run id>, unique.

        Raises:
            DataError: the place cannot be written.
        """
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path = Path(root).expanduser() / name / f"{moment}-{secrets.token_hex(3)}"
        try:
            path.mkdir(parents=True)
        except OSError as error:
            text = f"cannot be made: {error.strerror}; set output.path"
            raise DataError(Problem(text, str(path))) from error
        return cls(path)

    @property
    def run_id(self) -> str:
        """The directory's own name."""
        return self.path.name

    def discard_unfinished(self) -> None:
        """Removes the directory, which nobody else writes to, unless its run is finished."""
        if not (self.path / MANIFEST).is_file():
            shutil.rmtree(self.path, ignore_errors=True)

    def write_lists(
        self, generator: str, lists: pl.DataFrame, *, fold: int = 0, place: str = RECOMMENDATIONS
    ) -> Path:
        """Writes RECOMMENDATIONS of one block of a generator, and returns the file.

        Args:
            generator: its name; any.
            lists: query_id, item_id, rank, score.
            fold: number of the fold.
            place: folder of the run.
        """
        keys = (pl.lit(fold, pl.Int64).alias(FOLD), pl.lit(generator).alias(GENERATOR))
        table = lists.select(*keys, QUERY_ID, ITEM_ID, RANK, SCORE).sort(QUERY_ID, RANK)
        folder = self.path / place / folder_of(generator)
        number = len(list(folder.glob("part-*.parquet")))
        file = folder / f"part-{number:05d}.parquet"
        write_table(file, table)
        return file

    def drop_lists(self, generator: str) -> None:
        """Removes the lists of a generator that failed in the middle of them."""
        for place in (RECOMMENDATIONS, BEYOND):
            shutil.rmtree(self.path / place / folder_of(generator), ignore_errors=True)

    def drop_shelves(self) -> None:
        """Removes the lists that were there for merges alone."""
        shutil.rmtree(self.path / SHELVES, ignore_errors=True)

    def write(self, evaluation: Evaluation, verdict: Verdict, *, config: str) -> None:
        """Writes everything but the manifest: without it there is no run yet.

        Args:
            evaluation: the result tables.
            verdict: the outcome of the constraints.
            config: the resolved configuration as YAML, secrets not written.
        """
        write_file(self.path / CONFIG, lambda file: file.write(config.encode()))
        write_table(self.path / f"{PER_QUERY}/part-00000.parquet", evaluation.per_query)
        write_table(self.path / f"{HITS}/part-00000.parquet", evaluation.hits)
        write_table(self.path / f"{LOST}/part-00000.parquet", evaluation.lost)
        write_table(self.path / LOSS, evaluation.loss)
        write_table(self.path / SUMMARY, evaluation.summary)
        for name in OF_CHANNELS:
            table = getattr(evaluation, name)
            if table.height:
                write_table(self.path / f"{name}.parquet", table)
        write_file(self.path / CONSTRAINTS, lambda file: file.write(_json(verdict.as_dict())))

    def finish(
        self, evaluation: Evaluation, verdict: Verdict, *, manifest: Mapping[str, Any]
    ) -> Run:
        """Writes the manifest, and returns the run.

        Args:
            evaluation: the result tables, which are written.
            verdict: the outcome of the constraints, which is written.
            manifest: what manifest.json holds.
        """
        write_file(self.path / MANIFEST, lambda file: file.write(_json(manifest)))
        return Run(self.path, evaluation, verdict, json.loads(_json(manifest)))


def open_run(path: str | Path) -> Run:
    """Returns a finished run.

    Args:
        path: the run's directory.

    Raises:
        DataError: no such directory, a run that did not finish, or a damaged one.
    """
    folder = Path(path).expanduser()
    manifest = _read_json(folder, MANIFEST)
    if manifest.get("status", COMPLETE) not in (COMPLETE, PARTIAL):
        text = f"status {manifest['status']!r}: the run did not finish"
        raise DataError(Problem(text, str(folder / MANIFEST)))
    if "split" in manifest:
        # Versions before 0.2 had one split, and no loss.
        text = f"was written by recoeval {manifest.get('recoeval', '?')}, which kept less of a run"
        raise DataError(Problem(f"{text}: run it again", str(folder / MANIFEST)))
    require_shape(json.dumps(manifest), ManifestFile, str(folder / MANIFEST))
    verdict = _verdict(_read_json(folder, CONSTRAINTS), folder / CONSTRAINTS)
    try:
        measured = tuple(Measure(*parse_metric(label)) for label in manifest["measures"])
        buckets = {name: tuple(labels) for name, labels in manifest["buckets"].items()}
        evaluation = Evaluation(
            _read_table(folder, SUMMARY),
            _read_table(folder, f"{PER_QUERY}/*.parquet"),
            _read_table(folder, f"{HITS}/*.parquet"),
            {name: manifest[name] for name in COUNTS if name in manifest},
            manifest["definitions"],
            measured,
            buckets,
            tuple(manifest["baselines"]),
            _read_table(folder, f"{LOST}/*.parquet").lazy(),
            _read_table(folder, LOSS),
            **_of_channels(folder),
        )
    except KeyError as error:
        raise DataError(Problem(f"has no {error}", str(folder / MANIFEST))) from error
    except (AttributeError, TypeError, ConfigError) as error:
        text = f"is not of this version: {error}"
        raise DataError(Problem(text, str(folder / MANIFEST))) from error
    return Run(folder, evaluation, verdict, manifest)


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    file = folder / name
    if not folder.is_dir():
        raise DataError(Problem("no such run directory", str(folder)))
    if not file.is_file():
        text = f"no {name}: this is no run, or one that did not finish and decides nothing"
        raise DataError(Problem(text, str(folder)))
    try:
        content = json.loads(file.read_bytes())
    except ValueError as error:
        raise DataError(Problem(f"is no JSON: {error}", str(file))) from error
    if not isinstance(content, dict):
        raise DataError(Problem("is no JSON object", str(file)))
    return content


def _of_channels(folder: Path) -> dict[str, pl.DataFrame]:
    """Returns the tables of channels that the run has: one without rows is no file."""
    return {
        name: _read_table(folder, f"{name}.parquet")
        for name in OF_CHANNELS
        if (folder / f"{name}.parquet").exists()
    }


def _verdict(content: Mapping[str, Any], file: Path) -> Verdict:
    require_shape(json.dumps(content), VerdictFile, str(file))
    try:
        checks = tuple(Check(**check) for check in content["checks"])
        outcomes = tuple(
            (row["constraint"], row["severity"], row["generator"], row["outcome"])
            for row in content["constraints"]
        )
        suspicions = tuple((name, reason) for name, reason in content["suspicions"])
        failures = tuple(
            Failure(row["generator"], row["exit_code"], tuple(row["messages"]))
            for row in content.get("failures", ())
        )
        return Verdict(content["outcome"], checks, outcomes, suspicions, failures)
    except TypeError as error:
        raise DataError(Problem(f"is not of this version: {error}", str(file))) from error


def _read_table(folder: Path, name: str) -> pl.DataFrame:
    if not any(folder.glob(name)):
        raise DataError(Problem("is missing: the run is damaged", str(folder / name)))
    with reading(str(folder / name)):
        place = f"{glob.escape(str(folder))}/{name}"
        return pl.scan_parquet(place, hive_partitioning=False).collect()
