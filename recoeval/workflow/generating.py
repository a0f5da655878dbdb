"""All generators of a run, each after those that it reads; one that fails stops none but these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recoeval.analysis.evaluator import Evaluator
from recoeval.analysis.findings import doubts
from recoeval.analysis.verdict import Failure, Verdict, check_constraints
from recoeval.errors import Problem, RecoevalError
from recoeval.generators.ordering import order_of
from recoeval.workflow.auditing import Outcome
from recoeval.workflow.config import Config
from recoeval.workflow.depths import sources_of
from recoeval.workflow.listcache import ListCache
from recoeval.workflow.loaded import Loaded
from recoeval.workflow.preparation import Prepared
from recoeval.workflow.record import Record
from recoeval.workflow.scoring import Channel, Work
from recoeval.workflow.store import RunDirectory

__all__ = ["Generating", "judge"]


@dataclass(frozen=True, slots=True)
class Generating:
    """Runs the generators of all folds, and remembers which of them failed.

    Args:
        loaded: the configuration.
        directory: of the run.
        cache: stored lists; None: nobody asks for them.
        failed: by name the error of each generator that failed.
        reused: by name the run whose stored lists were used again.
    """

    loaded: Loaded
    directory: RunDirectory
    cache: ListCache | None
    failed: dict[str, RecoevalError] = field(default_factory=dict)
    reused: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The configuration."""
        return self.loaded.config

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The generators that failed, in the order of the configuration."""
        return tuple(
            Failure(name, error.exit_code, tuple(map(str, self.loaded.located(error).problems)))
            for name in self.config.generators
            if (error := self.failed.get(name)) is not None
        )

    def work(self, prepared: Prepared, evaluator: Evaluator, record: Record) -> Work:
        """Returns the work of a fold."""
        return Work(self.config, prepared, evaluator, record, self.directory, self.cache)

    def channels(self, work: Work) -> dict[str, Channel]:
        """Returns what each generator of a fold gives that did not fail, in this fold or before.

        Raises:
            RecoevalError: none is left; the problems of all of them.
        """
        found: dict[str, Channel] = {}
        for name in order_of(self.config.generators):
            if name in self.failed:
                continue
            try:
                self._require_sources(name)
                channel = found[name] = work.evaluate(name)
            except RecoevalError as error:
                self.failed[name] = error
                self.directory.drop_lists(name)
            else:
                if channel.reused is not None:
                    self.reused[name] = channel.reused
        if not found:
            errors = [self.failed[name] for name in self.config.generators]
            worst = max(errors, key=lambda error: error.exit_code)
            raise type(worst)(*(problem for error in errors for problem in error.problems))
        return {name: found[name] for name in self.config.generators if name in found}

    def _require_sources(self, name: str) -> None:
        """Refuses a generator that reads one which failed."""
        broken = [
            other for other in sources_of(self.config.generators[name]) if other in self.failed
        ]
        if broken:
            error = max((self.failed[other] for other in broken), key=lambda each: each.exit_code)
            text = f"needs {', '.join(broken)}, which failed"
            raise type(error)(Problem(text, f"generators.{name}"))


def judge(config: Config, outcome: Outcome, failures: Sequence[Failure]) -> Verdict:
    """Returns the verdict of a run; constraints on generators that failed are not judged.

    Args:
        config: the configuration.
        outcome: what the folds gave.
        failures: the generators that failed.
    """
    failed, evaluation = {each.generator for each in failures}, outcome.evaluation
    bound = []
    for each in config.bounds:
        left = [name for name in each.generators or () if name not in failed]
        if each.generators is None or left == list(each.generators):
            bound.append(each)
        elif left:
            bound.append(each.model_copy(update={"generators": tuple(left)}))
    open_to_all = [name for name in evaluation.generators if name not in config.baselines]
    if not open_to_all:
        bound = [each for each in bound if each.generators]
    verdict = check_constraints(
        bound, evaluation.summary, baselines=config.baselines, labels=evaluation.buckets
    )
    return verdict.doubted(doubts(outcome.findings)).without(failures)
