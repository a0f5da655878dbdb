"""Co-visitation: items that the same users came to, near each other in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recoeval import columns as c
from recoeval.component import Count, Duration
from recoeval.data.rowkeys import expand, positions
from recoeval.generators.base import Fitted, Generator, Train
from recoeval.generators.blocks import Ints, Seen, first_of_equals, seen_items
from recoeval.generators.histories import Histories, find_histories, require_times
from recoeval.generators.shortlists import short_lists

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["CoVisitation"]

Floats = NDArray[np.float64]

_LOW: Final = (1 << 32) - 1
_MICRO: Final = timedelta(microseconds=1)
_AT_ONCE: Final = 1 << 22
"""Pairs of entries, or entries of sums, that are held at once."""


class CoVisitation(Generator):
    """Items that the same users came to: neighbours of the user's latest items, added up.

    Of each user the latest `history` distinct items count, each at the time of its newest train
    row. c(i, j) = users who have both, at most `within` apart; c(i) = users who have i. The
    relatedness r(i, j) is c(i, j), normalised; of each item the `neighbours` best are kept, ties
    by item id ascending. The score of j for a user = sum of r(i, j) over the user's latest items
    i, from the newest on. A list ends where no more items are related, users without a train row
    get none. Weights are ignored. Needs times.

    Source: Davidson et al. (2010), The YouTube video recommendation system, section 3.1:
        r(v_i, v_j) = c_ij / f(v_i, v_j), where f is the product of the items' counts in the
        simplest case; cosine is that of the items' columns of users.
    """

    serves_cold_users: ClassVar[bool] = False
    serves_cold_items: ClassVar[bool] = False

    type: Literal["co_visitation"] = "co_visitation"
    history: Count = 20
    """Latest items of a user that are paired and that lists start from. Default 20; the work grows
    with its square, and a user with thousands of items costs no more than one with this many."""
    within: Duration | None = None
    """Two items of a user are paired if their times are no further apart, e.g. 1d. Default: any."""
    normalize: Literal["cosine", "count", "product"] = "cosine"
    """What c(i, j) is divided by. cosine (default): sqrt(c(i) c(j)); count: 1, which favours
    popular items; product: c(i) c(j), which favours rare ones."""
    neighbours: Count = 100
    """Related items kept for each item. Default 100."""

    def fit(self, train: Train) -> Fitted:
        """Returns the neighbours of each item.

        Raises:
            ConfigError: the log has no times.
            DataError: no train rows.
        """
        require_times(train)
        histories = find_histories(train.rows, self.history)
        return _Related(
            histories, self._neighbours(histories), seen_items(train.seen, histories.items)
        )

    def _neighbours(self, own: Histories) -> csr_matrix:
        """Returns the relatedness of each item, in rows, to its neighbours; float64."""
        from scipy.sparse import csr_matrix

        size = len(own.items)
        users_of = np.bincount(own.positions, minlength=size)
        found = [self._best(keys, counts, users_of) for keys, counts in self._counts(own)]
        keys = np.concatenate([each for each, _ in found] or [np.zeros(0, np.int64)])
        values = np.concatenate([each for _, each in found] or [np.zeros(0)])
        starts = np.searchsorted(keys >> 32, np.arange(size + 1))
        return csr_matrix((values, keys & _LOW, starts), shape=(size, size))

    def _counts(self, own: Histories) -> Iterator[tuple[Ints, Ints]]:
        """Yields c(i, j) of all j for some items i, as keys of pairs, ascending, and counts.

        The entries are gone through item by item, and never more than some pairs at once: an item
        with more of them is counted in parts.
        """
        lengths = np.diff(own.starts)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        by_item = np.argsort(own.positions, kind="stable")
        items = own.positions[by_item]
        first, keys, counts = 0, np.zeros(0, np.int64), np.zeros(0, np.int64)
        ends = np.cumsum(lengths[owners[by_item]])
        while first < len(by_item):
            done = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
            part = self._pairs(own, by_item[first:last], owners)
            keys, counts = _added(keys, counts, part)
            # The last item may go on in the next part.
            whole = last == len(by_item) or items[last] != items[last - 1]
            cut = (
                len(keys) if whole else int(np.searchsorted(keys, np.int64(items[last - 1]) << 32))
            )
            yield keys[:cut], counts[:cut]
            keys, counts, first = keys[cut:], counts[cut:], last

    def _pairs(self, own: Histories, entries: Ints, owners: Ints) -> Ints:
        """Returns the pairs of the items of entries with the others of their users, as keys."""
        users = owners[entries]
        which, others = expand(own.starts[users], np.diff(own.starts)[users])
        entries = entries[which]
        near = others != entries
        if self.within is not None:
            limit = self.within // _MICRO
            near &= np.abs(own.times[others] - own.times[entries]) <= limit
        left, right = own.positions[entries[near]], own.positions[others[near]]
        keys: Ints = left.astype(np.int64) << 32 | right
        return keys

    def _best(self, keys: Ints, counts: Ints, users_of: Ints) -> tuple[Ints, Floats]:
        """Returns the best neighbours of each item, ascending by both, and their relatedness."""
        left, right = keys >> 32, keys & _LOW
        values = counts.astype(np.float64)
        if self.normalize == "cosine":
            values /= np.sqrt((users_of[left] * users_of[right]).astype(np.float64))
        elif self.normalize == "product":
            values /= (users_of[left] * users_of[right]).astype(np.float64)
        best = np.sort(_best_of_rows(left, right, values, self.neighbours))
        return keys[best], values[best]


def _added(keys: Ints, counts: Ints, more: Ints) -> tuple[Ints, Ints]:
    """Returns counts of keys, ascending, with one more for each of some keys.

    Example:
        >>> of, again = np.array([3, 7]), np.array([7, 5])
        >>> [each.tolist() for each in _added(of, np.array([1, 1]), again)]
        [[3, 5, 7], [1, 1, 2]]
    """
    more = np.sort(more)
    starts = np.flatnonzero(first_of_equals(more))
    fresh, times = more[starts], np.diff(np.append(starts, len(more)))
    if not len(keys):
        return fresh, times
    keys, counts = np.concatenate((keys, fresh)), np.concatenate((counts, times))
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(first_of_equals(keys))
    return keys[starts], np.add.reduceat(counts, starts)


def _best_of_rows(rows: Ints, columns: Ints, values: Floats, most: int) -> Ints:
    """Returns the places of the largest values of each row, best first; ties by column.

    Args:
        rows: of each entry, ascending.
        columns: of each entry, ascending within a row.
        values: of each entry.
        most: entries of a row that are wanted.
    """
    near = np.flatnonzero(_near_the_best(rows, values, most))
    rows = rows[near]
    order = np.lexsort((columns[near], -values[near], rows))
    heads = np.flatnonzero(first_of_equals(rows))
    counts = np.diff(np.append(heads, len(rows)))
    place = np.arange(len(rows)) - np.repeat(heads, counts)
    best: Ints = near[order[place < most]]
    return best


def _near_the_best(rows: Ints, values: Floats, most: int) -> NDArray[np.bool_]:
    """Returns which values are among the largest of their row, or equal to the last of these.

    A sort of all values would take most of the time of a fit; rows of like lengths stand side by
    side in a table instead, of which only the last wanted value is looked for.
    """
    heads = np.flatnonzero(first_of_equals(rows))
    counts = np.diff(np.append(heads, len(rows)))
    near = np.ones(len(rows), np.bool_)
    # 2^(n - 1) < count <= 2^n.
    sizes = np.where(counts > most, np.frexp(counts - 0.5)[1], 0)
    for size in np.flatnonzero(np.bincount(sizes)[1:]) + 1:
        chosen = np.flatnonzero(sizes == size)
        for part in np.array_split(chosen, 1 + (len(chosen) << int(size)) // _AT_ONCE):
            which, places = expand(heads[part], counts[part])
            width = int(counts[part].max(initial=most))
            table = np.full((len(part), width), -np.inf)
            table[np.arange(width) < counts[part][:, None]] = values[places]
            last = np.partition(table, width - most, axis=1)[:, width - most]
            near[places] = values[places] >= last[which]
    return near


@dataclass(frozen=True, slots=True)
class _Related:
    histories: Histories
    neighbours: csr_matrix
    seen: Seen

    def recommend(self, queries: pl.DataFrame, k: int) -> pl.LazyFrame:
        """Returns the items that are most related to the latest ones of each user."""
        found = [(first, *self._best(chunk, k)) for first, chunk in self._chunks(queries)]
        nothing = np.zeros(0, np.int64)
        return short_lists(
            queries[c.QUERY_ID],
            self.histories.items,
            np.concatenate([first + rows for first, rows, _, _ in found] or [nothing]),
            np.concatenate([places for _, _, places, _ in found] or [nothing]),
            np.concatenate([scores for *_, scores in found] or [np.zeros(0)]),
            k=k,
        )

    def _best(self, queries: pl.DataFrame, k: int) -> tuple[Ints, Ints, Floats]:
        """Returns row of the block, item and score of the best unseen items, best first."""
        rows, places, scores = self._sums(queries[c.USER_ID])
        owners, left_out, _ = self.seen.of(queries[c.USER_ID])
        keys, known = rows << 32 | places, owners << 32 | left_out
        at = np.searchsorted(keys, known)
        at = at[at < len(keys)]
        fresh = np.ones(len(keys), np.bool_)
        fresh[at[keys[at] == known[: len(at)]]] = False
        rows, places, scores = rows[fresh], places[fresh], scores[fresh]
        best = _best_of_rows(rows, places, scores, k)
        return rows[best], places[best], scores[best]

    def score(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns the scores; 0 for a user and an item of the train rows that are not related."""
        users = pairs.select(c.USER_ID).unique().sort(c.USER_ID)
        own = self.histories
        rows = positions(pairs[c.USER_ID], users[c.USER_ID])
        known = positions(pairs[c.USER_ID], own.users) >= 0
        places = positions(pairs[c.ITEM_ID], own.items)
        known &= places >= 0
        scores = np.zeros(len(pairs))
        for first, chunk in self._chunks(users):
            found, columns, values = self._sums(chunk[c.USER_ID])
            keys = found + first << 32 | columns
            asked = rows << 32 | places
            at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            if len(keys):
                scores = np.where(keys[at] == asked, values[at], scores)
        return pl.select(pl.when(pl.Series(known)).then(pl.Series(scores))).to_series()

    def _chunks(self, queries: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yields parts of a block and where they start: few enough for their sums."""
        widest = int(np.diff(self.neighbours.indptr).max(initial=1))
        longest = int(np.diff(self.histories.starts).max(initial=1))
        size = max(1, _AT_ONCE // (widest * longest))
        for first in range(0, queries.height, size):
            yield first, queries[first : first + size]

    def _sums(self, users: pl.Series) -> tuple[Ints, Ints, Floats]:
        """Returns the row of the block, the item and the score of all related items.

        Ascending by both. scipy adds up a row in the order of its entries.
        """
        from scipy.sparse import csr_matrix

        own = self.histories
        rows, entries = own.of(users)
        starts = np.searchsorted(rows, np.arange(len(users) + 1))
        ones = np.ones(len(entries))
        latest = csr_matrix(
            (ones, own.positions[entries], starts), shape=(len(users), len(own.items))
        )
        sums = latest @ self.neighbours
        sums.sort_indices()
        found = np.repeat(np.arange(len(users)), np.diff(sums.indptr))
        return found, sums.indices.astype(np.int64), sums.data
