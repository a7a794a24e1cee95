"""The text of one object: the decisive fields of a kind first, then what is left of its spec and status."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from typing import Final

from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import containers, manifest, objects, pruning, shapes, texts

MANIFEST: Final = 10_000
"""Most characters of the manifest part."""

CONDITIONS: Final = 40
MESSAGE: Final = 600


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Lines, and whether the manifest had to be cut."""

    lines: Sequence[str]
    truncated: bool


def head(resource: ports.Resource, value: shapes.Object, now: datetime.datetime) -> str:
    """Kind, name, place and age; a deletion under way is said with what holds it up."""
    namespace = shapes.text(value, "metadata", "namespace")
    where = f" in namespace {namespace}" if namespace else ""
    created = shapes.moment(value, "metadata", "creationTimestamp")
    line = f"{resource.kind}/{shapes.text(value, 'metadata', 'name')} ({resource.api_version}){where}, "
    line += f"created {objects.age(now, created)} ago"
    deleted = shapes.moment(value, "metadata", "deletionTimestamp")
    if deleted:
        held = ", ".join(map(str, value["metadata"].get("finalizers") or ())) or "no finalizer"
        line += f"; being deleted, due {objects.age(now, deleted)} ago, held by {held}"
    return line


def object_text(value: shapes.Object, now: datetime.datetime) -> Shown:
    """Conditions, containers and the pruned manifest."""
    text, cut = texts.block(manifest.dump(pruning.decisive(value)), MANIFEST)
    if cut:
        text += "… cut; kubernetes_yaml shows all or one field"
    return Shown(
        lines=[
            *_conditions(value, now),
            *containers.lines(value, now),
            "Manifest:",
            text.rstrip("\n"),
        ],
        truncated=cut,
    )


def _conditions(value: shapes.Object, now: datetime.datetime) -> Iterator[str]:
    found = shapes.mappings(value, "status", "conditions")[:CONDITIONS]
    if found:
        yield "Conditions:"
    for condition in found:
        since = shapes.moment(condition, "lastTransitionTime")
        reason = shapes.text(condition, "reason")
        message = texts.line(shapes.text(condition, "message"), MESSAGE)
        yield "".join(
            (
                f"  {shapes.text(condition, 'type')}={shapes.text(condition, 'status')}",
                f" {reason}" if reason else "",
                f", for {objects.age(now, since)}" if since else "",
                f": {message}" if message else "",
            )
        )
