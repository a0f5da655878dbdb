"""The page "Coming from X": what equals what, what does not and why, how to move over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from data import TINY
from environments import Peer
from matching import NO_ORDER, Match, compute
from ours import POPULATIONS, label_of
from reasons import Reason, means_of, moving_from, reasons_of

__all__ = ["Result", "write_page"]


@dataclass(frozen=True, slots=True)
class Result:
    """What was found for a peer.

    Args:
        peer: the peer.
        found: version, python and values.
        matches: one a metric.
        ties: metrics by order of equal scores.
    """

    peer: Peer
    found: Mapping[str, Any]
    matches: Sequence[Match]
    ties: Mapping[str, Sequence[str]]


INTRODUCTION = """\
What other libraries compute, and which option here gives the same number. `scripts/peers` wrote
this page: it runs each library in an environment of its own on the same random lists ({versions};
Python {python}), and compares with everything that recoeval can compute, user by user where the
library has values of users. The values for the small cases are kept in `tests/peers`, and CI holds
recoeval to them.

The lists: 16 users in each of five cases and 400 in a sixth; users without a list, without a
relevant item, with a list of three items, with more and with fewer relevant items than K, with a
single one; gains of 1 and of 1 to 4; items without a train row. K is 5 and 10."""

CONTENTS = """\
Contents: [equal](#equal) · [different](#different) · [equal scores](#equal-scores) ·
[moving over](#moving-over)
"""

EQUAL = """
## Equal

The difference is the largest over all users, cases and depths: rounding, in float32 for
torchmetrics. `@1000` stands for a depth beyond every list; `auprc` is also written
`map(denominator=relevant)`. The last column says whom the library's own mean is taken over:

"""

DIFFERENT = """
## Different

Nothing here equals these. The examples are taken from these users, with K = 2 where there is a
depth; the train rows matter for the metrics of the catalogue alone.

"""

TIES = """
## Equal scores

Which order of items with the same score gives the library's numbers. Here it is the lowest item
id first, for TREC files the highest document id, as trec_eval has it; `rank` decides where it is
given ([preparing a list](definitions.md#preparing-a-list)).

| library | order |
|---|---|
"""


def write_page(results: Sequence[Result]) -> str:
    """Returns the page as Markdown.

    Raises:
        SystemExit: a metric differs and reasons.py does not say why, or says so without need.
    """
    _check_reasons(results)
    titles = [result.peer.title for result in results]
    versions = ", ".join(f"{result.peer.title} {result.found['version']}" for result in results)
    page = f"# Coming from {', '.join(titles[:-1])} or {titles[-1]}\n\n"
    introduction = INTRODUCTION.format(versions=versions, python=results[0].found["python"])
    for paragraph in introduction.split("\n\n"):
        page += f"{_wrap(paragraph)}\n\n"
    page += CONTENTS
    page += EQUAL
    page += "".join(f"- {code}: {text}\n" for code, text in _populations(results).items())
    page += "\n| library | its metric | here | difference | mean over |\n|---|---|---|---|---|\n"
    page += "".join(line for result in results for line in _equal_rows(result))
    page += DIFFERENT + _tiny_table()
    page += "".join(line for result in results for line in _different(result))
    page += TIES + "".join(_tie_row(result) for result in results)
    page += "\n## Moving over\n"
    for result in results:
        page += f"\n### From {result.peer.title}\n\n"
        page += "".join(f"{_wrap(line, '- ', '  ')}\n" for line in moving_from(result.peer.name))
    return page


def _wrap(text: str, first: str = "", rest: str = "") -> str:
    """Returns the text in lines of at most 100 characters."""
    return fill(
        text,
        100,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


NAMES = {
    "relevant": "relevant",
    "listed": "listed and relevant",
    "everyone": "all",
    "everyone_one": "all, one",
    "lists": "listed",
    "lists_one": "listed, one",
    "null_is_0": "null is 0",
}
"""Short names of the populations."""


def _populations(results: Iterable[Result]) -> dict[str, str]:
    """Returns the short names that are used, with what they mean."""
    used = {match.population for result in results for match in result.matches if match.equal}
    return {f"*{NAMES[key]}*": text for key, text in POPULATIONS.items() if key in used}


def _check_reasons(results: Iterable[Result]) -> None:
    for result in results:
        reasons, means = reasons_of(result.peer.name), means_of(result.peer.name)
        differing = {match.metric for match in result.matches if not match.equal}
        other_means = {match.metric for match in result.matches if match.equal} & {
            match.metric for match in result.matches if match.population is None
        }
        for known, found in ((reasons.keys(), differing), (means.keys(), other_means)):
            if known != found:
                raise SystemExit(
                    f"reasons.toml, {result.peer.name}: nothing is said of {found - known},"
                    f" too much of {known - found}"
                )


def _equal_rows(result: Result) -> Iterator[str]:
    means = means_of(result.peer.name)
    for match in result.matches:
        if match.equal:
            numbers = [number for number in (match.users, match.mean) if number is not None]
            mean = means.get(match.metric) or NAMES[match.population or ""]
            yield (
                f"| {result.peer.title} | `{match.metric}` | {_ours(match)} |"
                f" {_difference(max(numbers))} | {mean} |\n"
            )


def _ours(match: Match) -> str:
    return match.form.format(f"`{match.ours}`")


def _difference(value: float) -> str:
    return f"{value:.0e}" if value else "0"


def _tiny_table() -> str:
    lines = ["| user | list | relevant: gain | train |", "|---|---|---|---|"]
    for user in map(str, TINY["users"]):
        listed = ", ".join(str(item) for item, _ in TINY["lists"].get(user, [])) or "none"
        relevant = ", ".join(f"{item}: {gain}" for item, gain in TINY["truth"][user])
        train = ", ".join(map(str, TINY["train"][user]))
        lines.append(f"| {user} | {listed} | {relevant} | {train} |")
    return "\n".join(lines) + "\n"


def _different(result: Result) -> Iterator[str]:
    differing = [match for match in result.matches if not match.equal]
    if differing:
        yield f"\n### {result.peer.title}\n\n"
    for match in differing:
        reason = reasons_of(result.peer.name)[match.metric]
        text = reason.why
        if match.ours is not None:
            text += f" Equal to {_ours(match)} {match.where}."
        example = _example(result, match, reason)
        yield f"{_wrap(f'`{match.metric}`: {text}')}\n\n```text\n{example}\n```\n\n"


def _example(result: Result, match: Match, reason: Reason) -> str:
    """Returns two lines: theirs and ours, of the first user of the tiny case that differs most."""
    (row,) = [
        row
        for row in result.found["values"]
        if row["metric"] == match.metric and row["case"] == "tiny" and row["k"] in (2, None)
    ]
    label = label_of(reason.nearest, row["k"])
    ours = compute("tiny", "relevant")
    theirs_label = match.metric.replace("K", str(row["k"])) if row["k"] else match.metric
    where, theirs, own = "all users", row["mean"], ours.means[label]
    if row["users"] is not None and label in ours.users:
        each = ours.users[label]
        apart = {
            user: abs(value - own_value)
            for user, value in row["users"].items()
            if value is not None and (own_value := each.get(user)) is not None
        }
        user = max(apart, key=lambda user: apart[user])
        where, theirs, own = f"user {user}", row["users"][user], each[user]
    width = max(len(result.peer.title), len("recoeval"))
    return (
        f"{result.peer.title:{width}}  {where}  {theirs_label} = {theirs:.6g}\n"
        f"{'recoeval':{width}}  {where}  {label} = {own:.6g}"
    )


def _tie_row(result: Result) -> str:
    parts = []
    for number, (order, metrics) in enumerate(result.ties.items()):
        said = "no fixed one" if order == NO_ORDER else order
        named = ", ".join(f"`{metric}`" for metric in metrics)
        parts.append(f"for {named}: {said}" if number else said)
    return f"| {result.peer.title} | {'; '.join(parts)} |\n"
