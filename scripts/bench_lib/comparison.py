"""The comparison: every contender on every case, interleaved; values checked, one table written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scripts.bench_lib.agreement import agreement_text, differing
from scripts.bench_lib.contenders import CACHE, ROOT, Case, Contender
from scripts.bench_lib.goals import goals_table
from scripts.bench_lib.page import facts_of
from scripts.bench_lib.processes import FailedError, Usage, measure, warm
from scripts.bench_lib.table import medians, table_of

__all__ = ["USERS", "Comparison", "cases_of", "compare", "ensure_data"]

USERS = {"S": 10_000, "M": 100_000, "L": 1_000_000, "huge": 5_000_000}
"""Users of each size; 100 recommendations each."""

Key = tuple[Case, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was measured.

    Args:
        contenders: who took part.
        used: the rounds by data and contender.
        failed: why, by data and contender.
        wrong: lines on values that differ.
        rounds: how many were asked for.
    """

    contenders: tuple[Contender, ...]
    rounds: int
    used: dict[Key, list[Usage]] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Returns the table, what it was measured with, and the goals that it can tell of."""
        found = medians(self.used)
        versions = {
            name: version
            for rounds in self.used.values()
            for name, version in rounds[0].answer["versions"].items()
        }
        table = table_of(found, self.contenders, self.failed)
        took_part = {name for _, name in self.used}
        titles = {each.name: each.title for each in self.contenders if each.name in took_part}
        agree = "" if self.problems() else agreement_text(titles)
        parts = [table, facts_of(versions, self.rounds), agree, goals_table(found)]
        return "\n".join(part for part in parts if part)

    def problems(self) -> list[str]:
        """Returns what makes the exit code 1: failures and values that differ."""
        failures = [
            f"{case.title}: {name} failed: {why}" for (case, name), why in self.failed.items()
        ]
        return [*failures, *self.wrong]


def cases_of(sizes: Iterable[str]) -> list[Case]:
    """Returns the data of these sizes, in the order in which they are measured."""
    kinds = [("int", "by user"), ("int", "interleaved"), ("text", "by user")]
    return [Case(size, ids, rows) for size in sizes for ids, rows in kinds]


def ensure_data(size: str) -> None:
    """Makes the data of a size, in a process of its own, unless they are there."""
    command = [sys.executable, "-m", "scripts.bench_lib.data", CACHE / "data" / size]
    huge = ["--huge"] if size == "huge" else []
    subprocess.run([*command, str(USERS[size]), *huge], cwd=ROOT, check=True)


def compare(
    contenders: Sequence[Contender], cases: Sequence[Case], rounds: int, *, large: bool = False
) -> Comparison:
    """Returns the measurements: of each size all rounds, in each round everyone in turn.

    Args:
        contenders: who may take part.
        cases: the data.
        rounds: how many, >= 1.
        large: whether those take part that need the whole machine.
    """
    result = Comparison(tuple(contenders), rounds)
    for size in dict.fromkeys(case.size for case in cases):
        pairs = [
            (case, contender)
            for case in cases
            for contender in contenders
            if case.size == size and contender.takes(case, large=large)
        ]
        pythons = {contender.name: contender.python() for _, contender in pairs}
        for case in dict.fromkeys(case for case, _ in pairs):
            warm(case.job()["lists"], case.job()["truth"])
        for number in range(1, rounds + 1):
            for case, contender in pairs:
                key = (case, contender.name)
                if key in result.failed:
                    continue
                try:
                    job = case.job(train=contender.train)
                    used = measure(pythons[contender.name], contender.program, job)
                except FailedError as error:
                    result.failed[key] = str(error)
                    result.used.pop(key, None)
                    _tell(f"{case.title}, {contender.title}: failed")
                    continue
                result.used.setdefault(key, []).append(used)
                _tell(_line(case, contender, number, used))
        result.wrong.extend(_check(size, pairs, result.used))
    return result


def _line(case: Case, contender: Contender, number: int, used: Usage) -> str:
    return (
        f"{case.title:20} {contender.title:26} round {number}: {used.wall:8.2f} s,"
        f" {used.cpu:8.2f} s of CPU, {used.memory / 1e9:6.2f} GB"
    )


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _check(
    size: str, pairs: Sequence[tuple[Case, Contender]], used: Mapping[Key, Sequence[Usage]]
) -> list[str]:
    """Returns one line a value that differs, on the data of one size."""
    names = {f"{case.title}, {contender.title}": (case, contender) for case, contender in pairs}
    found = {
        name: [each.answer["values"] for each in used[case, contender.name]]
        for name, (case, contender) in names.items()
        if (case, contender.name) in used
    }
    tolerances = {name: contender.tolerance for name, (_, contender) in names.items()}
    ours = [name for name, (_, who) in names.items() if name in found and who.name == "ours"]
    if not ours:
        _tell(f"{size}: recoeval did not take part: nothing to hold the values against")
        return []
    return differing(found, {**found[ours[0]][0], **_auprc(pairs, found)}, tolerances)


def _auprc(
    pairs: Sequence[tuple[Case, Contender]], found: Mapping[str, Sequence[Mapping[str, float]]]
) -> dict[str, float]:
    """Returns our auprc, if anybody computed that instead of map; it is not measured."""
    theirs = {label for rounds in found.values() for label in rounds[0] if "auprc" in label}
    if not theirs:
        return {}
    case, ours = next(pair for pair in pairs if pair[1].name == "ours")
    used = measure(ours.python(), ours.program, {**case.job(), "metrics": ["auprc"]})
    return dict(used.answer["values"])
