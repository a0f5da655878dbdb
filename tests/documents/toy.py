"""A small model with the shapes of the real one, which does not change with every generator."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BeforeValidator, Field, Strict, model_validator

from recoeval.component import Component, Count, Duration, Instant, Number
from recoeval.documents.loading import Document, load_document, validate
from recoeval.errors import ConfigError


def listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


class Source(Component):
    path: str
    """File, glob or folder."""
    columns: dict[str, str] = Field(default={})
    duplicates: Literal["keep", "drop"] = "keep"
    header: bool = True


class TimeSplit(Component):
    type: Literal["time"] = "time"
    test_start: Instant | None = None
    test: Duration | None = None

    @model_validator(mode="after")
    def starts(self) -> "TimeSplit":
        if self.test_start is None and self.test is None:
            raise ValueError("say where the test window starts")
        return self


class FileSplit(Component):
    type: Literal["files"] = "files"
    train: Source
    test: Source


class Popularity(Component):
    type: Literal["popularity"] = "popularity"
    window: Duration | None = None


class ALS(Component):
    type: Literal["als"] = "als"
    factors: Count = 64
    regularization: Annotated[Number, Field(ge=0)] = 0.01


class Merge(Component):
    """Has a field named like the type of another generator."""

    type: Literal["merge"] = "merge"
    als: Count | Literal["all"] = 10
    channels: Annotated[
        dict[Annotated[str, Field(pattern="^[a-z_]+$")], Count], Field(min_length=1)
    ]


class Level(Component):
    metric: str
    min: Number
    severity: Literal["error", "warn"] = "error"


class Drop(Component):
    metric: str
    baseline: str
    max_drop: Annotated[Number, Strict()]


class Privacy(Component):
    salt: Annotated[str, Field(min_length=4, max_length=12)]
    ids: Annotated[str, Field(pattern="^(plain|hashed)$")] = "hashed"

    @model_validator(mode="after")
    def differs(self) -> "Privacy":
        if self.salt == "pepper":
            raise ValueError(f"{self.salt!r} is no salt, says {self.salt}")
        return self


class Toy(Component):
    interactions: Source
    split: Annotated[TimeSplit | FileSplit, Field(discriminator="type")]
    generators: Annotated[
        dict[str, Annotated[Popularity | ALS | Merge, Field(discriminator="type")]],
        Field(min_length=1),
    ]
    query: Literal["user"] | Source = "user"
    metrics: Annotated[tuple[str, ...], Field(max_length=3)] = ("recall",)
    k: Annotated[tuple[Count, ...], BeforeValidator(listed)] = (10,)
    constraints: tuple[str | Level | Drop, ...] = ()
    privacy: Privacy | None = None
    rates: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()
    pair: tuple[int, str] | None = None


GOOD = """\
interactions: logs.parquet
split: {test: 3d}
generators: {als: }
"""


def load(text: str, /, **options: Any) -> Document:
    Path("nightly.yaml").write_text(text, "utf-8")
    return load_document("nightly.yaml", **{"environ": {}, **options})


def refused(text: str, /, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        validate(load(text, **options), Toy)
    return str(caught.value)
