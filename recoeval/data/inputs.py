"""Frames and files that are evaluated as they are: lists, truth, train pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import polars as pl

from recoeval.columns import (
    GAIN,
    GENERATOR,
    ITEM_ID,
    QUERY_ID,
    TRAIN_INTERACTIONS,
    TRAIN_ROWS,
    USER_ID,
)
from recoeval.data.common_ids import examples_of, overlap, require_overlap, unlike_types
from recoeval.data.delivery import Tie
from recoeval.data.failures import dtype_name, reading
from recoeval.data.formats import open_table
from recoeval.data.frames import as_printed, normalise_ids, to_frame
from recoeval.data.lists import is_trec_run, read_lists
from recoeval.data.ordering import has_repeats, sort_pairs, starts_of
from recoeval.data.queries import queries_of_rows
from recoeval.data.trainpairs import TrainPairs, among, ends_of, pairs_of_rows
from recoeval.data.trec import scan_qrels, sniff
from recoeval.data.truth import is_worth
from recoeval.errors import DataError, Problem, some

__all__ = [
    "AskedTruth",
    "History",
    "Lists",
    "check_ids",
    "read_recs",
    "read_train",
    "read_truth",
    "rows_with_ids",
    "said",
]

DEFAULT_GENERATOR = "recs"


@dataclass(frozen=True, slots=True)
class AskedTruth:
    """A truth as it was given.

    Args:
        pairs: query_id, item_id, gain; distinct, the largest gain of a pair, sorted.
        queries: query_id, user_id.
        counts: rows read, repeated pairs, grades that are not relevant.
    """

    pairs: pl.DataFrame
    queries: pl.DataFrame
    counts: Mapping[str, int]

    @property
    def users_are_queries(self) -> bool:
        """Whether each query is its user."""
        query, user = self.queries[QUERY_ID], self.queries[USER_ID]
        return query.dtype == user.dtype and bool((query == user).all())


@dataclass(frozen=True, slots=True)
class History:
    """What is known of the past.

    Args:
        pairs: the pairs of the train rows; None without train data.
    """

    pairs: TrainPairs | None = None

    @property
    def known(self) -> dict[str, pl.LazyFrame]:
        """The users and the items with a train row, by the name of their column; or nothing."""
        if self.pairs is None:
            return {}
        ids = {USER_ID: self.pairs.coding.users, ITEM_ID: self.pairs.coding.items}
        return {name: each.alias(name).to_frame().lazy() for name, each in ids.items()}

    @property
    def activity(self) -> pl.LazyFrame | None:
        """user_id, train_interactions, train_rows; None without train data."""
        if self.pairs is None:
            return None
        rows = pl.lit(pl.Series(self.pairs.train_rows))
        counts = (rows.alias(TRAIN_INTERACTIONS), rows.alias(TRAIN_ROWS))
        return self.known[USER_ID].with_columns(counts)

    def seen_among(self, truth: AskedTruth) -> pl.LazyFrame | None:
        """Returns user_id, item_id of the relevant pairs that have a train row, distinct."""
        if self.pairs is None:
            return None
        pairs = truth.pairs.rename({QUERY_ID: USER_ID})
        if not truth.users_are_queries:
            pairs = truth.pairs.join(truth.queries, on=QUERY_ID).drop(QUERY_ID)
        known = among(self.pairs.coding.find(pairs), self.pairs.seen)
        return pairs.filter(known).select(USER_ID, ITEM_ID).unique().lazy()


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of one or several generators, opened and not yet read.

    Args:
        by_generator: query_id, item_id, rank or score or both of each generator.
        tie: order of equal scores by item id.
    """

    by_generator: Mapping[str, pl.LazyFrame]
    tie: Tie


def read_truth(truth: object) -> AskedTruth:
    """Returns the relevant pairs of a frame, a file, or TREC qrels.

    Raises:
        DataError: missing columns, null ids, gains that are no numbers, null, infinite or not
            positive (grades <= 0 of qrels are not relevant, and counted), or no rows.
    """
    counts: dict[str, int] = {}
    rows = _qrels(truth)
    graded = rows is not None
    rows, ids = _open_ids(truth if rows is None else rows, "truth")
    schema = rows.collect_schema()
    with reading("truth"):
        frame = rows.select(*ids, *schema.keys() & {GAIN}).collect(engine="streaming")
    # Here, where nothing else holds what it was read into.
    frame = frame.rechunk()
    _refuse_nulls(frame.select(pl.col(ids).null_count()), "truth")
    counts["truth_rows"] = frame.height
    if GAIN in frame.columns:
        frame = _worth(frame, graded=graded)
    if graded:
        counts["grades_not_relevant"] = counts["truth_rows"] - frame.height
    if frame.is_empty():
        raise DataError(Problem("no relevant rows", "truth"))
    query = ids[0]
    frame = sort_pairs(frame, query, ITEM_ID)
    if GAIN not in frame.columns:
        frame = frame.with_columns(pl.lit(1.0).alias(GAIN))
    if len(ids) == 2:
        asked = frame[query].gather(starts_of(frame[query]))
        queries = pl.DataFrame({QUERY_ID: asked, USER_ID: asked})
    else:
        queries = queries_of_rows(frame.lazy(), what="truth")
    pairs = frame.select(pl.col(query).alias(QUERY_ID), ITEM_ID, GAIN)
    if has_repeats(pairs, QUERY_ID, ITEM_ID):
        best = pairs.lazy().group_by(QUERY_ID, ITEM_ID).agg(pl.col(GAIN).max())
        pairs = sort_pairs(best.collect(engine="streaming"), QUERY_ID, ITEM_ID)
    counts["repeated_truth_rows"] = frame.height - pairs.height
    return AskedTruth(pairs, queries, counts)


def _worth(rows: pl.DataFrame, *, graded: bool) -> pl.DataFrame:
    """Returns the rows with their gain as Float64, > 0.

    Args:
        rows: with gain.
        graded: whether rows with another gain are not relevant; else they are an error.
    """
    dtype = rows.schema[GAIN]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise DataError(Problem(f"{dtype_name(dtype)}; expected numbers", f"truth.{GAIN}"))
    rows = rows.with_columns(as_printed(GAIN, dtype))
    if graded:
        rows = rows.filter(pl.col(GAIN) > 0)
    bad = rows.filter(~is_worth(GAIN))
    if bad.height:
        raise DataError(
            Problem(
                f"{bad.height} gains are null, not positive or infinite, "
                f"e.g. {some(bad[GAIN].to_list())}; a gain is > 0",
                f"truth.{GAIN}",
            )
        )
    return rows


def _qrels(truth: object) -> pl.LazyFrame | None:
    """Returns the rows of TREC qrels, or None for anything else."""
    if isinstance(truth, str | Path) and sniff(truth) == "qrels":
        return scan_qrels(truth)
    return None


def read_recs(recs: object, *, users_are_queries: bool = True) -> Lists:
    """Returns the lists of each generator of a frame, a file, or a TREC run.

    Args:
        recs: query_id (or user_id), item_id, rank or score, optionally generator.
        users_are_queries: whether user_id may stand for query_id.

    Raises:
        DataError: missing columns, or no rows.
    """
    lists = read_lists(recs, what="recs", users_are_queries=users_are_queries)
    tie: Tie = "descending" if is_trec_run(recs) else "ascending"
    names = [DEFAULT_GENERATOR]
    named = GENERATOR in lists.collect_schema().names()
    if named:
        with reading("recs"):
            found = lists.select(pl.col(GENERATOR).unique().sort()).collect(engine="streaming")
        names = found[GENERATOR].to_list()
    if not names:
        raise DataError(Problem("no rows", "recs"))
    if None in names:
        raise DataError(Problem("null is no name of a generator", f"recs.{GENERATOR}"))
    by_generator = {}
    for name in names:
        rows = lists.filter(pl.col(GENERATOR) == name).drop(GENERATOR) if named else lists
        with reading(said(name)):
            if rows.head(1).collect(engine="streaming").is_empty():
                raise DataError(Problem("no rows", said(name)))
        by_generator[name] = rows
    return Lists(by_generator, tie)


def read_train(train: object | None) -> History:
    """Returns what users did before; nothing known for None.

    Raises:
        DataError: missing columns or null ids.
    """
    if train is None:
        return History()
    rows, ids = _open_ids(train, "train")
    if USER_ID not in rows.collect_schema().names():
        raise DataError(Problem("train rows belong to users: name the column user_id", "train"))
    with reading("train"):
        # One pass for both.
        facts = rows.select(pl.col(ids).null_count(), *ends_of(rows)).collect(engine="streaming")
        _refuse_nulls(facts.select(ids), "train")
        ends = facts.drop(ids).row(0, named=True)
        if not ends["rows"]:
            raise DataError(Problem("no rows", "train"))
        return History(pairs_of_rows(rows, ends))


def rows_with_ids(
    table: object,
    what: str,
    *,
    items: bool = True,
    keys: Sequence[str] = (QUERY_ID, USER_ID),
) -> pl.LazyFrame:
    """Returns the rows of a frame or file with ids as Int64 or String, none of them null.

    Args:
        table: a frame, an object with the Arrow stream protocol, a path or a glob.
        what: name of the table, for errors.
        items: whether it has to have item_id.
        keys: ids of which it has to have one.

    Raises:
        DataError: missing columns, null ids, or what `normalise_ids` refuses.
    """
    rows, ids = _open_ids(table, what, items=items, keys=keys)
    with reading(what):
        counted = rows.select(pl.col(ids).null_count()).collect(engine="streaming")
    _refuse_nulls(counted, what)
    return rows


def _open_ids(
    table: object,
    what: str,
    *,
    items: bool = True,
    keys: Sequence[str] = (QUERY_ID, USER_ID),
) -> tuple[pl.LazyFrame, list[str]]:
    """Returns what `rows_with_ids` does, where ids may be null, and the names of the ids."""
    text = False
    if isinstance(table, str | Path):
        opened = open_table(table, None, said=what, ids={QUERY_ID, USER_ID, ITEM_ID})
        rows, text = opened.frame, opened.text
    else:
        rows = to_frame(table, what=what)
    names = rows.collect_schema().names()
    present = [name for name in keys if name in names]
    columns = ", ".join(names)
    if keys and not present:
        raise DataError(Problem(f"no column user_id or query_id. Columns: {columns}", what))
    if items and ITEM_ID not in names:
        raise DataError(Problem(f"no column item_id. Columns: {columns}", what))
    ids = [*present, ITEM_ID] if items else present
    return normalise_ids(rows, ids, what=what, text=text), ids


def _refuse_nulls(counts: pl.DataFrame, what: str) -> None:
    """Raises if there are nulls.

    Args:
        counts: one row, how many each id has.
        what: name of the table, for errors.
    """
    nulls = counts.row(0, named=True)
    problems = [
        Problem(f"{count} ids are null", f"{what}.{name}") for name, count in nulls.items() if count
    ]
    if problems:
        raise DataError(*problems)


def check_ids(
    lists: Lists,
    truth: AskedTruth,
    history: History,
    universe: pl.DataFrame | None,
    *,
    sides: Mapping[str, pl.LazyFrame] = MappingProxyType({}),
) -> None:
    """Checks that all tables have ids of one type, and that lists and truth have some in common.

    Args:
        lists: of `read_recs`.
        truth: of `read_truth`.
        history: of `read_train`.
        universe: query_id, user_id of everyone who could have been evaluated, if known.
        sides: other tables by name: user_id, item_id, or one of them.

    Raises:
        DataError: integer against text ids, or no common ids; with examples of both sides.
    """
    others: list[tuple[str, str, pl.LazyFrame]] = []
    for name, rows in lists.by_generator.items():
        others += [(said(name), key, rows) for key in (QUERY_ID, ITEM_ID)]
    others += [("train", key, rows) for key, rows in history.known.items()]
    if universe is not None:
        others += [("users", key, universe.lazy()) for key in (QUERY_ID, USER_ID)]
    for name, rows in sides.items():
        others += [(name, key, rows) for key in rows.collect_schema()]
    known = {
        QUERY_ID: truth.queries.lazy(),
        USER_ID: truth.queries.lazy(),
        ITEM_ID: truth.pairs.lazy(),
    }
    problems = [
        problem
        for what, key, rows in others
        if (problem := unlike_types(rows, known[key], key, what, "the truth")) is not None
    ]
    if problems:
        raise DataError(*problems)
    queries, than = truth.queries, "the truth"
    if universe is not None:
        queries, than = pl.concat([queries, universe]), "truth and users"
    for name, rows in lists.by_generator.items():
        require_overlap(rows, queries.lazy(), QUERY_ID, said(name), than)
    _require_common_items(lists, truth, history)
    listed = [rows.select(ITEM_ID) for rows in lists.by_generator.values()]
    items = pl.concat([truth.pairs.lazy().select(ITEM_ID), *listed])
    common = {USER_ID: (queries.lazy(), than), ITEM_ID: (items, "truth and lists")}
    for name, rows in sides.items():
        for key in rows.collect_schema():
            require_overlap(rows, common[key][0], key, name, common[key][1])


def said(generator: str) -> str:
    """Returns what the lists of a generator are called in errors."""
    return "recs" if generator == DEFAULT_GENERATOR else f"lists[{generator}]"


def _require_common_items(lists: Lists, truth: AskedTruth, history: History) -> None:
    """Checks that each generator lists items that are known from elsewhere.

    Without train data a list that finds nothing looks like one with foreign ids: fewer than
    three items on a side are then too few to tell.
    """
    known, than = truth.pairs.lazy().select(ITEM_ID), "the truth"
    if history.pairs is not None:
        known, than = pl.concat([known, history.known[ITEM_ID]]), "truth and train"
    strange = [name for name, rows in lists.by_generator.items() if not overlap(rows, known)]
    # A generator without a hit is no stranger if it lists what one with hits lists.
    others = [rows for name, rows in lists.by_generator.items() if name not in strange]
    known = pl.concat([known, *(rows.select(ITEM_ID) for rows in others)])
    for name in strange:
        rows = lists.by_generator[name]
        if (
            history.pairs is None
            and min(len(examples_of(side, ITEM_ID)) for side in (rows, known)) < 3
        ):
            continue
        hint = "" if history.pairs is not None else "; if they truly find nothing, give train="
        require_overlap(rows, known, ITEM_ID, said(name), than, hint=hint)
