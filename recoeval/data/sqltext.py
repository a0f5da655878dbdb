"""The text of SQL rules, word by word: what is written in another way, and what cannot be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

__all__ = [
    "as_floats",
    "as_utc",
    "compared_names",
    "guard_divisors",
    "has_subquery",
    "operators",
    "widen_calls",
    "words_of",
]

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>"[^"]*"|`[^`]*`)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>\w+)
    |(?P<sign>::|//|.)
    """,
    re.DOTALL | re.VERBOSE,
)
_DECIMAL: Final = re.compile(r"\d+\.\d*|\.\d+")
_ZERO: Final = re.compile(r"[0.]+(?:[eE].*)?")
_DIVIDES: Final = {"/", "//", "%"}
_ARITHMETIC: Final = {"+", "-", "*", "|", "&", *_DIVIDES}
_DIVIDING_CALLS: Final = {"mod", "div"}
# polars gives 8 to 32 bits, or no sign: EXTRACT(HOUR FROM t) * 60 would overflow.
_NARROW_CALLS: Final = {
    *("extract", "date_part", "year", "quarter", "month", "week", "day", "hour", "minute"),
    *("second", "length", "char_length", "character_length", "octet_length", "bit_length"),
    *("strpos", "position", "array_length", "bit_count"),
}
_OPENS: Final = {"(": ")", "[": "]"}
_OF_WINDOWS: Final = {"over", "filter"}
_QUERIES: Final = {"select", "from", "with", "values", "table"}


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of a rule: space, text, name, number, word or sign, and how it is written."""

    kind: str
    text: str

    @property
    def word(self) -> str:
        """The keyword or function, in small letters, or ""."""
        return self.text.lower() if self.kind == "word" else ""

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


def _tokens(text: str) -> list[_Token]:
    return [_Token(str(found.lastgroup), found[0]) for found in _TOKEN.finditer(text)]


def _plain(text: str) -> list[_Token]:
    """Returns the tokens without spaces and comments."""
    return [token for token in _tokens(text) if token.kind != "space"]


def words_of(text: str) -> Counter[str]:
    """Returns how often each word stands in a rule outside of quotes, in small letters."""
    return Counter(token.word for token in _tokens(text) if token.word)


def operators(text: str) -> int:
    """Returns the number of AND, OR, NOT and of arithmetic operators between values in a rule."""
    tokens = _plain(text)
    between = sum(
        two.is_sign(*_ARITHMETIC) and (one.kind != "sign" or one.is_sign(")", "]"))
        for one, two in pairwise(tokens)
    )
    return between + sum(token.word in ("and", "or", "not") for token in tokens)


def has_subquery(text: str) -> bool:
    """Returns whether a rule asks for other tables."""
    tokens = _plain(text)
    return any(token.word in ("select", "exists") for token in tokens) or any(
        one.is_sign("(") and two.word in _QUERIES for one, two in pairwise(tokens)
    )


def compared_names(text: str) -> set[str]:
    r"""Returns the names of a rule that something is compared with, as texts often are by mistake.

    They stand right of =, <>, < and the like, and in the list of an IN.

    Example:
        >>> sorted(compared_names("a = click OR \"b\" IN (\"buy\", 'view') OR c > d.e"))
        ['buy', 'click']
    """
    tokens = _plain(text)
    found: set[str] = set()
    for index, token in enumerate(tokens[1:], start=1):
        before, after = tokens[index - 1], tokens[index + 1 : index + 2]
        if token.kind not in ("word", "name") or (after and after[0].is_sign("(", ".")):
            continue
        if before.is_sign("=", "<", ">") or _in_list(tokens, index):
            found.add(token.text if token.kind == "word" else token.text[1:-1])
    return found


def _in_list(tokens: Sequence[_Token], index: int) -> bool:
    """Returns whether a token is a plain value in the list of an IN."""
    while index > 1 and tokens[index - 1].is_sign(","):
        index -= 2
    return index > 1 and tokens[index - 1].is_sign("(") and tokens[index - 2].word == "in"


def as_floats(text: str) -> str:
    """Returns a rule whose decimal numbers are floats: 1.5 is 1.5e0.

    Example:
        >>> as_floats("a > 1.5 AND b = '1.5'")
        "a > 1.5e0 AND b = '1.5'"
    """
    return "".join(
        f"{token.text}e0"
        if token.kind == "number" and _DECIMAL.fullmatch(token.text)
        else token.text
        for token in _tokens(text)
    )


def as_utc(text: str) -> str:
    """Returns a rule whose times are UTC: TIMESTAMP '...' is TIMESTAMPTZ '...'."""
    tokens = _tokens(text)
    return "".join(
        "TIMESTAMPTZ" if token.word == "timestamp" and _before_text(tokens, index) else token.text
        for index, token in enumerate(tokens)
    )


def _before_text(tokens: Sequence[_Token], index: int) -> bool:
    after = _skip(tokens, index + 1)
    return after < len(tokens) and tokens[after].kind == "text"


def guard_divisors(text: str, zero: str = "") -> str:
    """Returns a rule in which a division by zero gives null, not NaN or infinity.

    Args:
        text: the rule.
        zero: an expression that is 0 in every row, and no constant. Polars multiplies by the
            reciprocal of a constant, except in some rows: 3 / 5 would be larger than 0.6 in the
            others.

    Example:
        >>> guard_divisors("a / b + c % ABS(d - 1) / 2")
        'a / NULLIF(b, 0) + c % NULLIF(ABS(d - 1), 0) / 2'
        >>> guard_divisors("a / 5", "0 * id")
        'a / (5 + 0 * id)'
    """
    tokens = _tokens(text)
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    # Inner divisors come later and are closed first.
    for index, token in enumerate(tokens):
        span = _divisor(tokens, index, token)
        if span is None:
            continue
        opened, closed = ("", "") if _is_number(tokens, span) else ("NULLIF(", ", 0)")
        if zero and token.is_sign("/"):
            opened, closed = f"({opened}", f"{closed} + {zero})"
        start, end = span
        before[start] = before.get(start, "") + opened
        after[end] = closed + after.get(end, "")
    return "".join(
        before.get(index, "") + token.text + after.get(index + 1, "")
        for index, token in enumerate(tokens)
    )


def widen_calls(text: str) -> str:
    """Returns a rule in which functions with narrow integer results give 64 bits.

    Example:
        >>> widen_calls("LENGTH(s) - 2")
        '(LENGTH(s) + CAST(0 AS BIGINT)) - 2'
    """
    tokens = _tokens(text)
    starts, ends = Counter[int](), Counter[int]()
    for index, token in enumerate(tokens):
        after = _skip(tokens, index + 1)
        if token.word in _NARROW_CALLS and after < len(tokens) and tokens[after].is_sign("("):
            starts[index] += 1
            ends[_closing(tokens, after)] += 1
    return "".join(
        "(" * starts[index] + token.text + " + CAST(0 AS BIGINT))" * ends[index + 1]
        for index, token in enumerate(tokens)
    )


def _divisor(tokens: Sequence[_Token], index: int, token: _Token) -> tuple[int, int] | None:
    """Returns the first and last + 1 token of what is divided by at a token."""
    if token.is_sign(*_DIVIDES):
        start = _skip(tokens, index + 1)
        end = _operand(tokens, start)
    elif token.word in _DIVIDING_CALLS:
        start, end = _last_argument(tokens, _skip(tokens, index + 1))
    else:
        return None
    words = [part for part in tokens[start:end] if part.kind != "space"]
    # An interval is no number, and is not compared with one.
    return None if not words or words[0].word == "interval" else (start, end)


def _is_number(tokens: Sequence[_Token], span: tuple[int, int]) -> bool:
    """Returns whether an operand is one number, and not 0."""
    words = [part for part in tokens[slice(*span)] if part.kind != "space"]
    return len(words) == 1 and words[0].kind == "number" and not _ZERO.fullmatch(words[0].text)


def _skip(tokens: Sequence[_Token], index: int) -> int:
    """Returns the index of the next token that is no space."""
    while index < len(tokens) and tokens[index].kind == "space":
        index += 1
    return index


def _operand(tokens: Sequence[_Token], start: int) -> int:
    """Returns the end of the operand that begins at a token: signs, a value, what follows it."""
    index = start
    while index < len(tokens) and tokens[index].is_sign("-", "+"):
        index = _skip(tokens, index + 1)
    if index >= len(tokens):
        return start
    end = _value(tokens, index)
    while (longer := _suffix(tokens, end)) > end:
        end = longer
    return end


def _value(tokens: Sequence[_Token], index: int) -> int:
    """Returns the end of a value: a number, a name, a call, brackets, CASE ... END."""
    token = tokens[index]
    if token.is_sign(*_OPENS):
        return _closing(tokens, index)
    if token.word == "case":
        depth = 0
        for place in range(index, len(tokens)):
            depth += {"case": 1, "end": -1}.get(tokens[place].word, 0)
            if not depth:
                return place + 1
        return len(tokens)
    after = _skip(tokens, index + 1)
    if (
        token.word
        and after < len(tokens)
        and (tokens[after].kind == "text" or tokens[after].is_sign("("))
    ):
        return _closing(tokens, after)
    return index + 1


def _suffix(tokens: Sequence[_Token], end: int) -> int:
    """Returns the end of a cast, an index, a field or a window behind a value, or the same."""
    index = _skip(tokens, end)
    if index >= len(tokens):
        return end
    token, after = tokens[index], _skip(tokens, index + 1)
    if token.is_sign("["):
        return _closing(tokens, index)
    if after >= len(tokens):
        return end
    if token.is_sign("::"):
        precision = _skip(tokens, after + 1)
        if precision < len(tokens) and tokens[precision].word == "precision":
            return precision + 1
        return _value(tokens, after)
    if token.is_sign("."):
        return after + 1
    return _value(tokens, after) if token.word in _OF_WINDOWS else end


def _closing(tokens: Sequence[_Token], index: int) -> int:
    """Returns the end of the brackets that open at a token; of any other token, its own."""
    if not tokens[index].is_sign(*_OPENS):
        return index + 1
    depth = 0
    for place in range(index, len(tokens)):
        depth += tokens[place].is_sign(*_OPENS) - tokens[place].is_sign(*_OPENS.values())
        if not depth:
            return place + 1
    return len(tokens)


def _last_argument(tokens: Sequence[_Token], index: int) -> tuple[int, int]:
    """Returns the span of the last argument of a call whose brackets open at a token."""
    if index >= len(tokens) or not tokens[index].is_sign("("):
        return index, index
    close = _closing(tokens, index) - 1
    place = start = index + 1
    while place < close:
        if tokens[place].is_sign(","):
            start = place + 1
        place = _closing(tokens, place)
    return _skip(tokens, start), close
