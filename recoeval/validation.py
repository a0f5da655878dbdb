"""Mappings from Python as frozen components, with errors in our words."""
from __future__ import annotations
from collections.abc import Sequence
from typing import Any, TypeVar
from pydantic import BaseModel, ValidationError
from recoeval.errors import ConfigError, Problem
M = TypeVar("M", bound=BaseModel)
def validate_one(model: type[M], value: Any, *, path: str) -> M:
    if isinstance(value, model):
        return value
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise ConfigError(*(Problem(e["msg"], path) for e in error.errors())) from None
def validate_all(model: type[M], values: Sequence[Any], *, path: str) -> list[M]:
    return [validate_one(model, v, path=f"{path}.{i}") for i, v in enumerate(values)]
