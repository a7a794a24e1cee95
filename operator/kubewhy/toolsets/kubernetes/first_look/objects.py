"""Reading Kubernetes objects as plain JSON without trusting their shape.

Objects come from the API server, but custom controllers write odd ones: every helper returns an empty value of the
promised type where the field is absent or of another type.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from kubewhy.toolsets.kubernetes import shapes


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """Kind and name of an object in the namespace at hand (or cluster-scoped)."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def words(value: Any, *path: str) -> list[str]:
    """The texts in a list at the path."""
    found = shapes.dig(value, *path)
    return [str(item) for item in found] if isinstance(found, list) else []


def labels(value: Any, *path: str) -> dict[str, str]:
    """A mapping of texts at the path."""
    return {str(key): str(item) for key, item in shapes.mapping(value, *path).items()}


def name(value: shapes.Object) -> str:
    """`metadata.name`."""
    return shapes.text(value, "metadata", "name")


def kind(value: shapes.Object) -> str:
    """The object's kind."""
    return shapes.text(value, "kind")


def ref(value: shapes.Object) -> Ref:
    """Kind and name of an object."""
    return Ref(kind(value), name(value))


def controller(value: shapes.Object) -> Ref | None:
    """The owner that manages the object, None where nobody does."""
    for owner in shapes.mappings(value, "metadata", "ownerReferences"):
        if owner.get("controller"):
            return Ref(shapes.text(owner, "kind"), shapes.text(owner, "name"))
    return None


def owned_by(value: shapes.Object, owner: shapes.Object) -> bool:
    """Whether `owner` (by UID) manages the object."""
    uid = shapes.text(owner, "metadata", "uid")
    return any(
        shapes.text(row, "uid") == uid
        for row in shapes.mappings(value, "metadata", "ownerReferences")
    )


def pod_template(value: shapes.Object) -> shapes.Object:
    """The pod template of a workload: a pod itself, `spec.template`, or a CronJob's job template's."""
    if kind(value) == "Pod":
        return value
    if kind(value) == "CronJob":
        return shapes.mapping(value, "spec", "jobTemplate", "spec", "template")
    return shapes.mapping(value, "spec", "template")


def containers(pod: shapes.Object) -> list[shapes.Object]:
    """The containers of a pod or template; init containers first, as they run."""
    return shapes.mappings(pod, "spec", "initContainers") + shapes.mappings(
        pod, "spec", "containers"
    )


def seconds(now: datetime.datetime, then: datetime.datetime | None) -> str:
    """Whole seconds from `then` to `now` as text, "" where `then` is unknown."""
    return "" if then is None else str(max(0, int((now - then).total_seconds())))


def selector_text(selector: Mapping[str, str]) -> str:
    """Labels as kubectl writes a selector: `app=cart,version=v2`."""
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def selects(selector: Mapping[str, str], found: Mapping[str, str]) -> bool:
    """Whether labels fit an equality selector; an empty selector fits nothing."""
    return bool(selector) and all(found.get(key) == value for key, value in selector.items())


def of_kind(objects: Iterable[shapes.Object], wanted: str) -> list[shapes.Object]:
    """The objects of one kind."""
    return [item for item in objects if kind(item) == wanted]


def revision(replica_set: shapes.Object) -> int:
    """The rollout revision of a ReplicaSet, 0 where it has none."""
    annotations = labels(replica_set, "metadata", "annotations")
    found = annotations.get("deployment.kubernetes.io/revision", "")
    return int(found) if found.isdigit() else 0
