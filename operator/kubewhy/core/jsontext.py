"""JSON as models write it: found inside prose, read with bounds, never repaired.

Callers learn what is wrong in words that a model can act on. Nothing here knows tools or answers.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

DEEPEST = 32
"""Levels of nesting that are read; real arguments and answers need fewer than ten."""

SCANNED = 256 * 1024
"""Characters of a text in which JSON is looked for."""

ATTEMPTS = 64
"""Opening brackets of one text that are tried, which bounds the work on hostile text."""

_OPENING = re.compile(r"[{\[]")
_INT64 = 2**63
_INT64_DIGITS = 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A JSON object or array inside a text: `text[start:end]`."""

    start: int
    end: int
    value: Any


def decode(text: str) -> tuple[Any, str]:
    """Read the one JSON value at the start of `text`; returns it and the text after it.

    Line breaks inside strings are accepted, because models write them.

    Raises:
        ValueError: no valid JSON, a name that stands twice in one object, NaN or infinity, a number
            outside 64 bits, more than `DEEPEST` levels, an unpaired surrogate or a NUL character.
    """
    stripped = text.lstrip()
    try:
        value, end = _STRICT.raw_decode(stripped)
    except json.JSONDecodeError as error:
        message = (
            f"not valid JSON: {error.msg} at character {error.pos + len(text) - len(stripped)}"
        )
        raise ValueError(message) from None
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    check(value)
    return value, stripped[end:]


def find(text: str) -> Iterator[Found]:
    """All JSON objects and arrays in a text, in order, outermost first, none twice.

    Values nested deeper than `DEEPEST` are passed over. Of a name that stands twice the last wins.
    """
    text = text[:SCANNED]
    position = 0
    for _ in range(ATTEMPTS):
        opening = _OPENING.search(text, position)
        if not opening:
            return
        found = _value_at(text, opening.start())
        if found:
            yield found
        position = found.end if found else opening.end()


def check(value: Any) -> None:
    """Refuse values that other parts can't store or pass on.

    Raises:
        ValueError: too deep, an unpaired surrogate, or a NUL character.
    """
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        if not level:
            return
        for text in (item for item in level if isinstance(item, str)):
            _check_text(text)
        level = [child for item in level for child in _children(item)]
    raise ValueError(f"nested deeper than {DEEPEST} levels")


def _value_at(text: str, position: int) -> Found | None:
    try:
        value, end = _LENIENT.raw_decode(text, position)
        check(value)
    except (ValueError, RecursionError):
        return None
    return Found(start=position, end=end, value=value)


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else ()


def _check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("a string holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a string holds an unpaired surrogate") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {double[:64]!r} stands twice in one object")
    return values


def _integer(digits: str) -> int:
    if len(digits) > _INT64_DIGITS or not -_INT64 <= int(digits) < _INT64:
        raise ValueError(f"the number {digits[:24]} is outside the range of 64 bits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:24]} is too large")
    return value


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
    strict=False,
)
_LENIENT = json.JSONDecoder(
    parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=False
)
