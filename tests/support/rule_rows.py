"""Manifests that break the CEL rules of the CustomResourceDefinitions, one or more per rule.

A rule is named by where it stands and by its message, which the refusal must carry. `creations` break
a rule when an object is made; `updates` break one that compares with the object as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import manifest_rows

MUTABLE = ("suspend", "cancel", "ttlSecondsAfterFinished")
AGAIN = "create another Investigation to ask again"

ASKS = "one of question and alerts is required"
TOTAL = "keys and values together must have at most 16384 characters"
NAME = "metadata.name must have at most 200 characters: record names are made from it"
TERMINAL = "a finished Investigation stays finished: Succeeded keeps its status and reason"
FINISHED = "a finished Investigation stays finished"
EVENTS = "Events records need firstEvent, eventCount and epoch"
OUTPUT = "Output records have number 0 and no firstEvent, eventCount or previous"
JSON_SIZE = "data encoded as Json must have at most 524288 characters"
RECORD = "an InvestigationRecord is immutable"

OVER_TOTAL = {f"key-{number}": "x" * 4096 for number in range(4)}
AT_TOTAL = {str(number): "x" * 4095 for number in range(4)}

EVENTS_SPEC: Mapping[str, Any] = {
    "investigation": "a",
    "investigationUID": "u",
    "content": "Events",
    "number": 3,
    "firstEvent": 0,
    "eventCount": 2,
    "epoch": 1,
    "encoding": "Json",
    "data": "[]",
    "sha256": "0" * 64,
    "previous": "1" * 64,
    "bytes": 2,
}
OUTPUT_SPEC: Mapping[str, Any] = {
    "investigation": "a",
    "investigationUID": "u",
    "content": "Output",
    "number": 0,
    "encoding": "ZlibBase64",
    "data": "x",
    "sha256": "0" * 64,
    "bytes": 2,
}


@dataclass(frozen=True, kw_only=True)
class Creation:
    """A new object that one rule refuses: the whole of its spec."""

    at: str
    message: str
    spec: Mapping[str, Any]
    field: str
    name: str = "invalid"

    def __str__(self) -> str:
        return f"{self.at or 'root'}: {self.message[:24]}"


@dataclass(frozen=True, kw_only=True)
class Update:
    """A merge patch of the spec that one rule refuses, on the object called `of`."""

    at: str
    message: str
    of: str
    patch: Mapping[str, Any]
    field: str

    def __str__(self) -> str:
        return f"{self.field} {'removed' if None in self.patch.values() else 'set'} on {self.of}"


def investigation_creations() -> tuple[Creation, ...]:
    """What breaks a rule of Investigation at its creation."""
    return (
        Creation(at="spec", message=ASKS, spec={}, field="spec.question"),
        Creation(at="spec", message=ASKS, spec={"alerts": []}, field="spec.question"),
        Creation(
            at="spec.alerts[0].labels",
            message=TOTAL,
            spec={"alerts": [{"labels": OVER_TOTAL}]},
            field="spec.alerts[0].labels",
        ),
        Creation(
            at="spec.alerts[0].labels",
            message=TOTAL,
            spec={"alerts": [{"labels": {"k" * 16_385: ""}}]},
            field="spec.alerts[0].labels",
        ),
        Creation(
            at="spec.alerts[0].annotations",
            message=TOTAL,
            spec={"alerts": [{"labels": {"a": "b"}, "annotations": OVER_TOTAL}]},
            field="spec.alerts[0].annotations",
        ),
        Creation(at="", message=NAME, spec={"question": "Why?"}, field="metadata", name="n" * 201),
    )


def record_creations() -> tuple[Creation, ...]:
    """What breaks a rule of InvestigationRecord at its creation."""

    def events(without: str) -> Creation:
        spec = {key: value for key, value in EVENTS_SPEC.items() if key != without}
        return Creation(at="spec", message=EVENTS, spec=spec, field="spec.firstEvent")

    def output(field: str, value: Any) -> Creation:
        spec = {**OUTPUT_SPEC, field: value}
        return Creation(at="spec", message=OUTPUT, spec=spec, field="spec.number")

    long = {**EVENTS_SPEC, "data": "x" * 524_289}
    return (
        events("firstEvent"),
        events("eventCount"),
        events("epoch"),
        output("number", 1),
        output("firstEvent", 0),
        output("eventCount", 0),
        output("previous", "1" * 64),
        Creation(at="spec", message=JSON_SIZE, spec=long, field="spec.data"),
    )


def investigation_updates(spec_schema: Mapping[str, Any]) -> Iterator[Update]:
    """Every immutable field changed and removed on the object `full`, and added to `bare` or `alerted`.

    `full` has a value in every field, none of them the default; `bare` has only a question, `alerted`
    only an alert.
    """
    for name, schema in spec_schema["properties"].items():
        if name in MUTABLE:
            continue
        field = f"spec.{name}"
        value = manifest_rows.full(schema)
        defaulted = "default" in schema
        fixed = f"{name} is immutable: {AGAIN}"
        kept = f"{name} cannot be added or removed: {AGAIN}"
        yield Update(at=field, message=fixed, of="full", patch={name: another(schema)}, field=field)
        # A default fills the gap, so that removing or adding the field is a change of its value.
        at, says = (field, fixed) if defaulted else ("spec", kept)
        yield Update(at=at, message=says, of="full", patch={name: None}, field=field)
        bare = "alerted" if name == "question" else "bare"
        yield Update(at=at, message=says, of=bare, patch={name: value}, field=field)


def another(schema: Mapping[str, Any]) -> Any:
    """A valid value that differs from `full(schema)` and from the default."""
    value = manifest_rows.full(schema)
    if schema["type"] == "array":
        return [manifest_rows.put(value[0], (), another(schema["items"]))]
    if schema["type"] == "object" and "additionalProperties" not in schema:
        name, child = next(iter(schema["properties"].items()))
        return {**value, name: another(child)}
    if schema["type"] == "integer":
        return value + 1
    if "enum" in schema:
        return next(each for each in schema["enum"] if each != value)
    return manifest_rows.text(schema, schema.get("minLength", 1) + 1)


def adjusted(row: manifest_rows.Row) -> manifest_rows.Row:
    """A row at a bound, with the other fields changed where a CEL rule ties them to this one."""
    what = (manifest_rows.dotted(row.path), row.constraint)
    if what == ("spec.data", "maxLength"):
        return replace(row, value={**row.value, "encoding": "ZlibBase64"})
    if what == ("spec.content", "enum Output"):
        lost = ("firstEvent", "eventCount", "previous")
        return replace(row, value={k: v for k, v in row.value.items() if k not in lost})
    return row
