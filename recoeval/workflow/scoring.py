"""The generators of a run: fitted, asked for lists block by block, scored, dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

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
from recoeval.engine.local import Scored
from recoeval.engine.piece import Piece, join_pieces
from recoeval.errors import ConfigError, DataError, EngineError, Problem, RecoevalError
from recoeval.generators.base import Fitted, Generator
from recoeval.generators.precomputed import Files, Precomputed
from recoeval.metrics.base import Measure
from recoeval.workflow.config import Config, list_depth
from recoeval.workflow.definitions import definitions_of
from recoeval.workflow.preparation import Prepared
from recoeval.workflow.record import Record
from recoeval.workflow.store import RunDirectory

__all__ = ["Channel", "Work"]

ROWS_AT_ONCE = 2_000_000
"""Rows of a block of trained lists, of which three are held: deep lists have smaller ones."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What one generator gave.

    Args:
        parts: its scored blocks.
        counts: of its lists.
        audited: what the audit looks at.
    """

    parts: tuple[Scored, ...]
    counts: Mapping[str, int]
    audited: AuditedLists


@dataclass(frozen=True, slots=True)
class _Block:
    """The lists of a block of queries.

    Args:
        queries: how many.
        piece: what scores read of the lists.
        lists: as they are stored.
        lists_made: how many lists these are.
    """

    queries: int
    piece: Piece
    lists: pl.DataFrame
    lists_made: int


@dataclass(frozen=True, slots=True)
class Work:
    """Fits, recommends and scores the generators of a run, one after the other.

    Args:
        config: the configuration.
        prepared: what generators learn from and lists are held against.
        evaluator: scores lists.
        record: is told each stage.
        directory: where lists are stored if asked; None: nowhere.
    """

    config: Config
    prepared: Prepared
    evaluator: Evaluator
    record: Record
    directory: RunDirectory | None = None

    def evaluate(self, name: str) -> Channel:
        """Returns what a generator gives, block by block of queries.

        Raises:
            RecoevalError: it failed; the error names it.
        """
        generator = self.config.generators[name]
        queries = self.prepared.truth.queries
        with _naming(name):
            with self.record.stage(f"{name}: fit"):
                fitted = generator.fit(self.prepared.train)
            with self.record.stage(f"{name}: lists", queries.height) as advance:
                if isinstance(fitted, Files):
                    channel = self._read(name, fitted, generator)
                    advance(queries.height)
                    return channel
                return self._recommend(name, fitted, generator, advance)

    def _recommend(
        self, name: str, fitted: Fitted, generator: Generator, advance: Callable[[int], None]
    ) -> Channel:
        """Returns what a trained generator gives; a block is made while another one is scored."""
        queries, scorer = self.prepared.truth.queries, self.evaluator.scorer
        depth, pieces, rows, lists_made = self._depth(), [], 0, 0
        # The row after the end tells whether the last one is tied, and nothing else.
        asked = depth + any(each.metric.title == "tie_share" for each in self._measured)
        size = max(1, min(generator.block or queries.height, ROWS_AT_ONCE // asked))
        made = (
            (block, fitted.recommend(block, asked).collect()) for block in blocks_of(queries, size)
        )
        # One thread: lists take as long to make as to score, and more blocks would be held.
        for block in work_on(made, partial(self._look_at, depth=depth), threads=1):
            if self.directory is not None and self.config.output.recommendations:
                self.directory.write_lists(name, block.lists, fold=self.prepared.fold.number)
            pieces.append(block.piece)
            rows += block.lists.height
            lists_made += block.lists_made
            advance(block.queries)
        scored = scorer.finish(
            join_pieces(pieces),
            queries,
            serves_cold_users=generator.serves_cold_users,
            serves_cold_items=generator.serves_cold_items,
            threads=self.prepared.train.threads,
        )
        counts = {"rows": rows, "lists": lists_made}
        return Channel((scored,), counts, _served_by(generator))

    def _look_at(self, made: tuple[pl.DataFrame, pl.DataFrame], depth: int) -> _Block:
        """Returns a block of queries with what scores read of its lists.

        Args:
            made: the queries, and their lists as they were delivered.
            depth: where the lists end.
        """
        queries, delivered = made
        with checking(delivered.lazy(), what="lists"):
            piece = self.evaluator.scorer.read(delivered, queries, depth=depth)
        deep = (delivered[RANK] > depth).any()
        lists = delivered.filter(pl.col(RANK) <= depth) if deep else delivered
        heads = lists[QUERY_ID][starts_of(lists[QUERY_ID])]
        return _Block(queries.height, piece, lists, heads.n_unique())

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

    def _depth(self) -> int:
        """Returns where trained lists end: the largest K, or what is read beyond it.

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
def _naming(name: str) -> Iterator[None]:
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
    except Exception as error:  # anybody's code: what it raises must name it
        text = f"{type(error).__name__}: {gist(str(error))}"
        raise EngineError(Problem(text, path)) from error


def _named(path: str, name: str) -> str:
    """Returns a place in lists that do not know their generator's name, with it."""
    lists, dot, column = path.partition(".")
    return f"lists[{name}]{dot}{column}" if lists == "lists" else path
