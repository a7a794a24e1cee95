"""An Investigation as text for the terminal, and whether it says what it must. Pure."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import workload

Investigation = Mapping[str, Any]

RESOLVED_AT = "alert.kubewhy.internal/resolved-at"
"""The annotation by which the webhook notes on an Investigation that its alert no longer fires."""

WIDTH = 110
_MOST_LISTED = 6


def condition(investigation: Investigation, type_: str) -> tuple[str, str]:
    """Status and reason of a condition; two empty strings where it is not there."""
    for found in _status(investigation).get("conditions") or ():
        if found["type"] == type_:
            return found["status"], found.get("reason", "")
    return "", ""


def concluded(investigation: Investigation) -> bool:
    """Whether Succeeded is True or False."""
    return condition(investigation, "Succeeded")[0] in ("True", "False")


def complete(investigation: Investigation) -> bool:
    """Whether it is concluded and everything of it is written: the operator sets `finished` last."""
    return concluded(investigation) and bool(_status(investigation).get("finished"))


def resolved(investigation: Investigation) -> bool:
    """Whether the end of its alert is noted on it."""
    return RESOLVED_AT in (investigation["metadata"].get("annotations") or {})


def starts_at(investigation: Investigation) -> datetime.datetime | None:
    """The startsAt of the alert that asked; None where no alert did."""
    for alert in investigation.get("spec", {}).get("alerts") or ():
        if alert.get("startsAt"):
            return datetime.datetime.fromisoformat(alert["startsAt"])
    return None


def answer(investigation: Investigation) -> str:
    """Root cause, its evidence, what was ruled out, and the next commands."""
    status = _status(investigation)
    cause = status.get("rootCause") or {}
    confidence = f" (confidence {cause['confidence']})" if cause.get("confidence") else ""
    parts = [
        _section(f"Root cause{confidence}", [cause.get("statement") or status.get("summary", "")]),
        _section("Evidence", list(_evidence(cause, _tools(status)))),
        _section("Also seen", [found["statement"] for found in status.get("findings") or ()]),
        _section("Ruled out", [found["statement"] for found in status.get("ruledOut") or ()]),
        _actions(status.get("actions") or ()),
    ]
    return "\n\n".join(part for part in parts if part)


def complaints(investigation: Investigation, expected: workload.Expected) -> list[str]:
    """What is wrong with the answer; empty where it is right."""
    found = []
    status = _status(investigation)
    succeeded = condition(investigation, "Succeeded")
    if succeeded != ("True", "RootCauseFound"):
        found.append(
            f"Succeeded is {' '.join(succeeded).strip() or 'absent'} and not True RootCauseFound"
        )
    cause = status.get("rootCause") or {}
    found += [
        f"the root cause does not say {words!r}"
        for words in expected.words
        if words not in cause.get("statement", "")
    ]
    quotes = [one for one in cause.get("evidence") or () if one.get("verified")]
    if not any(words in one["quote"] for one in quotes for words in expected.words):
        found.append("no verified quote holds the decisive words")
    if investigation["metadata"]["namespace"] != expected.namespace:
        found.append(f"it is not in namespace {expected.namespace}")
    named = (cause.get("subject") or {}).get("name") or status.get("subject", "").partition("/")[2]
    if named != expected.name and not named.startswith(f"{expected.name}-"):
        found.append(f"it is about {named or 'nothing'} and not about {expected.name}")
    return found


def _status(investigation: Investigation) -> dict[str, Any]:
    return investigation.get("status") or {}


def _tools(status: Mapping[str, Any]) -> dict[str, str]:
    return {call["id"]: call["tool"] for call in status.get("trace") or ()}


def _evidence(cause: Mapping[str, Any], tools: Mapping[str, str]) -> Iterator[str]:
    for one in cause.get("evidence") or ():
        how = "verified" if one.get("verified") else "NOT verified"
        tool = tools.get(one["call"], "")
        yield f"“{one['quote']}”\n({' '.join(filter(None, ('call', one['call'], tool)))}, {how})"


def _actions(actions: Any) -> str:
    lines = []
    for action in actions:
        lines.append(action["description"])
        if action.get("command"):
            lines[-1] += f"\n$ {action['command']}"
    return _section("Next commands to try", lines)


def _section(title: str, entries: list[str]) -> str:
    shown = [_entry(entry) for entry in entries if entry][:_MOST_LISTED]
    return "\n".join([title, *shown]) if shown else ""


def _entry(entry: str) -> str:
    """An entry as a list item: prose is filled, commands stay on one line to be pasted."""
    first, *others = entry.split("\n")
    lines = [
        textwrap.fill(
            first, WIDTH, initial_indent="  - ", subsequent_indent="    ", **_WHOLE_WORDS
        ),
        *(f"    {line}" for line in others),
    ]
    return "\n".join(lines)


_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
