"""`data` and `stringData` of Secrets in JSON: alone, in a List, and in the annotation that `kubectl apply` leaves.

An object is known by its `kind`, which may stand before or after its data. Both belong to the same object if the
braces between them balance. Where that can't be told cheaply the data is masked.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from kubewhy.core.redaction.json_text import ESCAPED, PLAIN, Level, decoded
from kubewhy.core.redaction.secret_values import learned
from kubewhy.core.redaction.spans import MASK, Finding

_GAP = 64 * 1024
"""Characters between kind and data up to which the braces are counted."""

_MOST = 20_000
"""Secrets, and objects of data, up to which they are told apart; a text with more is masked from there on."""

_LONGEST = 2 * 1024 * 1024
"""Characters of data up to which its entries are told apart; the API server takes 1 MiB of them at most."""

_BRACES = re.compile(r"[{}]")
_STEP = {"{": 1, "}": -1}


class _Patterns:
    """The patterns of one level of quoting."""

    def __init__(self, level: Level) -> None:
        quote, content, space = level.quote, level.content, level.space
        string = f"{quote}{content}{quote}"
        self.level = level
        self.kind = re.compile(
            rf"{quote}kind{quote}{space}:{space}{quote}Secret(?P<list>List)?{quote}"
        )
        self.data = re.compile(
            rf"{quote}(?P<field>data|stringData){quote}{space}:{space}\{{"
            rf"(?P<body>(?:{space},?{space}{string}{space}:{space}(?:{string}|null))*+{space})"
        )
        self.pair = re.compile(rf"{string}{space}:{space}{quote}(?P<value>{content}){quote}")
        self.string = re.compile(string)


_LEVELS = (_Patterns(PLAIN), _Patterns(ESCAPED))
_DEEP_KIND = re.compile(r"\\{2,}\"kind\\{2,}\"\s*:\s*\\{2,}\"Secret")
_DEEP_DATA = re.compile(r"\\{2,}\"(?:data|stringData)\\{2,}\"\s*:\s*\{(?P<body>[^{}]*+)")


def find(text: str) -> Iterator[Finding]:
    """All values of Secrets in JSON."""
    if "Secret" not in text or "ata" not in text:
        return
    for patterns in _LEVELS:
        yield from _find(text, patterns)
    if _DEEP_KIND.search(text):
        yield from ((*match.span("body"), MASK, ()) for match in _DEEP_DATA.finditer(text))


def _find(text: str, patterns: _Patterns) -> Iterator[Finding]:
    kinds = list(itertools.islice(patterns.kind.finditer(text), _MOST + 1))
    if not kinds:
        return
    every = any(kind["list"] for kind in kinds)
    budget = len(text)
    after = 0
    for number, data in enumerate(patterns.data.finditer(text)):
        if number >= _MOST or len(kinds) > _MOST:
            yield data.start("body"), len(text), MASK, ()
            return
        while after < len(kinds) and kinds[after].start() < data.end():
            after += 1
        pairs = (
            (kinds[after - 1], data) if after else None,
            (data, kinds[after]) if kinds[after:] else None,
        )
        budget -= sum(second.start() - first.end() for first, second in filter(None, pairs))
        if every or budget < 0 or any(_same(text, patterns, *pair) for pair in pairs if pair):
            yield from _values(text, data, patterns)


def _same(text: str, patterns: _Patterns, first: re.Match[str], second: re.Match[str]) -> bool:
    """Whether both stand in the same object."""
    start, end = first.end(), second.start()
    if end - start > _GAP:
        return True
    between = text[start:end]
    if first.re is patterns.data:
        between = between.lstrip().removeprefix("}")
    braces = _BRACES.findall(patterns.string.sub("", between))
    depths = list(itertools.accumulate(map(_STEP.__getitem__, braces)))
    return not depths or (min(depths) >= 0 and depths[-1] == 0)


def _values(text: str, data: re.Match[str], patterns: _Patterns) -> Iterator[Finding]:
    start, end = data.span("body")
    if end - start > _LONGEST:
        yield start, end, MASK, ()
        return
    encoded = data["field"] == "data"
    for pair in patterns.pair.finditer(text, start, end):
        value = decoded(pair["value"], patterns.level)
        yield *pair.span("value"), MASK, learned(value, encoded=encoded)
    if not text.startswith("}", end):
        yield end, _cut_end(text, end), MASK, ()


def _cut_end(text: str, start: int) -> int:
    """Data that doesn't end as it should is masked to the end of its line or object."""
    stops = (text.find(stop, start, start + _GAP) for stop in ("}", "\n"))
    return min((stop for stop in stops if stop >= 0), default=min(len(text), start + _GAP))
