"""Events to bytes and back: the stored form of a journal, versioned.

A batch is JSON `{"version": 1, "events": […]}`. A long output is left out of its event; in its place stands
`{"output": "<sha256>"}`, and the text is stored apart under that digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pydantic

from kubewhy import errors
from kubewhy.core import events

VERSION = 1
"""Version of the stored form. A reader refuses a newer one (`errors.JournalLost` names both)."""

_EVENTS: pydantic.TypeAdapter[list[events.Event]] = pydantic.TypeAdapter(
    list[Annotated[events.Event, pydantic.Field(discriminator="type")]]
)


def encode(batch: Sequence[events.Event]) -> tuple[bytes, dict[str, str]]:
    """The bytes of a batch, and the long outputs that must be stored before it (sha256 → text)."""
    outputs: dict[str, str] = {}
    entries = [_entry(event, outputs) for event in batch]
    document = {"version": VERSION, "events": entries}
    return json.dumps(document, separators=(",", ":")).encode(), outputs


def references(data: bytes) -> set[str]:
    """The digests of the outputs that a batch refers to.

    Raises:
        errors.JournalLost: the batch can't be read.
    """
    return {entry["result"]["text"]["output"] for entry in _entries(data) if _refers(entry)}


def decode(data: bytes, outputs: Mapping[str, str]) -> list[events.Event]:
    """The events of a batch; `outputs` holds the text of every digest that `references` names.

    Raises:
        errors.JournalLost: the batch can't be read, is of a newer version, or an output is missing.
    """
    entries = _entries(data)
    for entry in entries:
        if _refers(entry):
            digest = entry["result"]["text"]["output"]
            if digest not in outputs:
                raise errors.JournalLost(
                    f"the output {digest[:12]} that the journal refers to is missing"
                )
            entry["result"]["text"] = outputs[digest]
    try:
        return _EVENTS.validate_python(entries)
    except pydantic.ValidationError as error:
        raise errors.JournalLost(
            f"a batch of the journal can't be read: {error.error_count()} faults"
        ) from error


def _entry(event: events.Event, outputs: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = _EVENTS.dump_python([event], mode="json")[0]
    if isinstance(event, events.ToolReturned) and not event.result.inline:
        digest = event.result.digest
        outputs[digest] = event.result.text
        entry["result"]["text"] = {"output": digest}
    return entry


def _refers(entry: Mapping[str, Any]) -> bool:
    return entry.get("type") == "ToolReturned" and isinstance(entry["result"]["text"], dict)


def _entries(data: bytes) -> list[dict[str, Any]]:
    try:
        document = json.loads(data)
        version, entries = document["version"], document["events"]
    except (ValueError, KeyError, TypeError) as error:
        raise errors.JournalLost(
            "a batch of the journal is no JSON document with version and events"
        ) from error
    if version > VERSION:
        raise errors.JournalLost(
            f"the journal has format version {version}, this release reads up to {VERSION}: upgrade kubewhy"
        )
    found: list[dict[str, Any]] = entries
    return found
