"""KubeEvents as values and as lines: both API forms, counted series, newest last."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from typing import Final

from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import objects, shapes, texts

RESOURCE: Final = ports.Resource(
    group="", version="v1", name="events", kind="Event", namespaced=True
)

CLUSTER_NAMESPACE: Final = "default"
"""Where KubeEvents about cluster-scoped objects are kept."""

MESSAGE: Final = 1024
"""Most characters of a message: as many as the API server accepts."""

_NEVER: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubeEvent:
    """One KubeEvent or counted series; `about` is "Kind/name", with the container where it names one."""

    about: str
    kind: str
    reason: str
    message: str
    source: str
    count: int
    first: datetime.datetime | None
    last: datetime.datetime | None


def read(value: shapes.Object) -> KubeEvent:
    """Read an object of core/v1 or events.k8s.io/v1."""
    about = shapes.mapping(value, "involvedObject") or shapes.mapping(value, "regarding")
    created = shapes.moment(value, "metadata", "creationTimestamp")
    last = (
        shapes.moment(value, "series", "lastObservedTime")
        or shapes.moment(value, "lastTimestamp")
        or shapes.moment(value, "deprecatedLastTimestamp")
        or shapes.moment(value, "eventTime")
        or created
    )
    return KubeEvent(
        about=_about(about),
        kind=shapes.text(value, "type") or "Normal",
        reason=shapes.text(value, "reason"),
        message=texts.block(shapes.text(value, "message") or shapes.text(value, "note"), MESSAGE)[
            0
        ],
        source=shapes.text(value, "source", "component")
        or shapes.text(value, "reportingComponent"),
        count=max(1, shapes.number(value, "series", "count"), shapes.number(value, "count")),
        first=shapes.moment(value, "firstTimestamp")
        or shapes.moment(value, "eventTime")
        or created,
        last=last,
    )


def newest_last(values: Iterable[shapes.Object]) -> list[KubeEvent]:
    """The KubeEvents in the order in which they were last seen."""
    return sorted((read(value) for value in values), key=lambda event: event.last or _NEVER)


def line(event: KubeEvent, now: datetime.datetime) -> str:
    """One KubeEvent as a line, further lines of its message indented below it."""
    span = f" (x{event.count} over {_span(event)})" if event.count > 1 else ""
    source = f" [{event.source}]" if event.source else ""
    message = event.message.strip().replace("\n", "\n    ")
    when = objects.age(now, event.last)
    return f"{when} ago{span}  {event.kind}  {event.reason}  {event.about}{source}: {message}"


def fields_of(kind: str, name: str) -> str:
    """The field selector for the KubeEvents about one object, or of a kind."""
    wanted = (("involvedObject.kind", kind), ("involvedObject.name", name))
    return ",".join(f"{key}={item}" for key, item in wanted if item)


def _about(reference: shapes.Object) -> str:
    name = f"{shapes.text(reference, 'kind')}/{shapes.text(reference, 'name')}"
    path = shapes.text(reference, "fieldPath")
    container = path.partition("{")[2].rstrip("}")
    return f"{name} {container}" if container else name


def _span(event: KubeEvent) -> str:
    if event.first is None or event.last is None:
        return "?"
    return objects.age(event.last, event.first)
