"""An alert's texts, cleaned, redacted and cut to what an Investigation may hold (alertmanager.md §10).

What identifies and describes the alert is kept first, the rest in alphabetical order, so equal alerts are cut alike.
Credentials are masked before anything is cut, because a cut credential has no shape left.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kubewhy.api import bounds
from kubewhy.core import redaction, untrusted

NAME_BYTES = 1024
VALUE_BYTES = bounds.ALERT_VALUE
TOTAL_BYTES = bounds.ALERT_PAIRS_TOTAL
PAIRS = bounds.ALERT_PAIRS

_FIRST_LABELS = (
    "alertname",
    "severity",
    "namespace",
    "exported_namespace",
    "pod",
    "exported_pod",
    "container",
    "exported_container",
    "deployment",
    "statefulset",
    "daemonset",
    "job_name",
    "node",
    "service",
    "cluster",
)
_SEPARATOR = "\n\x1e\n"  # a control character, so no cleaned text holds it
_SHORTEST_CREDENTIAL = 16  # characters that a credential without a label has at least
_PAIR_SIGNS = frozenset(":=")
_FIRST_ANNOTATIONS = ("summary", "description", "message", "runbook_url")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """A bounded map of texts; `truncated` says that something was cut or left out."""

    values: Mapping[str, str]
    truncated: bool = False


def texts(value: Mapping[str, Any]) -> dict[str, str]:
    """The entries that are text; numbers and truth values as JSON writes them. Others are left out."""
    return {
        name: entry if isinstance(entry, str) else json.dumps(entry)
        for name, entry in value.items()
        if isinstance(entry, str | int | float)
    }


def without_credentials(texts_: Sequence[str]) -> list[str]:
    """The texts of one alert, cleaned, with the credentials in them masked.

    They are looked at together, so what one of them gives away is masked in all; and in one go, because a message
    may bring thousands of alerts. Names are no part of it: kube-state-metrics' label `secret` holds the name of one.
    """
    found = [untrusted.clean(text) for text in texts_]
    asked = [index for index, text in enumerate(found) if _may_hold_credentials(text)]
    if not asked:
        return found
    masked = redaction.redact(_SEPARATOR.join(found[index] for index in asked)).split(_SEPARATOR)
    if len(masked) != len(asked):  # a rule took several texts for one
        masked = [redaction.redact(found[index]) for index in asked]
    for index, text in zip(asked, masked, strict=True):
        found[index] = text
    return found


def _may_hold_credentials(text: str) -> bool:
    return len(text) >= _SHORTEST_CREDENTIAL or not _PAIR_SIGNS.isdisjoint(text)


def label_pairs(values: Mapping[str, str]) -> Pairs:
    """Labels for storing, each on one line."""
    return _bounded(values, first=_FIRST_LABELS, clean=untrusted.clean_line)


def annotation_pairs(values: Mapping[str, str]) -> Pairs:
    """Annotations for storing; they may have several lines."""
    return _bounded(values, first=_FIRST_ANNOTATIONS, clean=untrusted.clean)


def _bounded(
    values: Mapping[str, str], *, first: tuple[str, ...], clean: Callable[[str], str]
) -> Pairs:
    kept: dict[str, str] = {}
    room, truncated = TOTAL_BYTES, False
    for name in _ordered(values, first):
        shown = untrusted.clean_line(name)
        size = len(shown.encode())
        if not shown or shown in kept or size > min(NAME_BYTES, room) or len(kept) == PAIRS:
            truncated = True
            continue
        cleaned = clean(values[name])
        text = untrusted.cut(cleaned, min(VALUE_BYTES, room - size))
        truncated = truncated or text != cleaned
        if text or not cleaned:
            kept[shown] = text
            room -= size + len(text.encode())
    return Pairs(values=kept, truncated=truncated)


def _ordered(values: Mapping[str, str], first: tuple[str, ...]) -> Iterable[str]:
    yield from (name for name in first if name in values)
    yield from sorted(values.keys() - set(first))
