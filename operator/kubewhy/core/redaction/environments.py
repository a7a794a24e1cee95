"""Entries of environments in manifests: `name: DB_PASSWORD` beside `value: …`, in YAML and in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubewhy.core.redaction import names
from kubewhy.core.redaction.json_text import ESCAPED, PLAIN, Level
from kubewhy.core.redaction.spans import MASK, Finding

_NAME = r"[\"']?(?P<name>[A-Za-z_.][\w.-]{0,100})[\"']?[ \t]*\r?"
_YAML = re.compile(
    rf"^[ ]*+(?:-[ ]+)?name:[ ]+{_NAME}\n(?P<indent>[ ]*+)value:[ \t]*+"
    r"(?P<value>[^\n]*+(?:\n(?P=indent)[ ]+[^\s][^\n]*+)*+)",
    re.MULTILINE,
)
_YAML_SWAPPED = re.compile(
    rf"^[ ]*+(?:-[ ]+)?value:[ \t]*+(?P<value>[^\n]++)\n[ ]*+name:[ ]+{_NAME}$", re.MULTILINE
)
_BARE = frozenset({"", "|", ">", '""', "''", "null", "~"})


def _json(level: Level) -> tuple[re.Pattern[str], ...]:
    quote, space, content = level.quote, level.space, level.content
    name = rf"{quote}name{quote}{space}:{space}{quote}(?P<name>[A-Za-z_.][\w.-]{{0,100}}){quote}"
    value = rf"{quote}value{quote}{space}:{space}{quote}(?P<value>{content}){quote}"
    return (
        re.compile(rf"{name}{space},{space}{value}"),
        re.compile(rf"{value}{space},{space}{name}"),
    )


_PATTERNS = (*_json(PLAIN), *_json(ESCAPED))


def find(text: str) -> Iterator[Finding]:
    """All values of environment entries with a sensitive name."""
    if "value:" in text:
        yield from _yaml(text, _YAML)
        yield from _yaml(text, _YAML_SWAPPED)
    if 'value"' in text or 'value\\"' in text:
        for pattern in _PATTERNS:
            for match in pattern.finditer(text):
                if match["value"] and names.is_sensitive(match["name"]):
                    start, end = match.span("value")
                    yield start, end, MASK, (match["value"],)


def _yaml(text: str, pattern: re.Pattern[str]) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        value = match["value"].strip()
        if value in _BARE or not names.is_sensitive(match["name"]):
            continue
        start = match.start("value") + match["value"].index(value)
        yield start, start + len(value), MASK, (scalar(value),)


def scalar(value: str) -> str:
    """What a YAML scalar says: without quotes, and without the header of a block."""
    if value[:1] in {"|", ">"}:
        _, _, body = value.partition("\n")
        return "\n".join(line.strip() for line in body.split("\n"))
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
