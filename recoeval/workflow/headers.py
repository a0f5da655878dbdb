"""The headers of the inputs: their columns, and whether the rules fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import polars as pl

from recoeval.columns import CREATED_AT, ITEM_ID, QUERY_ID, QUOTA, TIMESTAMP, USER_ID
from recoeval.data.aliases import ALIAS, CanonicalItems
from recoeval.data.attributes import open_attributes
from recoeval.data.common_ids import LIST_REMEDIES
from recoeval.data.failures import listed
from recoeval.data.frames import IdType
from recoeval.data.items import Items, scan_items
from recoeval.data.rules import compile_rule
from recoeval.data.sources import scan_interactions
from recoeval.data.users import Users
from recoeval.errors import ConfigError, DataError, Problem, RecoevalError, did_you_mean
from recoeval.generators.precomputed import Precomputed
from recoeval.workflow.config import Config, wanted_measures
from recoeval.workflow.logs import require_times, sources_of
from recoeval.workflow.suitability import misfits_of_generators
from recoeval.workflow.systems import in_each_fold

__all__ = ["find_misfits", "read_headers"]

Schemas = Mapping[str, pl.Schema]

IDS: Final = (USER_ID, ITEM_ID)
BESIDE: Final = (
    ("users", USER_ID, USER_ID),
    ("users.exclude", USER_ID, USER_ID),
    ("items", ITEM_ID, ITEM_ID),
    ("canonical_items", ALIAS, ITEM_ID),
    ("canonical_items", ITEM_ID, ITEM_ID),
)
"""The ids of the tables beside the log, and what they are there."""


def read_headers(config: Config) -> tuple[dict[str, pl.Schema], list[Problem]]:
    """Returns the columns of each input by name, and what is wrong with the headers.

    Raises:
        DataError: an input is missing, unreadable, or has no such columns.
    """
    schemas: dict[str, pl.Schema] = {}
    problems: list[Problem] = []
    for name, read in _inputs(config):
        try:
            schemas[name] = read().collect_schema()
        except ConfigError as error:
            problems += error.problems
    for name, generator in config.generators.items():
        what, place = f"lists[{name}]", f"generators.{name}"
        for lists in reversed(in_each_fold(config, generator)):
            if not isinstance(lists, Precomputed):
                continue
            try:
                schemas[what] = lists.read(what).collect_schema()
                lists.built(what)
            except ConfigError as error:
                problems += [replace(each, path=f"{place}.{each.path}") for each in error.problems]
    if "interactions" in schemas:
        require_times(schemas["interactions"])
    return schemas, problems


def _inputs(config: Config) -> Iterator[tuple[str, Callable[[], pl.LazyFrame]]]:
    """Yields each input of the configuration but lists, and how it is opened."""
    for path, source in sources_of(config).items():
        yield path, partial(scan_interactions, source, path=path)
    canonical, users, items = config.canonical_items, config.users, config.items
    if canonical is not None:
        ids = dict.fromkeys((ALIAS, ITEM_ID), canonical.item_id_type)
        opened = _table(canonical, canonical.path, ids)
        yield (
            "canonical_items",
            partial(opened, what="canonical_items", said="canonical_items.path"),
        )
    if users is not None:
        ids = {USER_ID: users.user_id_type}
        if users.table is not None:
            opened = _table(users, users.table, ids)
            yield "users", partial(opened, what="users", said="users.table")
        if users.exclude is not None:
            form = users.format if users.table is None else None
            opened = partial(open_attributes, users.exclude, ids=ids, form=form)
            yield "users.exclude", partial(opened, what="users.exclude")
    if items is not None:
        yield "items", partial(scan_items, items)


def _table(
    section: CanonicalItems | Items | Users, path: str, ids: Mapping[str, IdType]
) -> partial[pl.LazyFrame]:
    return partial(open_attributes, path, ids=ids, columns=section.columns, form=section.format)


def find_misfits(config: Config, schemas: Schemas) -> list[Problem]:
    """Returns what is wrong with the rules, buckets and quotas over the columns of the inputs.

    Args:
        config: the configuration.
        schemas: columns by input; rules over an input that is not there are left out.

    Raises:
        DataError: nothing of this is wrong, but ids of an input are of another type than the
            log's.
    """
    found = [
        *_rule_problems(config, schemas),
        *_bucket_problems(config, schemas),
        *misfits_of_generators(config, schemas),
        *_quota_problems(config, schemas),
        *_day_problems(config, schemas),
    ]
    unlike = [] if found else list(_unlike_ids(config, schemas))
    if unlike:
        raise DataError(*unlike)
    return found


def _rule_problems(config: Config, schemas: Schemas) -> Iterator[Problem]:
    sources = sources_of(config)
    for path, text, side in _rules(config):
        if isinstance(text, str) and side in schemas:
            numeric = path.endswith(("gain", "weight"))
            kind: Literal["boolean", "numeric"] = "numeric" if numeric else "boolean"
            source = sources[side].path or side
            try:
                compile_rule(text, schemas[side], path=path, kind=kind, source=source)
            except RecoevalError as error:
                yield from error.problems


def _rules(config: Config) -> Iterator[tuple[str, str | float | None, str]]:
    """Yields place and text of each rule over the log, and the side that it is about."""
    both = ("interactions", "interactions")
    train, test = ("split.train", "split.test") if config.split.type == "files" else both
    for kind in config.ground_truth.kinds("ground_truth").values():
        yield kind.path, kind.where, test
        yield kind.gain_path, kind.gain, test
        # Without a rule of its own, training goes by the ground truth.
        if config.training.where is None and train != test:
            yield kind.path, kind.where, train
    yield "training.where", config.training.where, train
    yield "training.weight", config.training.weight, train
    yield "seen.where", config.seen.where, train
    if config.exposures is not None:
        yield "exposures.where", config.exposures.where, test


def _bucket_problems(config: Config, schemas: Schemas) -> Iterator[Problem]:
    for name, bucket in config.buckets.items():
        if bucket.by == "item_age" and "items" in schemas and not _has_births(config.items):
            text = "by: item_age needs the times when items were created: created_at"
            yield Problem(text, f"buckets.{name}")
        table = "users" if bucket.side == "user" else "items"
        if bucket.column is None or table not in schemas:
            continue
        columns = schemas[table].names()
        if bucket.column not in columns:
            hint = did_you_mean(bucket.column, columns)
            text = f"unknown column {bucket.column!r} in the {table} table.{hint} "
            yield Problem(f"{text}Columns: {listed(columns)}", f"buckets.{name}.column")


def _has_births(items: Items | None) -> bool:
    """Returns whether the items table itself has the column created_at."""
    if items is None or items.created_at is not None:
        return items is not None
    opened = _table(items, items.table, {ITEM_ID: items.item_id_type})
    return CREATED_AT in opened(what="items", said="items.table").collect_schema()


def _day_problems(config: Config, schemas: Schemas) -> Iterator[Problem]:
    limit = config.users is not None and config.users.max_rows_per_day is not None
    sides = [schemas[path] for path in sources_of(config) if path in schemas]
    if limit and not all(TIMESTAMP in side for side in sides):
        yield Problem("needs times, and the log has none: leave it out", "users.max_rows_per_day")


def _unlike_ids(config: Config, schemas: Schemas) -> Iterator[Problem]:
    """Yields the inputs whose ids are of another type than those of the log."""
    first, *others = sources_of(config)
    asked = [(path, name, name, first, f": {name}_type: text") for path in others for name in IDS]
    both = ", so that both are integers or both are text"
    asked += [(table, ours, theirs, "the log", both) for table, ours, theirs in BESIDE]
    asked += [
        (table, ours, theirs, "the log", LIST_REMEDIES[ours])
        for table in schemas
        if table.startswith("lists[")
        for ours, theirs in ((QUERY_ID, USER_ID), (ITEM_ID, ITEM_ID))
    ]
    for table, ours, theirs, than, remedy in asked:
        if first in schemas and table in schemas:
            own, log = schemas[table][ours], schemas[first][theirs]
            if own != log:
                text = f"{own}, but {than} has {log}. Cast one side{remedy}"
                yield Problem(text, f"{table}.{ours}")


def _quota_problems(config: Config, schemas: Schemas) -> Iterator[Problem]:
    asked = [each.label for each in wanted_measures(config) if each.place.at == QUOTA]
    if asked and "users" in schemas and QUOTA not in schemas["users"]:
        columns = listed(schemas["users"].names())
        text = f"{asked[0]} needs a column {QUOTA} of the users table. Columns: {columns}"
        yield Problem(text, "metrics")
