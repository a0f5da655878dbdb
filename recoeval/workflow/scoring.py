"""The generators of a run: fitted, asked for lists block by block, scored, dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial

import polars as pl

from recoeval.analysis.audit.view import AuditedLists
from recoeval.analysis.evaluator import Evaluator
from recoeval.analysis.results import Evaluation
from recoeval.columns import ITEM_ID, QUERY_ID, QUOTA, RANK, RELEVANT
from recoeval.data.common_ids import LIST_REMEDIES, require_overlap, unlike_types
from recoeval.data.failures import gist, reading
from recoeval.data.listcheck import checking
from recoeval.data.ordering import starts_of
from recoeval.data.pieces import work_on
from recoeval.data.queries import blocks_of
from recoeval.engine.local import Keep
from recoeval.engine.piece import Piece, join_pieces
from recoeval.engine.scored import Scored
from recoeval.errors import ConfigError, DataError, EngineError, Problem, RecoevalError
from recoeval.generators.base import Fitted, Generator
from recoeval.generators.ordering import order_of, serves
from recoeval.generators.precomputed import Files, Precomputed
from recoeval.metrics.base import Measure
from recoeval.workflow.config import Config, list_depth
from recoeval.workflow.definitions import definitions_of
from recoeval.workflow.depths import (
    Depth,
    asked_by_others,
    asked_depth,
    depths_of,
    read_by_others,
    sources_of,
)
from recoeval.workflow.listcache import CachedLists, ListCache, StoredLists
from recoeval.workflow.listing import list_block
from recoeval.workflow.neighbours import Neighbours
from recoeval.workflow.plugins import origin_of
from recoeval.workflow.preparation import Prepared
from recoeval.workflow.record import Record
from recoeval.workflow.shelf import Shelf
from recoeval.workflow.store import BEYOND, SHELVES, RunDirectory

__all__ = ["Channel", "Work"]

ROWS_AT_ONCE = 2_000_000
"""Rows of a block of trained lists, of which three are held: deep lists have smaller ones."""
SHELVED_AT_ONCE = 4_000_000
"""Rows of a block of the lists of all generators that others read."""
QUERIES_AT_ONCE = 10_000
"""Queries of such a block, where lists are short."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What one generator gave.

    Args:
        parts: its scored blocks.
        counts: of its lists.
        audited: what the audit looks at.
        reused: the run whose lists these are; None: they were made now.
    """

    parts: tuple[Scored, ...]
    counts: Mapping[str, int]
    audited: AuditedLists
    reused: str | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    """The lists of a block of queries.

    Args:
        queries: how many.
        piece: what scores read of the lists.
        lists: as they were given, at any depth.
        lists_made: how many lists these are.
        counts: what the generator counted.
    """

    queries: int
    piece: Piece
    lists: pl.DataFrame
    lists_made: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Work:
    """Fits, recommends and scores the generators of a fold, one after the other.

    Args:
        config: the configuration.
        prepared: what generators learn from and lists are held against.
        evaluator: scores lists.
        record: is told each stage.
        directory: where lists are stored if asked; None: nowhere.
        cache: finds lists of earlier runs and stores those of this one; None: nobody asks for it.
    """

    config: Config
    prepared: Prepared
    evaluator: Evaluator
    record: Record
    directory: RunDirectory | None = None
    cache: ListCache | None = None

    @cached_property
    def depths(self) -> dict[str, Depth]:
        """How deep the lists of each generator go."""
        return depths_of(self.config, order_of(self.config.generators), self.largest_k)

    @cached_property
    def neighbours(self) -> Neighbours | None:
        """The lists and scores that other generators read; None where nothing is written."""
        if self.directory is None or not (read := read_by_others(self.config)):
            return None
        fold, numbering = self.prepared.fold.number, self.evaluator.scorer.numbering
        rows = sum(self.depths[name].made for name in read)
        shelf = Shelf(
            self.directory.path / SHELVES / f"{fold}",
            numbering.queries,
            numbering.truth.schema[ITEM_ID],
            max(1, min(QUERIES_AT_ONCE, SHELVED_AT_ONCE // rows)),
        )
        return Neighbours(shelf, self._fit, partial(asked_depth, self.config))

    def evaluate(self, name: str) -> Channel:
        """Returns what a generator gives, block by block of queries.

        Raises:
            RecoevalError: it failed; the error names it.
        """
        generator, queries = self._generator(name), self.prepared.truth.queries
        with _naming(name, generator):
            stored, kept = self._stored(name, generator)
            fitted: Fitted
            if stored is None:
                with self.record.stage(f"{name}: fit"):
                    fitted = self._fit(name)
            else:
                fitted = stored
            with self.record.stage(f"{name}: lists", queries.height) as advance:
                if isinstance(fitted, Files):
                    channel = self._read(name, fitted, generator)
                    advance(queries.height)
                    return channel
                channel = self._recommend(name, fitted, kept, advance)
        if kept is not None and self.cache is not None:
            self.cache.store(kept)
        return channel if stored is None else replace(channel, reused=stored.run.name)

    def _generator(self, name: str) -> Generator:
        return self.config.generators[name].in_fold(self.prepared.fold.number)

    def _fit(self, name: str) -> Fitted:
        """Returns a generator that has learned."""
        fitted = self._generator(name).fit(replace(self.prepared.train, others=self.neighbours))
        if self.neighbours is not None and name in asked_by_others(self.config):
            self.neighbours.fitted[name] = fitted
        return fitted

    def _stored(
        self, name: str, generator: Generator
    ) -> tuple[StoredLists | None, CachedLists | None]:
        """Returns the stored lists of a trained generator, and where new ones are noted."""
        if self.cache is None or sources_of(generator) or isinstance(generator, Precomputed):
            return None, None
        fold = self.prepared.fold.number
        fingerprint = self.cache.fingerprint(
            generator, fold=fold, depth=self._asked(name), threads=self.prepared.train.threads
        )
        return self.cache.find(fingerprint, fold), CachedLists(fingerprint)

    def _asked(self, name: str) -> int:
        """Returns how many items a list is asked for."""
        depth = self.depths[name]
        # The row after the end tells whether the last one is tied, and nothing else.
        tied = any(each.metric.title == "tie_share" for each in self._measured)
        return max(depth.made, depth.scored + tied)

    def _recommend(
        self,
        name: str,
        fitted: Fitted,
        kept: CachedLists | None,
        advance: Callable[[int], None],
    ) -> Channel:
        """Returns what a generator gives; a block is made while another one is scored."""
        queries, scorer = self.prepared.truth.queries, self.evaluator.scorer
        generator, depth = self._generator(name), self.depths[name].scored
        pieces = []
        counts: Counter[str] = Counter(rows=0, lists=0)
        asked = self._asked(name)
        size = max(1, min(generator.block or queries.height, ROWS_AT_ONCE // asked))
        if self.neighbours is not None and sources_of(generator):
            size = self.neighbours.shelf.size
        made = ((block, *list_block(fitted, block, asked)) for block in blocks_of(queries, size))
        # One thread: lists take as long to make as to score, and more blocks would be held.
        look = partial(self._look_at, depth=depth, keep=self._keeper(name))
        for block in work_on(made, look, threads=1):
            counts.update(rows=self._store(name, block.lists, kept), lists=block.lists_made)
            counts.update(block.counts)
            pieces.append(block.piece)
            advance(block.queries)
        cold_users, cold_items = serves(self.config.generators, name)
        scored = scorer.finish(
            join_pieces(pieces),
            queries,
            serves_cold_users=cold_users,
            serves_cold_items=cold_items,
            threads=self.prepared.train.threads,
        )
        return Channel((scored,), dict(counts), AuditedLists(cold_users, cold_items))

    def _keeper(self, name: str) -> Keep | None:
        """Returns what takes the prepared lists of a generator; None: nobody reads them."""
        if self.neighbours is None or name not in read_by_others(self.config):
            return None
        return self.neighbours.shelf.keeper(name)

    def _store(self, name: str, lists: pl.DataFrame, kept: CachedLists | None) -> int:
        """Stores lists if that is asked for, and returns the rows down to where they end."""
        depth, fold = self.depths[name].scored, self.prepared.fold.number
        deep = (lists[RANK] > depth).any()
        own = lists.filter(pl.col(RANK) <= depth) if deep else lists
        if self.directory is not None and self.config.output.recommendations:
            files = [self.directory.write_lists(name, own, fold=fold)]
            if deep and kept is not None:
                rest = lists.filter(pl.col(RANK) > depth)
                files.append(self.directory.write_lists(name, rest, fold=fold, place=BEYOND))
            if kept is not None:
                kept.files.extend(files)
        return own.height

    def _look_at(
        self,
        made: tuple[pl.DataFrame, pl.DataFrame, Mapping[str, int]],
        depth: int,
        keep: Keep | None,
    ) -> _Block:
        """Returns a block of queries with what scores read of its lists.

        Args:
            made: the queries, their lists as they were delivered, and what was counted.
            depth: where the lists end.
            keep: takes the prepared lists, at any depth.
        """
        queries, delivered, counts = made
        with checking(delivered.lazy(), what="lists"):
            piece = self.evaluator.scorer.read(delivered, queries, depth=depth, keep=keep)
        heads = delivered[QUERY_ID][starts_of(delivered[QUERY_ID])]
        return _Block(queries.height, piece, delivered, heads.n_unique(), counts)

    def _read(self, name: str, files: Files, generator: Generator) -> Channel:
        """Returns what lists from files give; they are checked, and never held whole."""
        what, queries = f"lists[{name}]", self.prepared.truth.queries
        items = self._known_items()
        known = ((QUERY_ID, queries.lazy()), (ITEM_ID, items.lazy()))
        with reading(what):
            if files.lists.head(1).collect(engine="streaming").is_empty():
                raise DataError(Problem("no rows", what))
            unlike = [
                unlike_types(
                    files.lists, other, column, what, "the log", remedy=LIST_REMEDIES[column]
                )
                for column, other in known
            ]
            if any(unlike):
                raise DataError(*filter(None, unlike))
            require_overlap(files.lists, queries.lazy(), QUERY_ID, what, "the evaluated queries")
            require_overlap(files.lists, items.lazy(), ITEM_ID, what, "the log")
        scored = self.evaluator.score(
            files.lists,
            what=what,
            tie=files.tie,
            with_items=True,
            keep=self._keeper(name),
            threads=self.prepared.train.threads,
        )
        audited = replace(_audited(generator, files, what), items=scored.items)
        return Channel((scored,), scored.counts, audited)

    def _known_items(self) -> pl.DataFrame:
        """Returns the items of the train rows and of the truth."""
        tables = [self.prepared.truth.pairs]
        if self.prepared.background.popularity is not None:
            tables.append(self.prepared.background.popularity)
        return pl.concat([table.select(ITEM_ID).unique() for table in tables])

    @property
    def _measured(self) -> tuple[Measure, ...]:
        return self.evaluator.scorer.measures

    @cached_property
    def largest_k(self) -> int:
        """Returns where lists end that nobody else reads: the largest K, or what metrics read.

        That is the largest quota, and for r_precision the largest |R|.
        """
        scorer, own = self.evaluator.scorer, []
        if any(each.place.at == QUOTA for each in self._measured):
            own.append(scorer.queries[QUOTA])
        if any(each.metric.title == "r_precision" for each in self._measured):
            own.append(scorer.relevant[RELEVANT])
        longest = [int(length) for lengths in own for length in lengths.drop_nulls()]
        return max([list_depth(self.config, self._measured), *longest])

    def summarise(self, channels: Mapping[str, Channel]) -> Evaluation:
        """Returns the result tables of all generators."""
        return self.evaluator.evaluation(
            {name: channel.parts for name, channel in channels.items()},
            counts={
                "truth": dict(self.prepared.counts),
                "lists": {name: dict(channel.counts) for name, channel in channels.items()},
            },
            definitions=definitions_of(
                self.config, self.prepared, self.evaluator.groups.buckets.edges
            ),
            baselines=self.config.baselines,
            fold=self.prepared.fold.number,
        )


def _served_by(generator: Generator) -> AuditedLists:
    return AuditedLists(generator.serves_cold_users, generator.serves_cold_items)


def _audited(generator: Generator, files: Files, what: str) -> AuditedLists:
    """Returns what the audit looks at of lists from files."""
    served = replace(_served_by(generator), rows=files.lists)
    if not isinstance(generator, Precomputed):
        return served
    return replace(served, built=generator.built(what), max_age=generator.max_age)


@contextmanager
def _naming(name: str, generator: Generator) -> Iterator[None]:
    """Makes every failure of a generator one that names it."""
    path = f"generators.{name}"
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            *(replace(each, path=f"{path}.{each.path}".rstrip(".")) for each in error.problems)
        ) from error
    except RecoevalError as error:
        raise type(error)(
            *(replace(each, path=_named(each.path, name) or path) for each in error.problems)
        ) from error
    except (Exception, SystemExit) as error:  # anybody's code: what it raises must name it
        text = f"{type(error).__name__}: {gist(str(error))}{origin_of(generator)}"
        raise EngineError(Problem(text, path)) from error


def _named(path: str, name: str) -> str:
    """Returns a place in lists that do not know their generator's name, with it."""
    lists, dot, column = path.partition(".")
    return f"lists[{name}]{dot}{column}" if lists == "lists" else path
