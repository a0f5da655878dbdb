"""Canonical ids: one item that has several ids is one item, in the log and in the lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl
from pydantic import Field

from recoeval.columns import ITEM_ID
from recoeval.component import Component
from recoeval.data.attributes import open_attributes
from recoeval.data.common_ids import require_overlap, unlike_types
from recoeval.data.failures import reading
from recoeval.data.formats import Format
from recoeval.data.frames import IdType
from recoeval.errors import DataError, Problem, some

__all__ = ["ALIAS", "CanonicalItems", "apply_aliases", "count_aliases", "read_aliases"]

ALIAS: Final = "alias"
"""Column of the other ids of an item."""

# Beside the log's columns, which may have any name.
_CANONICAL: Final = "<canonical>"
_SHOWN: Final = 5


class CanonicalItems(Component):
    """Other ids of items, replaced in the log, the lists and the items table before all else."""

    path: str
    """A table of alias, item_id: each alias becomes that item."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Our name -> the name in the data: {alias: old_id, item_id: new_id}."""
    format: Format | None = None
    """How text files are written."""
    item_id_type: IdType = "auto"
    """auto: integers stay integers, text stays text; int or text force it."""


def read_aliases(
    canonical: CanonicalItems, *, path: str = "canonical_items", frame: object | None = None
) -> pl.DataFrame:
    """Returns the other ids of items: alias, item_id, sorted; repeated rows once.

    Args:
        canonical: where they are.
        path: of the table in the configuration, for errors.
        frame: a frame that is read instead of the file.

    Raises:
        ConfigError: an unknown name in `columns`.
        DataError: unreadable or empty; a null; an alias of itself or of two items; aliases
            of aliases, in a chain or a cycle.
    """
    kind = canonical.item_id_type
    rows = open_attributes(
        canonical.path if frame is None else frame,
        ids={ALIAS: kind, ITEM_ID: kind},
        what=path,
        columns=canonical.columns,
        form=canonical.format,
        said=f"{path}.path" if frame is None else path,
    )
    with reading(path):
        found = rows.select(ALIAS, ITEM_ID).unique().sort(ALIAS, ITEM_ID).collect()
    if found.is_empty():
        raise DataError(Problem("no rows", path))
    nulls = [
        Problem(f"{count} of the rows {'is' if count == 1 else 'are'} null", f"{path}.{name}")
        for name in (ALIAS, ITEM_ID)
        if (count := found[name].null_count())
    ]
    if nulls:
        raise DataError(*nulls)
    items, others = found.lazy().select(ITEM_ID), found.lazy().select(pl.col(ALIAS).alias(ITEM_ID))
    if problem := unlike_types(items, others, ITEM_ID, path, "alias"):
        raise DataError(problem)
    if tangle := _tangle(found):
        raise DataError(Problem(tangle, f"{path}.{ALIAS}"))
    return found


def _tangle(aliases: pl.DataFrame) -> str:
    """Returns why aliases do not lead to one item each, or ""."""
    alias, item = pl.col(ALIAS), pl.col(ITEM_ID)
    own = aliases.filter(alias == item)
    if own.height:
        return f"{_are(own.height)} of themselves, e.g. {some(own[ALIAS])}; leave these rows out"
    shared = aliases.filter(alias.is_duplicated())
    if shared.height:
        examples = _arrows(shared.rows())
        return f"{_are(shared[ALIAS].n_unique())} of several items, e.g. {examples}; name one"
    onwards = dict(aliases.filter(item.is_in(aliases[ALIAS].implode())).iter_rows())
    if not onwards:
        return ""
    if cycle := _cycle(onwards):
        return f"aliases go in a circle, e.g. {_arrows([cycle])}; leave out the row of the item"
    ends = dict(aliases.iter_rows())
    chains = [(first, second, ends[second]) for first, second in onwards.items()]
    advice = "name the last item of each chain"
    return f"{_are(len(chains))} of what is an alias itself, e.g. {_arrows(chains)}; {advice}"


def _are(count: int) -> str:
    return "1 id is an alias" if count == 1 else f"{count} ids are aliases"


def _arrows(chains: Sequence[Sequence[object]]) -> str:
    """Returns chains of ids as text: 'a' -> 'b', ..."""
    texts = [" -> ".join(some([each]) for each in chain) for chain in chains[:_SHOWN]]
    return ", ".join([*texts, *(["..."] if len(chains) > _SHOWN else [])])


def _cycle(onwards: Mapping[object, object]) -> list[object]:
    """Returns the ids of a cycle, the first one again at its end; empty if there is none."""
    finished: set[object] = set()
    for start in onwards:
        walk: dict[object, None] = {}
        at = start
        while at in onwards and at not in finished and at not in walk:
            walk[at] = None
            at = onwards[at]
        if at in walk:
            ids = list(walk)
            return [*ids[ids.index(at) :], at]
        finished.update(walk)
    return []


def apply_aliases(rows: pl.LazyFrame, aliases: pl.DataFrame | None, *, what: str) -> pl.LazyFrame:
    """Returns the rows with each alias replaced by its item, in the same order.

    Args:
        rows: a table with item_id.
        aliases: of `read_aliases`; None changes nothing.
        what: name of the table, for errors.

    Raises:
        DataError: the ids of the two tables have different types.

    Example:
        >>> aliases = pl.DataFrame({"alias": [8], "item_id": [7]})
        >>> rows = pl.LazyFrame({"item_id": [8, 9]})
        >>> apply_aliases(rows, aliases, what="log").collect()["item_id"].to_list()
        [7, 9]
    """
    if aliases is None:
        return rows
    known = aliases.lazy().select(pl.col(ALIAS).alias(ITEM_ID), pl.col(ITEM_ID).alias(_CANONICAL))
    if problem := unlike_types(rows, known, ITEM_ID, what, "the aliases"):
        raise DataError(problem)
    names = rows.collect_schema().names()
    joined = rows.join(known, on=ITEM_ID, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce(_CANONICAL, ITEM_ID).alias(ITEM_ID)).select(names)


def count_aliases(rows: pl.LazyFrame, aliases: pl.DataFrame, *, path: str) -> dict[str, int]:
    """Returns how many aliases there are, and how many of them and rows they rename.

    Args:
        rows: the log as it was read, with item_id, before `apply_aliases`.
        aliases: of `read_aliases`.
        path: of the aliases in the configuration, for errors.

    Raises:
        DataError: the log has neither an alias nor an item of the table.
    """
    renamed = rows.select(ITEM_ID).join(
        aliases.lazy().select(pl.col(ALIAS).alias(ITEM_ID)), on=ITEM_ID, how="semi"
    )
    counts = renamed.select(pl.len(), pl.col(ITEM_ID).n_unique()).collect(engine="streaming")
    total, used = counts.row(0)
    if not total:
        require_overlap(aliases.lazy(), rows, ITEM_ID, path, "the log")
    return {"aliases": aliases.height, "aliases_in_log": used, "rows_renamed": total}
