"""What the tests of the data edge share: files, logs, and what an error says."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recoeval.data.sources import Source, check_interactions, scan_interactions
from recoeval.errors import RecoevalError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAIR = {"user_id": [1, 2], "item_id": [10, 20]}


def naive(*parts: int) -> datetime:
    """Returns a time without a zone."""
    return datetime(*parts, tzinfo=UTC).replace(tzinfo=None)


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)
    return path


def read(path: Any, **options: Any) -> pl.DataFrame:
    """Returns the checked log of a file."""
    log = scan_interactions(Source(path=str(path), **options))
    check_interactions(log, path="interactions", now=NOW)
    return log.collect()


def of_frame(rows: dict[str, Any] | pl.DataFrame, **options: Any) -> pl.DataFrame:
    """Returns the checked log of a frame."""
    log = scan_interactions(Source(**options), frame=pl.DataFrame(rows))
    check_interactions(log, path="interactions", now=NOW)
    return log.collect()


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[str, int]:
    """Returns message and exit code of the error that a call raises."""
    with pytest.raises(RecoevalError) as error:
        call(*arguments, **options)
    return str(error.value), error.value.exit_code


def write(frame: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.name.split(".", 1)[1]:
        case "parquet" | "pq":
            frame.write_parquet(path)
        case "arrow" | "ipc" | "feather":
            frame.write_ipc(path)
        case "csv" | "txt" | "dat" | "CSV":
            frame.write_csv(path)
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "ndjson" | "jsonl":
            frame.write_ndjson(path)
        case "csv.gz":
            put(path, frame.write_csv())
        case "tsv.gz":
            put(path, frame.write_csv(separator="\t"))
        case "jsonl.gz":
            put(path, frame.write_ndjson())
