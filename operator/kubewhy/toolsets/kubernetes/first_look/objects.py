"""Reading Kubernetes objects as plain JSON without trusting their shape.

Objects come from the API server, but custom controllers write odd ones: every helper returns an empty value of the
promised type where the field is absent or of another type.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """Kind and name of an object in the namespace at hand (or cluster-scoped)."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def dig(value: Any, *path: str) -> Any:
    """The value at the path, None where a step is missing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: Any, *path: str) -> str:
    """A scalar at the path as text, "" where there is none."""
    found = dig(value, *path)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found) if isinstance(found, str | int | float) else ""


def number(value: Any, *path: str, default: int = 0) -> int:
    """A whole number at the path."""
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def table(value: Any, *path: str) -> Object:
    """A mapping at the path, empty where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, Mapping) else {}


def rows(value: Any, *path: str) -> list[Object]:
    """The mappings in a list at the path."""
    found = dig(value, *path)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def words(value: Any, *path: str) -> list[str]:
    """The texts in a list at the path."""
    found = dig(value, *path)
    return [str(item) for item in found] if isinstance(found, list) else []


def labels(value: Any, *path: str) -> dict[str, str]:
    """A mapping of texts at the path."""
    return {str(key): str(item) for key, item in table(value, *path).items()}


def name(value: Object) -> str:
    """`metadata.name`."""
    return text(value, "metadata", "name")


def kind(value: Object) -> str:
    """The object's kind."""
    return text(value, "kind")


def ref(value: Object) -> Ref:
    """Kind and name of an object."""
    return Ref(kind(value), name(value))


def controller(value: Object) -> Ref | None:
    """The owner that manages the object, None where nobody does."""
    for owner in rows(value, "metadata", "ownerReferences"):
        if owner.get("controller"):
            return Ref(text(owner, "kind"), text(owner, "name"))
    return None


def owned_by(value: Object, owner: Object) -> bool:
    """Whether `owner` (by UID) manages the object."""
    uid = text(owner, "metadata", "uid")
    return any(text(row, "uid") == uid for row in rows(value, "metadata", "ownerReferences"))


def pod_template(value: Object) -> Object:
    """The pod template of a workload: a pod itself, `spec.template`, or a CronJob's job template's."""
    if kind(value) == "Pod":
        return value
    if kind(value) == "CronJob":
        return table(value, "spec", "jobTemplate", "spec", "template")
    return table(value, "spec", "template")


def containers(pod: Object) -> list[Object]:
    """The containers of a pod or template; init containers first, as they run."""
    return rows(pod, "spec", "initContainers") + rows(pod, "spec", "containers")


def when(value: Any, *path: str) -> datetime.datetime | None:
    """A time at the path, aware, None where there is none or it can't be read."""
    found = text(value, *path)
    if not found:
        return None
    try:
        read = datetime.datetime.fromisoformat(found)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)


def seconds(now: datetime.datetime, then: datetime.datetime | None) -> str:
    """Whole seconds from `then` to `now` as text, "" where `then` is unknown."""
    return "" if then is None else str(max(0, int((now - then).total_seconds())))


def selector_text(selector: Mapping[str, str]) -> str:
    """Labels as kubectl writes a selector: `app=cart,version=v2`."""
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def selects(selector: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Whether labels fit an equality selector; an empty selector fits nothing."""
    return bool(selector) and all(found.get(key) == value for key, value in selector.items())


def of_kind(objects: Iterable[Object], wanted: str) -> list[Object]:
    """The objects of one kind."""
    return [item for item in objects if kind(item) == wanted]


def revision(replica_set: Object) -> int:
    """The rollout revision of a ReplicaSet, 0 where it has none."""
    annotations = labels(replica_set, "metadata", "annotations")
    found = annotations.get("deployment.kubernetes.io/revision", "")
    return int(found) if found.isdigit() else 0
