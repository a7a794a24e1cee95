"""Reading a pod's status: which containers are in trouble, how badly, and which pods deserve a close look."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects

STARTING = frozenset({"ContainerCreating", "PodInitializing", ""})
"""Waiting reasons that are no trouble by themselves."""

EXITED = 40
"""Trouble of a container that ended at least once, from here on worse."""

MOST_FOCUS = 3
"""Pods looked at closely."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Spec and status of one container of one pod, with its states picked apart."""

    pod: shapes.Object
    name: str
    init: bool
    spec: shapes.Object
    status: shapes.Object

    @property
    def waiting(self) -> shapes.Object:
        """`state.waiting`."""
        return shapes.mapping(self.status, "state", "waiting")

    @property
    def running(self) -> shapes.Object:
        """`state.running`."""
        return shapes.mapping(self.status, "state", "running")

    @property
    def terminated(self) -> shapes.Object:
        """`state.terminated`: how the container ended that is not running again yet."""
        return shapes.mapping(self.status, "state", "terminated")

    @property
    def last(self) -> shapes.Object:
        """`lastState.terminated`: how the container before this one ended."""
        return shapes.mapping(self.status, "lastState", "terminated")

    @property
    def exit(self) -> shapes.Object:
        """The newest end of this container."""
        return self.terminated or self.last

    @property
    def ready(self) -> bool:
        """Whether the kubelet calls it ready."""
        return self.status.get("ready") is True

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return shapes.number(self.status, "restartCount")

    @property
    def sidecar(self) -> bool:
        """An init container that keeps running."""
        return self.init and self.spec.get("restartPolicy") == "Always"

    @property
    def finished(self) -> bool:
        """Whether it ended as it should: an init or job container with exit code 0."""
        return bool(self.terminated) and not failed(self.terminated)

    @property
    def trouble(self) -> int:
        """0 fine, else how telling the state is; the worst container explains the pod."""
        reason = shapes.text(self.waiting, "reason")
        if self.waiting and reason not in STARTING:
            return 90
        if failed(self.terminated):
            return 88
        if self.waiting and failed(self.last):
            return 86
        if self.running and not self.ready and not self.sidecar:
            return 60
        if failed(self.last) or (self.last and not self.init):
            return EXITED
        return 10 if self.waiting else 0


def failed(state: shapes.Object) -> bool:
    """Whether a terminated state is a failure."""
    return bool(state) and (
        shapes.number(state, "exitCode") != 0
        or shapes.text(state, "reason") not in {"", "Completed"}
    )


def containers(pod: shapes.Object) -> list[Container]:
    """All containers of a pod, init containers first; one without status has an empty one."""
    found = []
    for init in (True, False):
        specs = shapes.mappings(pod, "spec", "initContainers" if init else "containers")
        key = "initContainerStatuses" if init else "containerStatuses"
        statuses = {shapes.text(row, "name"): row for row in shapes.mappings(pod, "status", key)}
        found += [
            Container(pod=pod, name=name, init=init, spec=spec, status=statuses.get(name, {}))
            for spec in specs
            if (name := shapes.text(spec, "name"))
        ]
    return found


def condition(value: shapes.Object, wanted: str) -> shapes.Object:
    """The condition of that type, empty where there is none."""
    conditions = shapes.mappings(value, "status", "conditions")
    return next((row for row in conditions if shapes.text(row, "type") == wanted), {})


def ready(pod: shapes.Object) -> bool:
    """Whether the pod's Ready condition is True."""
    return shapes.text(condition(pod, "Ready"), "status") == "True"


def unscheduled(pod: shapes.Object) -> bool:
    """Whether the pod waits for a node."""
    return not shapes.text(pod, "spec", "nodeName") and phase(pod) == "Pending"


def phase(pod: shapes.Object) -> str:
    """`status.phase`."""
    return shapes.text(pod, "status", "phase")


def trouble(pod: shapes.Object) -> int:
    """How telling a pod is for what is wrong; 0 when it is fine."""
    if phase(pod) == "Succeeded":
        return 0
    score = max((container.trouble for container in containers(pod)), default=0)
    if unscheduled(pod):
        score = max(score, 80)
    if phase(pod) == "Failed":
        score = max(score, 84 if shapes.text(pod, "status", "reason") else 70)
    if phase(pod) == "Pending":
        score = max(score, 50)
    if not ready(pod) and phase(pod) == "Running":
        score = max(score, 55)
    return score if not shapes.text(pod, "metadata", "deletionTimestamp") else score // 3


def focus(
    pods: Iterable[shapes.Object], *, subject: objects.Ref, newest: str
) -> tuple[shapes.Object, ...]:
    """The pods to look at closely: the subject first, then the worst, each further one in another kind of trouble.

    `newest` is the name of the newest ReplicaSet, whose pods are preferred. Of a StatefulSet the lowest ordinal counts.
    """
    ordered = sorted(pods, key=lambda pod: _order(pod, subject, newest))
    chosen: list[shapes.Object] = []
    seen: set[tuple[object, ...]] = set()
    for pod in ordered:
        mark = _signature(pod)
        if mark in seen or (chosen and not trouble(pod)):
            continue
        seen.add(mark)
        chosen.append(pod)
        if len(chosen) == MOST_FOCUS:
            break
    return tuple(chosen)


def _order(
    pod: shapes.Object, subject: objects.Ref, newest: str
) -> tuple[bool, int, bool, float, tuple[int, str]]:
    owner = objects.controller(pod)
    made = shapes.moment(pod, "metadata", "creationTimestamp")
    stateful = owner is not None and owner.kind == "StatefulSet"
    age = 0.0 if stateful or made is None else -made.timestamp()
    own = objects.ref(pod) == subject and trouble(pod) > 0
    fresh = owner is not None and owner.name == newest
    name = objects.name(pod)
    return not own, -trouble(pod), not fresh, age, (len(name), name)


def _signature(pod: shapes.Object) -> tuple[object, ...]:
    states = tuple(
        (
            container.name,
            shapes.text(container.waiting, "reason") not in STARTING,
            shapes.number(container.exit, "exitCode"),
            container.trouble > EXITED,
        )
        for container in containers(pod)
        if container.trouble
    )
    return phase(pod), shapes.text(pod, "status", "reason"), unscheduled(pod), states


def life_seconds(state: shapes.Object) -> str:
    """How long a terminated container had run, in whole seconds."""
    started, finished = shapes.moment(state, "startedAt"), shapes.moment(state, "finishedAt")
    if started is None or finished is None or started.year < 1990:  # noqa: PLR2004 - the epoch stands for "never"
        return ""
    return str(max(0, int((finished - started).total_seconds())))


def age(now: datetime.datetime, value: shapes.Object) -> str:
    """Seconds since an object was created."""
    return objects.seconds(now, shapes.moment(value, "metadata", "creationTimestamp"))
