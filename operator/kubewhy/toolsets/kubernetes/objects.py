"""Reading and pruning Kubernetes objects that may have any shape: custom resources, half-written status, odd types."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]


def dig(value: Any, *path: str) -> Any:
    """The value at the path, None where a step is missing or is no mapping."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: Any, *path: str) -> str:
    """The scalar at the path as text, "" where there is none."""
    found = dig(value, *path)
    if isinstance(found, bool):
        return str(found).lower()
    return str(found) if isinstance(found, str | int | float) else ""


def number(value: Any, *path: str) -> int:
    """The whole number at the path, 0 where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def mapping(value: Any, *path: str) -> Object:
    """The mapping at the path, empty where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, Mapping) else {}


def mappings(value: Any, *path: str) -> list[Object]:
    """The mappings in the list at the path."""
    found = dig(value, *path)
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def moment(value: Any, *path: str) -> datetime.datetime | None:
    """The RFC 3339 time at the path, aware; None where there is none or it can't be read."""
    found = dig(value, *path)
    if not isinstance(found, str):
        return None
    try:
        read = datetime.datetime.fromisoformat(found)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)


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


def title(value: Object) -> str:
    """`Kind/name`."""
    return f"{text(value, 'kind') or 'Object'}/{text(value, 'metadata', 'name')}"


def controller(value: Object) -> Object | None:
    """The owner reference of the object's controller, else of its only owner."""
    owners = mappings(value, "metadata", "ownerReferences")
    managing = [owner for owner in owners if owner.get("controller") is True]
    return next(iter(managing or (owners if len(owners) == 1 else [])), None)


def selector(value: Object) -> str:
    """The label selector of a workload or Service as the API takes it; "" where it has none.

    Read from `spec.selector` (plain labels, or matchLabels with matchExpressions) or `status.selector`.
    """
    spec = mapping(value, "spec", "selector")
    if "matchLabels" in spec or "matchExpressions" in spec:
        return ",".join([*_equal(mapping(spec, "matchLabels")), *_expressions(spec)])
    return ",".join(_equal(spec)) or text(value, "status", "selector")


def _equal(labels: Object) -> Iterator[str]:
    for key, wanted in labels.items():
        if isinstance(wanted, str):
            yield f"{key}={wanted}"


def _expressions(spec: Object) -> Iterator[str]:
    for rule in mappings(spec, "matchExpressions"):
        key, operator = text(rule, "key"), text(rule, "operator")
        values = ",".join(str(item) for item in rule.get("values") or ())
        match operator:
            case "In" | "NotIn":
                yield f"{key} {operator.lower()} ({values})"
            case "Exists":
                yield key
            case "DoesNotExist":
                yield f"!{key}"
