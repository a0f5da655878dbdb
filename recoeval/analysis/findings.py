"""What the audit and the self-check have to say: one finding, one plain sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

__all__ = ["Finding", "doubts", "in_order"]

Severity = Literal["info", "warn", "severe"]

_ORDER: Final = {"severe": 0, "warn": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the data, the lists or the engine that a reader of the numbers must know.

    Args:
        severity: info: good to know; warn: the numbers may mean something else than they
            seem to; severe: they cannot be trusted, and the verdict is `suspicious`.
        code: what kind it is: "train_after_cutoff".
        text: one sentence.
        counts: what was counted, by name.
        generator: whose lists it is about; None for the data.
        fold: number of the fold.
    """

    severity: Severity
    code: str
    text: str
    counts: Mapping[str, int | float] = field(default_factory=dict)
    generator: str | None = None
    fold: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Returns the finding as plain values."""
        return {**asdict(self), "counts": dict(self.counts)}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Finding:
        """Returns the finding of `as_dict`.

        Example:
            >>> found = Finding("info", "ties", "2 rows stand at the cutoff", {"rows": 2})
            >>> Finding.of(found.as_dict()) == found
            True
        """
        return cls(**values)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings, severe ones first, else in the order in which they came."""
    return tuple(sorted(findings, key=lambda each: _ORDER[each.severity]))


def doubts(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Returns what makes a verdict suspicious: (generator or "data", sentence), once each.

    Example:
        >>> doubts([Finding("severe", "x", "wrong", fold=1), Finding("info", "y", "fine")])
        [('data', 'wrong')]
    """
    grave = [each for each in findings if each.severity == "severe"]
    return list(dict.fromkeys((each.generator or "data", each.text) for each in grave))
