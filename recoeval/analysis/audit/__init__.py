"""The audit of a run: `audit_log` once, `audit_data` and `audit_lists` for each fold."""

from __future__ import annotations

from collections.abc import Mapping

from recoeval.analysis.audit.lists import (
    find_build_times,
    find_coverage,
    find_foreign_ids,
    find_impossible_hits,
    find_unlike_judged,
)
from recoeval.analysis.audit.log import find_conflicts, find_duplicates, find_naive_times
from recoeval.analysis.audit.roles import (
    find_empty_kinds,
    find_unavailable_hits,
    find_unavailable_truth,
)
from recoeval.analysis.audit.split import (
    find_late_train_rows,
    find_new_items,
    find_repeated_pairs,
    find_shared_rows,
    find_short_windows,
    find_ties,
    find_unlike_rules,
)
from recoeval.analysis.audit.view import AuditedLists, AuditedSource, AuditView
from recoeval.analysis.findings import Finding
from recoeval.analysis.results import Evaluation, by_generator

__all__ = [
    "AuditView",
    "AuditedLists",
    "AuditedSource",
    "audit_data",
    "audit_lists",
    "audit_log",
]


def audit_log(sources: Mapping[str, AuditedSource]) -> tuple[Finding, ...]:
    """Returns what is to be known of the log as it was read; the same for all folds.

    Args:
        sources: by path in the configuration: "interactions", or "split.train" and "split.test".
    """
    return tuple(
        finding
        for path, source in sources.items()
        for check in (find_naive_times, find_duplicates, find_conflicts)
        for finding in check(source, path)
    )


def audit_data(view: AuditView) -> tuple[Finding, ...]:
    """Returns what is to be known of split, rules and truth of a fold.

    Args:
        view: the fold.
    """
    checks = (
        find_late_train_rows,
        find_shared_rows,
        find_repeated_pairs,
        find_new_items,
        find_ties,
        find_short_windows,
        find_unlike_rules,
        find_unavailable_truth,
        find_empty_kinds,
    )
    return tuple(finding for check in checks for finding in check(view))


def audit_lists(
    view: AuditView, evaluation: Evaluation, lists: Mapping[str, AuditedLists]
) -> tuple[Finding, ...]:
    """Returns what is to be known of the lists of a fold.

    Args:
        view: the fold.
        evaluation: its result tables, of this fold alone.
        lists: what is known of the lists of each generator, baselines too.
    """
    found: list[Finding] = []
    scored = dict(by_generator(evaluation.per_query))
    for name, each in lists.items():
        found += find_impossible_hits(view, name, each, evaluation.hits)
        found += find_build_times(view, name, each)
        found += find_foreign_ids(view, name, each)
        if name in scored:
            found += find_coverage(view, name, scored[name])
    found += find_unavailable_hits(view, evaluation.hits)
    return (*found, *find_unlike_judged(view, evaluation.summary))
