"""Pieces of patterns for JSON in a text, both plain and inside one JSON string, as in a last-applied annotation."""

from __future__ import annotations

import json
from typing import NamedTuple


class Level(NamedTuple):
    """Patterns of a quote, of what a string holds, and of the space between tokens."""

    quote: str
    content: str
    space: str
    depth: int


PLAIN = Level(quote='"', content=r'(?:[^"\\]|\\.)*+', space=r"\s*+", depth=0)
ESCAPED = Level(
    quote=r'\\"',
    content=r'(?:[^"\\]|\\\\(?:\\\\|\\"|[^"\\])|\\[^"\\])*+',
    space=r"(?:\s|\\[nrt])*+",
    depth=1,
)


def decoded(raw: str, level: Level) -> str:
    """What the raw content of a string says; the content itself where it is no JSON."""
    for _ in range(level.depth + 1):
        if "\\" not in raw:
            break
        try:
            raw = str(json.loads(f'"{raw}"', strict=False))
        except ValueError:
            break
    return raw
