"""A piece of the lists of a generator, reduced to what scores read of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from recoeval.columns import BUCKET, BUCKET_BY, ITEM_ID, QUERY_ID, SCORE
from recoeval.data.listcheck import ListFacts, add_facts
from recoeval.data.rowkeys import PairIndex
from recoeval.engine.finding import Asked, Found, find, merge
from recoeval.engine.listed import count_listed, cuts_of
from recoeval.engine.sums import sum_lists, sum_rows
from recoeval.metrics.base import DELIVERED, Measure, Term

__all__ = ["EXPOSED", "Known", "Piece", "join_pieces", "piece_of"]

EXPOSED: Final = "exposed"


@dataclass(frozen=True, slots=True)
class Known:
    """What lists are held against; ids of queries are numbers, those of items are as they come.

    Args:
        measures: what is asked for.
        terms: the sums that they read, by table.
        queries: query_id (number), quota if a measure is cut there.
        pairs: by query: the truth; what users know ("seen") and were shown ("exposed"), if that is
            known.
        drop_seen: whether seen rows leave the lists.
        catalogue: item_id, one row an item, or None.
        groups: query_id (number) and one String column a bucket split, or None.
    """

    measures: tuple[Measure, ...]
    terms: Mapping[str, tuple[Term, ...]]
    queries: pl.DataFrame
    pairs: Mapping[str, PairIndex]
    drop_seen: bool
    catalogue: pl.DataFrame | None
    groups: pl.DataFrame | None


@dataclass(frozen=True, slots=True)
class Piece:
    """What scores read of whole lists.

    Args:
        found: hits and rows that leave.
        sums: query_id (number), delivered and the sums over delivered rows; one row a list.
        marked: sums over rows outside the catalogue, and over rows that were shown.
        listed: result of `count_listed`; empty when no catalogue metric is asked for.
        facts: what was found when the rows were checked.
        lists: all lists, also those that nobody asked for.
        strangers: lists that nobody asked for.
        unscored: rows of asked lists without a score.
        rows: rows of asked lists.
    """

    found: Found
    sums: pl.DataFrame
    marked: tuple[pl.DataFrame, ...]
    listed: pl.DataFrame
    facts: ListFacts
    lists: int
    strangers: int
    unscored: int
    rows: int


def piece_of(asked: Asked, known: Known) -> Piece:
    """Returns what scores read of a block of lists.

    Args:
        asked: its rows, matched with the pairs of `known`; of those below its depth the first is
            read by the test for ties, and nothing else.
        known: what they are held against.
    """
    block, numbers = asked.block, asked.numbers
    found = find(asked, drop_seen=known.drop_seen)
    own = numbers >= 0
    sums = pl.DataFrame(
        {QUERY_ID: pl.Series(numbers[own], dtype=pl.UInt32), DELIVERED: asked.lengths[own]}
    )
    queries = known.queries.lazy()
    if known.terms["delivered"]:
        whole = replace(asked, depth=None)
        sums = sum_lists(whole.rows().lazy(), known.measures, queries, depth=asked.depth).collect()
    unscored = 0
    if any(measure.metric.needs_scores for measure in known.measures):
        scores = asked.rows()[SCORE]
        unscored = int((scores.is_null() | scores.is_nan().fill_null(False)).sum())
    return Piece(
        found,
        sums,
        _marked(asked, known),
        _listed(asked, found, known),
        block.facts(asked.shared),
        len(block.queries),
        int((~own).sum()),
        unscored,
        int(asked.lengths.sum()),
    )


def _marked(asked: Asked, known: Known) -> tuple[pl.DataFrame, ...]:
    """Returns the sums over rows outside the catalogue, and over rows that were shown."""
    found, queries = [], known.queries.lazy()
    unknown, exposed = known.terms["unknown"], known.terms["exposed"]
    if unknown and known.catalogue is not None:
        rows = asked.rows().lazy().join(known.catalogue.lazy(), on=ITEM_ID, how="anti")
        found.append(sum_rows(rows, unknown, queries).collect())
    if exposed and EXPOSED in asked.matched:
        shown = np.sort(asked.pairs(EXPOSED)[1])
        found.append(sum_rows(asked.rows(shown).lazy(), exposed, queries).collect())
    return tuple(found)


def _listed(asked: Asked, found: Found, known: Known) -> pl.DataFrame:
    """Returns how often items are listed, if a measure reads it."""
    cuts = cuts_of(known.measures)
    if not cuts:
        schema: dict[str, Any] = {
            BUCKET_BY: pl.String,
            BUCKET: pl.String,
            ITEM_ID: asked.block.items.dtype,
        }
        return pl.DataFrame(schema=schema)
    rows, removed = asked.rows().lazy(), found.removed.lazy()
    return count_listed(rows, removed, cuts, known.queries.lazy(), known.groups)


def join_pieces(pieces: Sequence[Piece]) -> Piece:
    """Returns several pieces as one."""
    first, *others = pieces
    if not others:
        return first
    listed = pl.concat([each.listed for each in pieces])
    keys = (BUCKET_BY, BUCKET, ITEM_ID)
    if listed.height:
        listed = listed.group_by(keys, maintain_order=True).agg(pl.exclude(keys).sum())
    return Piece(
        merge([each.found for each in pieces]),
        pl.concat([each.sums for each in pieces]),
        tuple(map(pl.concat, zip(*(each.marked for each in pieces), strict=True))),
        listed,
        add_facts([each.facts for each in pieces]),
        sum(each.lists for each in pieces),
        sum(each.strangers for each in pieces),
        sum(each.unscored for each in pieces),
        sum(each.rows for each in pieces),
    )
