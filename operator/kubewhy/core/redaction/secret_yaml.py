"""`data` and `stringData` of Secrets in YAML: alone, in a List, among other documents.

Data belongs to the mapping of a `kind: Secret` line if both have the same indentation and no line between them leaves
that mapping. A text with more levels of Secrets than any real one has its data masked whatever the kind.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Generator, Iterator

from kubewhy.core.redaction.environments import scalar
from kubewhy.core.redaction.secret_values import learned
from kubewhy.core.redaction.spans import MASK, Finding

_LEVELS = 16
"""Different indentations of Secrets up to which kinds are told apart; each costs one pass over the text."""

_MOST = 20_000
"""Secrets, and blocks of data, up to which they are told apart; a text with more is masked from the first on."""

_LONGEST = 2 * 1024 * 1024
"""Characters of data up to which its entries are told apart; the API server takes 1 MiB of them at most."""

_KIND = re.compile(
    r"^(?P<indent>[ -]*+)[\"']?kind[\"']?:[ ]*[\"']?Secret(?P<list>List)?[\"']?[ \t]*(?:\#[^\n]*)?\r?$",
    re.MULTILINE,
)
_DATA = re.compile(
    r"^(?P<indent>[ -]*+)(?P<quote>[\"']?)(?P<field>data|stringData)(?P=quote):(?=[ \t\r\n]|\Z)"
    r"[ \t]*+(?P<inline>[^\n]*+)",
    re.MULTILINE,
)
_SHORT = 5
_FIRST = re.compile(r"[^ \n\r\t#]")
_FLOW_PAIR = re.compile(r"[\w.-]+[\"']?:\s*[\"']?([^\s\"',{}]+)")
_EMPTY = frozenset({"", "{}", "null", "~", '""', "''", "|", ">", "|-", ">-"})


def find(text: str) -> Iterator[Finding]:
    """All values of Secrets in YAML."""
    if "Secret" not in text or "ata" not in text:
        return
    kinds = list(itertools.islice(_KIND.finditer(text), _MOST + 1))
    if not kinds:
        return
    levels = {len(kind["indent"]) for kind in kinds}
    every = len(levels) > _LEVELS or any(kind["list"] for kind in kinds)
    candidates = list(itertools.islice(_DATA.finditer(text), _MOST + 1))
    if len(candidates) > _MOST or len(kinds) > _MOST:
        yield candidates[0].start() if candidates else len(text), len(text), MASK, ()
        return
    chosen = [candidates] if every else [_at(text, level, kinds, candidates) for level in levels]
    done = 0
    for match in sorted(itertools.chain.from_iterable(chosen), key=re.Match.start):
        if match.start() >= done:
            done = yield from _values(text, match)


def _at(
    text: str, level: int, kinds: list[re.Match[str]], candidates: list[re.Match[str]]
) -> Iterator[re.Match[str]]:
    """The data at this indentation that shares its mapping with a kind at the same indentation."""
    lines = [match for match in (*kinds, *candidates) if len(match["indent"]) == level]
    lines.sort(key=re.Match.start)
    leave = _leaving(level)
    group: list[re.Match[str]] = []
    for match in lines:
        if group and leave.search(text, group[-1].end(), match.end("indent")):
            yield from _of_secret(group)
            group = []
        group.append(match)
    yield from _of_secret(group)


def _of_secret(group: list[re.Match[str]]) -> list[re.Match[str]]:
    data = [match for match in group if match.re is _DATA]
    return data if len(data) < len(group) else []


@functools.lru_cache(maxsize=64)
def _leaving(level: int) -> re.Pattern[str]:
    """A line that ends a mapping of this indentation: one further left, or a new document."""
    left = rf"[ ]{{0,{level - 1}}}[^ \n\r#]|" if level else ""
    return re.compile(rf"^(?:{left}---|\.\.\.)", re.MULTILINE)


@functools.lru_cache(maxsize=64)
def _dedent(level: int) -> re.Pattern[str]:
    return re.compile(rf"^[ ]{{0,{level}}}[^ \n\r\t#]", re.MULTILINE)


@functools.lru_cache(maxsize=64)
def _entry(level: int) -> re.Pattern[str]:
    return re.compile(
        rf"^[ ]{{{level}}}[\"']?[\w.-]+[\"']?:(?=[ \t\r\n]|\Z)[ \t]*+"
        rf"(?P<value>[^\n]*+(?:\n(?:[ ]{{{level + 1},}}[^\n]*+|[ \t\r]*(?=\n|\Z)))*+)",
        re.MULTILINE,
    )


def _values(text: str, data: re.Match[str]) -> Generator[Finding, None, int]:
    """The values of one `data`; returns where it ends."""
    encoded = data["field"] == "data"
    inline = data["inline"].split(" #")[0].strip()
    if inline == "{" and data["quote"]:
        return data.end()  # JSON, which has a rule of its own
    if inline and inline[0] != "#":
        if inline not in _EMPTY:
            start = text.index(inline, data.start("inline"))
            pairs = _FLOW_PAIR.findall(inline)
            values = [value for raw in pairs for value in learned(raw, encoded=encoded)]
            yield start, start + len(inline), MASK, tuple(values)
        if inline[0] not in "|>{":
            return data.end()
    start = data.end() + 1
    stop = _dedent(len(data["indent"])).search(text, start)
    end = stop.start() if stop else len(text)
    if end - start > _LONGEST:
        yield start, end - 1, MASK, ()
    elif start < end:
        yield from _entries(text, start, end, encoded)
    return end


def _entries(text: str, start: int, end: int, encoded: bool) -> Iterator[Finding]:
    first = _FIRST.search(text, start, end)
    if first is None:
        return
    level = first.start() - (text.rfind("\n", start - 1, first.start()) + 1)
    done = start
    for match in _entry(level).finditer(text, start, end):
        if match.start() > done:
            yield from _rest(text, done, match.start())
        done = match.end() + 1
        value = match[1].strip()
        if value not in _EMPTY:
            at = text.index(value, match.start(1))
            plain = scalar(value) if len(value) > _SHORT else ""
            yield at, at + len(value), MASK, learned(plain, encoded=encoded)
    yield from _rest(text, done, end)


def _rest(text: str, start: int, end: int) -> Iterator[Finding]:
    """What is no entry inside the data, such as a line cut in two, is masked as a whole."""
    piece = text[start:end]
    bare = piece.strip()
    if bare and not all(line.strip().startswith("#") for line in bare.split("\n")):
        at = start + piece.index(bare)
        yield at, at + len(bare), MASK, ()
