"""Offline evaluation for the recall stage of recommender systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recoeval.analysis.results import Evaluation
    from recoeval.evaluation import evaluate
    from recoeval.workflow.pipeline import run
    from recoeval.workflow.store import Run, open_run

__all__ = ["Evaluation", "Run", "__version__", "evaluate", "open_run", "run"]

_HOMES = {
    "Evaluation": "recoeval.analysis.results",
    "Run": "recoeval.workflow.store",
    "evaluate": "recoeval.evaluation",
    "open_run": "recoeval.workflow.store",
    "run": "recoeval.workflow.pipeline",
}


def __getattr__(name: str) -> Any:
    """Returns a public name on first use, so that `import recoeval` stays cheap."""
    if name == "__version__":
        from importlib.metadata import version

        return version("recoeval")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'recoeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names, loaded or not."""
    return sorted(__all__)
