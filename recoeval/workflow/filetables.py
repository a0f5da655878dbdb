"""Evaluation of files as the command line gives them: options as texts, columns renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from recoeval.analysis.constraints import constrained_measures, read_constraints
from recoeval.analysis.results import Evaluation
from recoeval.analysis.verdict import Verdict
from recoeval.columns import ITEM_ID, QUERY_ID, USER_ID
from recoeval.data.failures import listed
from recoeval.data.formats import open_table
from recoeval.data.frames import normalise_ids, rename
from recoeval.data.trec import sniff
from recoeval.errors import ConfigError, Problem
from recoeval.evaluation import evaluate
from recoeval.workflow.arguments import (
    naming_options,
    parse_columns,
    parse_pairs,
    split_depths,
    split_metrics,
)

__all__ = ["evaluate_tables"]

IDS: Final = (USER_ID, QUERY_ID, ITEM_ID)


def evaluate_tables(
    tables: Mapping[str, str],
    *,
    metrics: str,
    k: str,
    policies: Sequence[str] = (),
    checks: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> tuple[Evaluation, Verdict]:
    """Returns the metrics of lists in files, and the verdict of the checks.

    Args:
        tables: path of recs, of truth, and maybe of train, users, items and exposures.
        metrics: with commas between.
        k: depths with commas between.
        policies: texts name=value.
        checks: constraints such as "recall@10 >= 0.2".
        columns: texts "user_id=uid,item_id=vid": our name, the name in the files.

    Raises:
        RecoevalError: as `evaluate`; the problems name options.
    """
    chosen, renamed = parse_pairs(policies, "--policy"), parse_columns(columns)
    said = {"metrics": f"--metrics {metrics or repr('')}", "k": f"--k {k or repr('')}"}
    said |= _options(tables, chosen, checks, renamed)
    with naming_options(said):
        constraints = read_constraints(checks)
        extra = [each.label for each in constrained_measures(constraints)]
        asked = [*split_metrics(metrics), *extra]
        depths = split_depths(k)
        given: Mapping[str, str | pl.LazyFrame] = tables
        if renamed:
            given = _renamed(tables, renamed)
        found = evaluate(
            given["recs"],
            given["truth"],
            metrics=asked,
            k=depths,
            train=given.get("train"),
            users=given.get("users"),
            items=given.get("items"),
            exposures=given.get("exposures"),
            policies=chosen,
        )
        return found, found.check(constraints)


def _options(
    tables: Mapping[str, str],
    policies: Mapping[str, str],
    checks: Sequence[str],
    columns: Mapping[str, str],
) -> dict[str, str]:
    """Returns for each place of an error the option that it is about, as written."""
    said = {"ground_truth": f"--truth {tables['truth']}"}
    for name, value in policies.items():
        option = f"--policy {name}={value}"
        said |= {f"policies.{name}": option, f"ground_truth.{name}": option}
    said |= {f"constraints.{index}": f"--check {text!r}" for index, text in enumerate(checks)}
    for name, theirs in columns.items():
        said |= {f"{table}.columns.{name}": f"--columns {name}={theirs}" for table in tables}
    return said


def _renamed(
    tables: Mapping[str, str], columns: Mapping[str, str]
) -> dict[str, str | pl.LazyFrame]:
    """Returns the files with those of the columns that they have under our names.

    Raises:
        ConfigError: a column that no file has, or a name that is taken.
    """
    found: dict[str, str | pl.LazyFrame] = {}
    missing = dict(columns)
    present: dict[str, None] = {}
    for what, path in tables.items():
        if sniff(path) is not None:
            found[what] = path
            continue
        ids = {name for key in IDS for name in (key, columns.get(key, key))}
        opened = open_table(path, None, said=what, ids=ids)
        names = opened.frame.collect_schema().names()
        present |= dict.fromkeys(names)
        own = {name: old for name, old in columns.items() if old in names}
        missing = {name: old for name, old in missing.items() if name not in own}
        rows = rename(opened.frame, own, path=f"{what}.columns", said=path)
        known = [name for name in IDS if name in rows.collect_schema()]
        as_text = opened.text and bool(known)
        found[what] = normalise_ids(rows, known, what=what, text=True) if as_text else rows
    if missing:
        text = f"no file has such a column. Columns: {listed(list(present))}"
        pairs = [f"--columns {name}={old}" for name, old in missing.items()]
        raise ConfigError(*(Problem(text, origin=pair) for pair in pairs))
    return found
