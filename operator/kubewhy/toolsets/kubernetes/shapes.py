"""Reading JSON of any shape without trusting it: custom resources, half-written status, odd types.

Every function returns an empty value of the promised type where the field is absent or of another type.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]


def dig(value: Any, *path: str) -> Any:
    """The value at the path, None where a step is missing or is no mapping."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: Any, *path: str) -> str:
    """The scalar at the path as text, "" where there is none."""
    found = dig(value, *path)
    if isinstance(found, bool):
        return str(found).lower()
    return str(found) if isinstance(found, str | int | float) else ""


def number(value: Any, *path: str, default: int = 0) -> int:
    """The whole number at the path, `default` where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def mapping(value: Any, *path: str) -> Object:
    """The mapping at the path, empty where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, Mapping) else {}


def mappings(value: Any, *path: str) -> list[Object]:
    """The mappings in the list at the path."""
    found = dig(value, *path)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def moment(value: Any, *path: str) -> datetime.datetime | None:
    """The RFC 3339 time at the path, aware; None where there is none or it can't be read."""
    found = dig(value, *path)
    if not isinstance(found, str):
        return None
    try:
        read = datetime.datetime.fromisoformat(found)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)
