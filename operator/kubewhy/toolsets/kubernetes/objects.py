"""Reading and pruning Kubernetes objects that may have any shape: custom resources, half-written status, odd types."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes


def age(now: datetime.datetime, then: datetime.datetime | None) -> str:
    """The time between as kubectl writes it, in at most two units: `45s`, `3m20s`, `4h5m`, `3d4h`, `400d`."""
    if then is None:
        return "?"
    seconds = max(0, int((now - then).total_seconds()))
    for unit, size, small, part in (
        ("d", 86400, "h", 3600),
        ("h", 3600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            tail = f"{rest // part}{small}" if rest // part and whole < 10 else ""  # noqa: PLR2004 - as kubectl
            return f"{whole}{unit}{tail}"
    return f"{seconds}s"


def title(value: shapes.Object) -> str:
    """`Kind/name`."""
    return f"{shapes.text(value, 'kind') or 'Object'}/{shapes.text(value, 'metadata', 'name')}"


def controller(value: shapes.Object) -> shapes.Object | None:
    """The owner reference of the object's controller, else of its only owner."""
    owners = shapes.mappings(value, "metadata", "ownerReferences")
    managing = [owner for owner in owners if owner.get("controller") is True]
    return next(iter(managing or (owners if len(owners) == 1 else [])), None)


def selector(value: shapes.Object) -> str:
    """The label selector of a workload or Service as the API takes it; "" where it has none.

    Read from `spec.selector` (plain labels, or matchLabels with matchExpressions) or `status.selector`.
    """
    spec = shapes.mapping(value, "spec", "selector")
    if "matchLabels" in spec or "matchExpressions" in spec:
        return ",".join([*_equal(shapes.mapping(spec, "matchLabels")), *_expressions(spec)])
    return ",".join(_equal(spec)) or shapes.text(value, "status", "selector")


def _equal(labels: shapes.Object) -> Iterator[str]:
    for key, wanted in labels.items():
        if isinstance(wanted, str):
            yield f"{key}={wanted}"


def _expressions(spec: shapes.Object) -> Iterator[str]:
    for rule in shapes.mappings(spec, "matchExpressions"):
        key, operator = shapes.text(rule, "key"), shapes.text(rule, "operator")
        values = ",".join(str(item) for item in rule.get("values") or ())
        match operator:
            case "In" | "NotIn":
                yield f"{key} {operator.lower()} ({values})"
            case "Exists":
                yield key
            case "DoesNotExist":
                yield f"!{key}"
