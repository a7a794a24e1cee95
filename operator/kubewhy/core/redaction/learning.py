"""Removes values where they stand without a label: the operator's own keys, and what labels in the text gave away."""

from __future__ import annotations

import base64
import operator
import re
import urllib.parse
from collections.abc import Collection, Iterable, Iterator, Sequence

from kubewhy.core.redaction.spans import MASK, Finding, Span

SHORTEST_KNOWN = 4
"""Characters of the shortest known value that is removed."""

SEARCH_BUDGET = 200_000_000
"""Characters that searches for learned values may read in all; about 0.2 s. At least `FEWEST` values are searched."""

FEWEST = 8
LONGEST = 16 * 1024

_SHORTEST = 6
_SURE = 8
_SLASHES = 64
_ORDINARY_TEXT = (
    "password passwd changeme postgres postgresql mongodb rabbitmq mariadb elastic elasticsearch kibana grafana "
    "prometheus admin administrator username kubernetes default localhost production staging development service "
    "database application enabled disabled example undefined unknown internal external secret secrets string "
    "value opaque redacted required optional docker nginx redis mysql kafka vault minio keycloak"
)
_ORDINARY = frozenset(_ORDINARY_TEXT.split())
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?\Z")
_NUMBER = re.compile(r"[\d.:,/ _-]+\Z")


def known_spans(text: str, known: Collection[str]) -> Iterator[Span]:
    """Every occurrence of a known value, in plain, Base64 and URL form."""
    for value in known:
        if len(value) >= SHORTEST_KNOWN and value not in MASK:
            yield from _spans(text, forms(value))


def learned_spans(text: str, findings: Iterable[Finding]) -> list[Span]:
    """Every further occurrence of what the findings learned, the first ones first, as far as the budget goes."""
    most = max(FEWEST, SEARCH_BUDGET // (8 * (len(text) + 1)))
    values: dict[str, None] = {}
    for learn in dict.fromkeys(map(operator.itemgetter(3), findings)):
        if len(values) >= most:
            break
        values.update((value, None) for value in learn if is_telling(value))
    return [span for value in values for span in _spans(text, forms(value))]


def is_telling(value: str) -> bool:
    """Whether the value is so special that it can be removed elsewhere without hitting ordinary words."""
    if not _SHORTEST <= len(value) <= LONGEST or MASK in value or value.lower() in _ORDINARY:
        return False
    if _NUMBER.match(value):
        return len(value) > _SURE and value.isdigit()
    if len(value) < _SURE:
        return not value.isalpha()
    return not _HOST.match(value)


def forms(value: str) -> Sequence[str]:
    """The value and how it looks in URLs, in JSON and in Base64, the latter at any offset in a longer text."""
    found = {
        value: None,
        urllib.parse.quote(value, safe=""): None,
        urllib.parse.quote_plus(value): None,
    }
    if '"' in value or "\\" in value or "\n" in value:
        found[value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")] = None
    if len(value) >= _SHORTEST:
        raw = value.encode("utf-8", "surrogatepass")
        found[base64.b64encode(raw).decode()] = None
        for offset in range(3):
            core = _core(raw, offset)
            found[core] = None
            found[core.replace("+", "-").replace("/", "_")] = None
    return [form for form in found if len(form) >= SHORTEST_KNOWN and form not in MASK]


def _core(raw: bytes, offset: int) -> str:
    """The characters of the Base64 form that don't depend on what stands before and after the value."""
    text = base64.b64encode(b"\0" * offset + raw).decode()
    return text[-(-offset * 8 // 6) : (offset + len(raw)) * 8 // 6]


def _spans(text: str, values: Iterable[str]) -> Iterator[Span]:
    for value in values:
        at = text.find(value)
        while at >= 0:
            end = at + len(value)
            yield (_before_escape(text, at), end, MASK)
            at = text.find(value, end)


def _before_escape(text: str, at: int) -> int:
    """One earlier where the value begins inside an escape such as `\\n`, which would be left as half of one."""
    slashes = 0
    while slashes < min(at, _SLASHES) and text[at - 1 - slashes] == "\\":
        slashes += 1
    return at - slashes % 2
