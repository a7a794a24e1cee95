"""JSON from strangers, read so that nothing odd gets past: one declared error for everything that is wrong.

Python's own reader keeps the last of duplicate keys, takes NaN and lone surrogates, and fails with three
different exceptions on deep nesting and long numbers. Callers of `read` need to know one.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from kubewhy import errors

MAX_DEPTH = 32
"""Nested arrays and objects; an Alertmanager message has four levels."""

MAX_CONTAINERS = 100_000
"""Opening brackets of all kinds. A 4 MiB text of brackets alone would become hundreds of megabytes."""

MAX_NUMBER_LENGTH = 32
"""Characters of one number."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read(data: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        errors.PayloadError: not UTF-8, a byte-order mark, no JSON, duplicate keys, NaN or infinity, a number
            too long, too many or too deeply nested arrays and objects, or a lone surrogate. Its text says
            which, and holds nothing of the data.
    """
    text = _decode(data)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except RecursionError:
        raise errors.PayloadError(_too_deep()) from None
    except json.JSONDecodeError as error:
        raise errors.PayloadError(f"not JSON: {error.msg} at character {error.pos}") from None
    _check(value)
    return value


def _decode(data: bytes) -> str:
    if data.startswith(_BYTE_ORDER_MARK):
        raise errors.PayloadError("not JSON: begins with a byte-order mark")
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS:
        raise errors.PayloadError(f"more than {MAX_CONTAINERS} arrays and objects")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.PayloadError(f"not UTF-8 at byte {error.start}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise errors.PayloadError("an object has the same key twice")
    return value


def _integer(digits: str) -> int:
    _check_length(digits)
    return int(digits)


def _float(digits: str) -> float:
    _check_length(digits)
    value = float(digits)
    if not math.isfinite(value):
        raise errors.PayloadError("a number is out of range")
    return value


def _check_length(digits: str) -> None:
    if len(digits) > MAX_NUMBER_LENGTH:
        raise errors.PayloadError(f"a number has more than {MAX_NUMBER_LENGTH} characters")


def _constant(name: str) -> NoReturn:
    raise errors.PayloadError(f"{name} is not a JSON number")


def _check(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    if any(isinstance(child, dict | list) for child in level):
        raise errors.PayloadError(_too_deep())
    for child in level:
        _children(child)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list):
        return value
    if isinstance(value, str) and not _encodable(value):
        raise errors.PayloadError("a string holds half of a surrogate pair")
    return []


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _too_deep() -> str:
    return f"arrays and objects are nested more than {MAX_DEPTH} deep"
