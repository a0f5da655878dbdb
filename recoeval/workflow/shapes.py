"""What the JSON files of a run hold, so that a damaged one is refused where it is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from recoeval.analysis.verdict import Check, Failure
from recoeval.documents.yamlvalues import dotted
from recoeval.errors import DataError, Problem

__all__ = ["ManifestFile", "VerdictFile", "require_shape"]

Counts = dict[str, int]
Record = Annotated[dict[str, str | int | float | None], Field(min_length=1)]


class _Shape(BaseModel):
    # Strict as JSON has it: text is no number, a number no text. More keys are not read.
    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)


class _Side(_Shape):
    start: str | None
    end: str | None
    rows: int
    users: int
    items: int


class _Split(_Shape):
    fold: int
    train: _Side
    test: _Side
    gap_rows: int
    later_rows: int
    earlier_rows: int = 0
    users_too_short: int = 0


class _Log(_Shape):
    rows: int
    exact_duplicates: int


class _Finding(_Shape):
    severity: Literal["info", "warn", "severe"]
    code: str
    text: str
    counts: dict[str, int | float] = {}
    generator: str | None = None
    fold: int = 0


class _Stage(_Shape):
    stage: str
    seconds: float
    cpu_seconds: float | None = None
    peak_memory_mb: float | None = None
    rows: int | None = None


class _Definitions(_Shape):
    policies: dict[str, str] = {}


class ManifestFile(_Shape):
    """What is read of manifest.json; what a run cannot do without is asked for elsewhere."""

    recoeval: str = ""
    name: str = ""
    run_id: str = ""
    started: str = ""
    finished: str = ""
    seconds: float = 0.0
    peak_memory_mb: float | None = None
    config_sha256: str = ""
    seed: int = 0
    definitions: _Definitions = _Definitions()
    log: dict[str, _Log] = {}
    roles: dict[str, Counts] = {}
    splits: list[_Split] = []
    truth: Counts = {}
    lists: dict[str, Counts] = {}
    folds: list[dict[str, Any]] = []
    buckets: dict[str, list[str]] = {}
    measures: list[str] = []
    stages: list[_Stage] = []
    baselines: list[str] = []
    notes: list[str] = []
    audit: list[_Finding] = []
    health: dict[str, list[Record]] = {}


class _Outcome(_Shape):
    constraint: str
    severity: Literal["error", "warn"]
    generator: str
    outcome: Literal["pass", "fail", "inconclusive"]


class VerdictFile(_Shape):
    """What constraints.json holds."""

    outcome: Literal["none", "suspicious", "partial", "pass", "fail", "inconclusive"]
    checks: list[Check]
    constraints: list[_Outcome]
    suspicions: list[tuple[str, str]]
    failures: list[Failure] = []


AnyShape = TypeVar("AnyShape", bound=_Shape)


def require_shape(content: str, shape: type[AnyShape], place: str) -> None:
    """Checks that a JSON text has the shape that is read.

    Args:
        content: the text.
        shape: what is read of it.
        place: the file, for errors.

    Raises:
        DataError: what stands where something else is read.
    """
    try:
        TypeAdapter(shape).validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place_in, wrong = first["loc"], first["msg"]
        if first["type"] == "missing" and len(place_in) == 1:
            raise DataError(Problem(f"has no {place_in[0]!r}", place)) from error
        said = f"{dotted(place_in)}: {wrong}"
        raise DataError(Problem(f"is not of this version: {said}", place)) from error
