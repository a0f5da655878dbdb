"""Pairs of the train window as sorted 64-bit codes: counted, looked up, and decoded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval.columns import ITEM_ID, TIMESTAMP, TRAIN_USERS, USER_ID
from recoeval.data.idkeys import key_of
from recoeval.data.lookup import ROOM, Lookup, pick
from recoeval.data.numbering import Firsts, InOrder, Numbering, Numbers
from recoeval.data.ordering import parts
from recoeval.data.rowkeys import Ints

__all__ = [
    "Codes",
    "Coding",
    "TrainPairs",
    "among",
    "code_in_order",
    "ends_of",
    "find_train_pairs",
    "number_rows",
    "pairs_of_rows",
    "unpack",
]

Codes = NDArray[np.uint64]

# 31 bits of the user and 31 of the item; of a row two marks stand behind them.
_BITS: Final = 31
_ITEM: Final = np.uint64(2**_BITS - 1)
_IDS: Final = (USER_ID, ITEM_ID)
_MARKS: Final = "marks"
_AT_ONCE: Final = 100_000
_USER_CODE: Final = "user code"
_ITEM_CODE: Final = "item code"


@dataclass(frozen=True, slots=True)
class Coding:
    """Users and items, numbered in their order.

    Args:
        users: distinct ids, ascending; fewer than 2^31.
        items: distinct ids, ascending; fewer than 2^31.
    """

    users: pl.Series
    items: pl.Series

    def distinct(self, rows: pl.LazyFrame) -> Codes:
        """Returns the codes of the distinct pairs of rows, ascending.

        Args:
            rows: user_id, item_id, which have numbers here.
        """
        keys = (key_of(USER_ID, self.users), key_of(ITEM_ID, self.items))
        users, items = self._numbers(*keys)
        coded = rows.select(*keys).join(items, on=ITEM_ID).join(users, on=USER_ID)
        found = coded.select(_code().alias("code")).collect(engine="streaming")
        codes = found["code"].to_numpy(writable=True)
        codes.sort()
        return _distinct(codes)

    def find(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the code of each pair, null where an id has no number.

        Args:
            pairs: user_id, item_id; any ids.
        """
        tables = Lookup.of(self.users), Lookup.of(self.items)
        if tables[0] is not None and tables[1] is not None:
            codes, known = np.empty(pairs.height, np.uint64), np.empty(pairs.height, bool)
            for part in parts(pairs.height, _AT_ONCE):
                user, item = (
                    tables[0].find(pairs[USER_ID][part]),
                    tables[1].find(pairs[ITEM_ID][part]),
                )
                codes[part] = (user << _BITS | item).view(np.uint64)
                known[part] = (user >= 0) & (item >= 0)
            found = pl.Series("code", codes)
            return found if known.all() else found.set(pl.Series(~known), None)
        users, items = self._numbers(pl.col(USER_ID), pl.col(ITEM_ID))
        return (
            pairs.lazy()
            .select(USER_ID, ITEM_ID)
            .join(items, on=ITEM_ID, how="left", maintain_order="left")
            .join(users, on=USER_ID, how="left", maintain_order="left")
            .select(_code().alias("code"))
            .collect(engine="streaming")["code"]
        )

    def decode(self, codes: Codes, kept: NDArray[np.bool_] | None = None) -> pl.DataFrame:
        """Returns user_id, item_id of pairs.

        Args:
            codes: of the pairs.
            kept: which of them are asked for; None: all.
        """
        ids = (self.users, self.items)
        if any(each.dtype != pl.Int64 for each in ids):
            own = codes if kept is None else codes[kept]
            found = [pick(*each) for each in zip(ids, unpack(own), strict=True)]
            return pl.DataFrame(dict(zip(_IDS, found, strict=True)))
        known, end = [each.to_numpy() for each in ids], 0
        columns = np.empty((2, len(codes) if kept is None else int(kept.sum())), np.int64)
        for part in parts(len(codes), _AT_ONCE):
            own = codes[part] if kept is None else codes[part][kept[part]]
            start, end = end, end + len(own)
            for column, of_column, numbers in zip(columns, known, unpack(own), strict=True):
                of_column.take(numbers, out=column[start:end], mode="clip")
        return pl.DataFrame(dict(zip(_IDS, columns, strict=True)))

    def users_of(self, codes: Codes, marks: int = 0) -> Ints:
        """Returns how many sorted codes each user has.

        Args:
            codes: ascending.
            marks: bits behind each code.
        """
        starts = np.arange(len(self.users) + 1, dtype=np.uint64) << np.uint64(_BITS + marks)
        return np.diff(np.searchsorted(codes, starts))

    def _numbers(self, user: pl.Expr, item: pl.Expr) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """Returns the number of each user and of each item, by what stands for the id."""
        users = self.users.alias(USER_ID).to_frame().with_row_index(_USER_CODE)
        items = self.items.alias(ITEM_ID).to_frame().with_row_index(_ITEM_CODE)
        return users.select(user, _USER_CODE).lazy(), items.select(item, _ITEM_CODE).lazy()


def _code() -> pl.Expr:
    user, item = pl.col(_USER_CODE).cast(pl.UInt64), pl.col(_ITEM_CODE).cast(pl.UInt64)
    return user * pl.lit(2**_BITS, pl.UInt64) + item


@dataclass(frozen=True, slots=True)
class TrainPairs:
    """The pairs of the train window.

    Args:
        coding: the numbers of its users and items.
        every: all pairs, sorted; one that has several rows comes several times.
        trained: those with a train row; distinct.
        seen: those that lists may not contain again; distinct.
        train_rows: train rows of each user.
    """

    coding: Coding
    every: Codes
    trained: Codes
    seen: Codes
    train_rows: Ints

    def popularity(self) -> pl.DataFrame:
        """Returns item_id, train_users (Int64 >= 1), sorted; every item with a train row."""
        items = self.coding.items
        users = np.zeros(len(items), np.int64)
        for part in parts(len(self.trained), _AT_ONCE):
            users += np.bincount(unpack(self.trained[part])[1], minlength=len(items))
        table = pl.DataFrame({ITEM_ID: items, TRAIN_USERS: users})
        return table.filter(pl.col(TRAIN_USERS) > 0)

    def seen_of(self, users: pl.Series) -> pl.LazyFrame:
        """Returns user_id, item_id of the seen pairs of these users."""
        asked = self.coding.users.is_in(users.implode()).to_numpy()
        if asked.all():
            return self.coding.decode(self.seen).lazy()
        counts = self.coding.users_of(self.seen)
        return self.coding.decode(self.seen, np.repeat(asked, counts)).lazy()


def unpack(codes: Codes) -> tuple[Ints, Ints]:
    """Returns the numbers of the users and of the items of codes.

    Example:
        >>> [numbers.tolist() for numbers in unpack(np.array([7, 2**31 + 5], np.uint64))]
        [[0, 1], [7, 5]]
    """
    return (codes >> np.uint64(_BITS)).view(np.int64), (codes & _ITEM).view(np.int64)


def number_rows(
    rows: pl.LazyFrame,
    users: Numbering,
    items: Numbering,
    *,
    marks: Sequence[pl.Expr] = (),
    first: Firsts | None = None,
) -> list[Codes]:
    """Returns a code of each row, by the numbers that ids have as they come, in any order.

    Args:
        rows: user_id, item_id without null, and what the marks need; timestamp for `first`.
        users: numbers of users; new ones are added.
        items: numbers of items; new ones are added.
        marks: at most two; true, false or null: a bit each, behind the code.
        first: where the times of the items are noted.
    """
    bits = pl.lit(0, pl.UInt8)
    for mark in marks:
        bits = bits * 2 + mark.fill_null(False).cast(pl.UInt8)
    columns = _IDS if first is None else (*_IDS, TIMESTAMP)
    wanted = rows.select(*columns, bits.alias(_MARKS))

    def number_items(batch: pl.DataFrame) -> Numbers:
        numbers = items.number(batch[ITEM_ID])
        if first is not None:
            first.see(numbers, batch[TIMESTAMP])
        return numbers

    found = []
    with ThreadPoolExecutor(1) as beside:
        for batch in wanted.collect_batches(maintain_order=False, engine="streaming"):
            of_items = beside.submit(number_items, batch)
            codes = users.number(batch[USER_ID]).astype(np.uint64)
            codes <<= np.uint64(_BITS)
            codes |= of_items.result().view(np.uint32)
            codes <<= np.uint64(len(marks))
            codes |= batch[_MARKS].to_numpy()
            found.append(codes)
    return found


def code_in_order(
    found: list[Codes], users: InOrder, items: InOrder, *, marks: int = 0
) -> tuple[Coding, Codes]:
    """Returns the numbers of ids in their order, and by these the codes of rows, ascending.

    Args:
        found: result of `number_rows`; used up.
        users: all users of the rows.
        items: all items of the rows.
        marks: bits behind each code.
    """
    user_places, item_places = users.places(), items.places()
    codes = np.empty(sum(map(len, found)), np.uint64)
    end, behind, bits = len(codes), np.uint64(marks), np.uint64(2**marks - 1)
    while found:
        part = found.pop()
        own = codes[end - len(part) : end]
        end -= len(part)
        user, item = unpack(part >> behind)
        own[:] = user_places[user]
        own <<= np.uint64(_BITS)
        own |= item_places[item].view(np.uint32)
        own <<= behind
        own |= part & bits
    codes.sort()
    return Coding(users.ids, items.ids), codes


def find_train_pairs(rows: Codes, coding: Coding, *, marks: int = 1) -> TrainPairs:
    """Returns the pairs of the train window.

    Args:
        rows: codes of its rows, ascending, followed by a bit for each mark: whether it is a train
            row, and whether it makes its pair a seen one, if other rows do; overwritten.
        coding: the numbers of all its users and items.
        marks: how many.
    """
    shift = np.uint64(marks)
    of_train = rows[rows & np.uint64(2 ** (marks - 1)) > 0] >> shift
    counts, by_train = coding.users_of(of_train), _distinct(of_train)
    by_seen = by_train
    if marks > 1:
        by_seen = _distinct(rows[rows & np.uint64(1) > 0] >> shift)
    rows >>= shift
    return TrainPairs(coding, rows, by_train, by_seen, counts)


def ends_of(rows: pl.LazyFrame) -> list[pl.Expr]:
    """Returns what `pairs_of_rows` asks of rows: how many, and the ends of integer ids.

    Args:
        rows: user_id, item_id.
    """
    schema = rows.collect_schema()
    whole = all(schema[name] == pl.Int64 for name in _IDS)
    ends = [pl.col(_IDS).min().name.suffix("/least"), pl.col(_IDS).max().name.suffix("/most")]
    return [pl.len().alias("rows"), *(ends if whole else [])]


def pairs_of_rows(rows: pl.LazyFrame, ends: Mapping[str, int] | None = None) -> TrainPairs:
    """Returns the pairs of rows that are all train rows.

    Args:
        rows: user_id, item_id without null; at least one row.
        ends: result of `ends_of`, for those who know it already.
    """
    if ends is None:
        ends = rows.select(ends_of(rows)).collect(engine="streaming").row(0, named=True)
    if len(ends) > 1:
        starts = [ends[f"{name}/least"] for name in _IDS]
        spans = [ends[f"{name}/most"] - start + 1 for name, start in zip(_IDS, starts, strict=True)]
        if max(spans) <= min(ROOM * ends["rows"], 2**_BITS):
            return _pairs_of_integers(rows, starts, spans)
    users, items = Numbering(), Numbering()
    found = number_rows(rows, users, items)
    return _all_trained(*code_in_order(found, users.sorted(), items.sorted()))


def _pairs_of_integers(
    rows: pl.LazyFrame, starts: Sequence[int], spans: Sequence[int]
) -> TrainPairs:
    """Returns the pairs of integer ids that lie close together, from one pass over the rows.

    Args:
        rows: user_id, item_id.
        starts: the smallest user_id and item_id.
        spans: from these to the largest ones.
    """
    present = [np.zeros(span, dtype=bool) for span in spans]
    found = []
    for batch in rows.select(_IDS).collect_batches(maintain_order=False, engine="streaming"):
        user, item = (
            batch[name].to_numpy() - start for name, start in zip(_IDS, starts, strict=True)
        )
        present[0][user], present[1][item] = True, True
        found.append((user << _BITS | item).view(np.uint64))
    # Ids are numbered by their distance from the smallest one; some distances nobody has.
    numbers = [np.flatnonzero(each) for each in present]
    known = [
        InOrder(pl.Series(name, each + start), each)
        for name, each, start in zip(_IDS, numbers, starts, strict=True)
    ]
    return _all_trained(*code_in_order(found, *known))


def _all_trained(coding: Coding, codes: Codes) -> TrainPairs:
    """Returns the pairs of sorted codes of train rows."""
    distinct = _distinct(codes)
    return TrainPairs(coding, codes, distinct, distinct, coding.users_of(codes))


def among(found: pl.Series, codes: Codes) -> pl.Series:
    """Returns whether each code is one of sorted codes; null is none.

    Args:
        found: codes of pairs.
        codes: ascending.
    """
    if not len(codes):
        return pl.repeat(False, len(found), eager=True)
    # What stands for null leaves sorted codes sorted.
    wanted = found.fill_null(strategy="forward").fill_null(0).to_numpy()
    if (wanted[1:] >= wanted[:-1]).all():
        known = _are_in(wanted, codes)
    else:
        # In order: searches that jump about miss the cache each time.
        order = np.argsort(wanted)
        known = np.empty(len(wanted), bool)
        known[order] = _are_in(wanted[order], codes)
    return pl.Series(known) & found.is_not_null()


def _are_in(wanted: Codes, codes: Codes) -> NDArray[np.bool_]:
    """Returns whether each of some codes is one of sorted codes, at least one."""
    known = np.empty(len(wanted), bool)
    for part in parts(len(wanted), _AT_ONCE):
        at = np.minimum(np.searchsorted(codes, wanted[part]), len(codes) - 1)
        known[part] = codes[at] == wanted[part]
    return known


def _distinct(codes: Codes) -> Codes:
    """Returns each of sorted codes once."""
    new = np.ones(len(codes), bool)
    np.not_equal(codes[1:], codes[:-1], out=new[1:])
    return codes if new.all() else codes[new]
