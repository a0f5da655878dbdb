"""The ratios that recoeval is held to, where the measurements tell of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scripts.bench_lib.contenders import Case
from scripts.bench_lib.table import Medians, markdown

__all__ = ["Goal", "goals_of", "goals_table"]

HEAD = ("goal", "asked", "found", "met")

INT, TEXT = ("int", "by user"), ("text", "by user")
INTERLEAVED = ("int", "interleaved")
KINDS = {INT: "integer ids by user", INTERLEAVED: "interleaved", TEXT: "text ids"}

CEILINGS = (
    (INT, "scan", 8),
    (INTERLEAVED, "scan", 12),
    (TEXT, "duckdb", 1.7),
    (INT, "duckdb", 1.3),
)
"""Of size L: kind of data, whose wall time ours is divided by, limit."""
MEMORY = ((INT, 2), (INTERLEAVED, 4), (TEXT, 5))
"""Of size L: kind of data, GB."""
PEERS = (
    ("M", INT, "rectools", 10),
    ("M", INT, "replay", 25),
    ("M", TEXT, "pytrec_eval", 20),
    ("M", TEXT, "ranx", 50),
    ("L", INT, "rectools", 15),
    ("L", INT, "replay", 25),
)
"""Size, kind of data, peer, how many times our wall time it takes."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit and what was found.

    Args:
        title: what is limited.
        limit: the number.
        found: what was measured.
        at_most: whether the limit is one from above.
    """

    title: str
    limit: float
    found: float
    at_most: bool = True

    @property
    def met(self) -> bool:
        """Whether the limit is kept."""
        return self.found <= self.limit if self.at_most else self.found >= self.limit


def goals_table(found: Medians) -> str:
    """Returns a table of the goals that can be told of; empty if there are none."""
    rows = [
        [
            goal.title,
            f"at {'most' if goal.at_most else 'least'} {goal.limit:g}",
            f"{goal.found:.3g}",
            "yes" if goal.met else "no",
        ]
        for goal in goals_of(found)
    ]
    return markdown(HEAD, rows) if rows else ""


def goals_of(found: Medians) -> Iterator[Goal]:
    """Yields the goals that the measurements tell of."""
    for kind, other, limit in CEILINGS:
        ours, theirs = (found.get((Case("L", *kind), name)) for name in ("ours", other))
        if ours is not None and theirs is not None:
            yield Goal(f"L, {KINDS[kind]}: wall / {other}", limit, ours.wall / theirs.wall)
    for kind, limit in MEMORY:
        ours = found.get((Case("L", *kind), "ours"))
        if ours is not None:
            yield Goal(f"L, {KINDS[kind]}: memory, GB", limit, ours.memory / 1e9)
    ours, train = (found.get((Case("L", *INT), name)) for name in ("ours", "train"))
    if ours is not None and train is not None:
        yield Goal("L, with `train=`: wall / without", 3.5, train.wall / ours.wall)
    yield from _against_peers(found)
    yield from _growth(found)


def _against_peers(found: Medians) -> Iterator[Goal]:
    for size, kind, peer, limit in PEERS:
        ours, theirs = (found.get((Case(size, *kind), name)) for name in ("ours", peer))
        if ours is None or theirs is None:
            continue
        yield Goal(f"{size}: {peer}, wall / recoeval", limit, theirs.wall / ours.wall, False)
        if size == "L":
            memory = theirs.memory / ours.memory
            yield Goal(f"{size}: {peer}, memory / recoeval", 10, memory, False)


def _growth(found: Medians) -> Iterator[Goal]:
    """Yields what ten times the rows cost, and five times."""
    small, large = (found.get((Case(size, *INT), "ours")) for size in ("M", "L"))
    if small is not None and large is not None:
        yield Goal("M to L, ten times the rows: wall", 12, large.wall / small.wall)
        yield Goal("M to L, ten times the rows: memory", 4, large.memory / small.memory)
    text, huge = (found.get((Case(size, *TEXT), "ours")) for size in ("L", "huge"))
    if huge is not None:
        yield Goal("huge: memory, GB", 8, huge.memory / 1e9)
    if text is not None and huge is not None:
        yield Goal("L to huge, five times the rows: wall", 6, huge.wall / text.wall)
