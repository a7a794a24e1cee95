"""Facts from KubeEvents: the warnings, and the Normal ones that decide (reference scenarios.md §2.4)."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Iterator
from typing import Final

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

DECISIVE_NORMAL: Final = frozenset(
    {
        "Preempted", "FailedBinding", "BackOff", "Killing", "JobAlreadyActive", "NodeNotReady", "Evicted",
        "WaitForFirstConsumer", "WaitForPodScheduled", "ExternalProvisioning", "SuccessfulRescale",
        "TaintManagerEviction", "NodeNotSchedulable", "SawCompletedJob", "NodeReady",
    }
)  # fmt: skip
NOISE: Final = frozenset(
    {
        "MissingClusterDNS",
        "DNSConfigForming",
        "CgroupV1",
        "InvalidDiskCapacity",
        "CheckLimitsForResolvConf",
    }
)
"""Warnings about the node's set-up that stand beside healthy and broken pods alike."""

VAGUE: Final = frozenset({"BackOff", "Failed", "FailedSync", "Killing", "Unhealthy"})
MOST: Final = 24


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """KubeEvents with the same object, reason and message, taken together."""

    of: objects.Ref
    kind: str
    reason: str
    message: str
    count: int
    last: datetime.datetime | None


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The telling KubeEvents about the objects of this look, newest first within their weight."""
    names = related(shot)
    seen = [item for item in merged(shot.events) if _telling(item) and _concerns(item, names, shot)]
    ready = {
        objects.ref(pod)
        for pod in shot.pods
        if podstate.ready(pod) or podstate.phase(pod) == "Succeeded"
    }
    seen.sort(key=lambda item: item.last.timestamp() if item.last else 0.0, reverse=True)
    for item in seen[:MOST]:
        yield fact(item, now=shot.now, gone=item.of not in names, over=item.of in ready)


def fact(item: Seen, *, now: datetime.datetime, gone: bool, over: bool = False) -> Ranked:
    """One fact; `gone`: the object is not among those that exist now; `over`: it is a pod that is ready now."""
    weight = 78 if item.reason in VAGUE else 87
    weight = min(weight, 60) if item.kind == "Normal" else weight
    weight = 20 if item.reason in NOISE else weight
    return ranked(
        weight - 30 if gone else weight,
        "KubeEvent",
        item.of,
        item.message,
        type=item.kind,
        reason=item.reason,
        count=item.count,
        agoSeconds=objects.seconds(now, item.last),
        gone="true" if gone else "",
        readyNow="true" if over else "",
    )


def merged(events: Iterable[shapes.Object]) -> list[Seen]:
    """Equal KubeEvents as one with the sum of their counts."""
    found: dict[tuple[objects.Ref, str, str], Seen] = {}
    for event in events:
        item = _seen(event)
        key = (item.of, item.reason, item.message)
        old = found.get(key)
        if old:
            newer = max((time for time in (old.last, item.last) if time), default=None)
            item = dataclasses.replace(item, count=item.count + old.count, last=newer)
        found[key] = item
    return list(found.values())


def _seen(event: shapes.Object) -> Seen:
    of = objects.Ref(
        shapes.text(event, "involvedObject", "kind"), shapes.text(event, "involvedObject", "name")
    )
    times = [
        shapes.moment(event, *path)
        for path in (
            ("series", "lastObservedTime"),
            ("lastTimestamp",),
            ("eventTime",),
            ("firstTimestamp",),
        )
    ]
    message = shapes.text(event, "message").removeprefix("(combined from similar events): ")
    return Seen(
        of=of,
        kind=shapes.text(event, "type"),
        reason=shapes.text(event, "reason"),
        message=" ".join(message.split("\n")).strip(),
        count=shapes.number(event, "series", "count")
        or shapes.number(event, "count", default=1)
        or 1,
        last=next((time for time in times if time), None),
    )


def related(shot: Snapshot) -> frozenset[objects.Ref]:
    """The objects of this look that exist now."""
    chain = (shot.subject, shot.workload, *shot.owners, *shot.replica_sets, *shot.jobs, *shot.pods)
    found = {objects.ref(item) for item in (*chain, *shot.found.values()) if objects.name(item)}
    targeted = {ref for ref in (objects.ref(item) for item in _scalers(shot)) if ref.name}
    return frozenset(found | targeted)


def _scalers(shot: Snapshot) -> list[shapes.Object]:
    wanted = objects.ref(shot.workload)
    return [
        item
        for item in shot.autoscalers
        if objects.Ref(
            shapes.text(item, "spec", "scaleTargetRef", "kind"),
            shapes.text(item, "spec", "scaleTargetRef", "name"),
        )
        == wanted
    ]


def _telling(item: Seen) -> bool:
    return item.kind != "Normal" or item.reason in DECISIVE_NORMAL


def _concerns(item: Seen, names: frozenset[objects.Ref], shot: Snapshot) -> bool:
    """Whether it is about an object of this look, or about one of its pods or claims that is gone."""
    if item.of in names:
        return True
    stems = [
        f"{objects.name(owner)}-"
        for owner in (*shot.replica_sets[:1], *shot.jobs[:2])
        if objects.name(owner)
    ]
    workload = shot.workload or shot.subject
    if objects.kind(workload) in {"StatefulSet", "DaemonSet", "Job", "ReplicaSet"}:
        stems.append(f"{objects.name(workload)}-")
    if item.of.kind in {"Pod", "Job"}:
        return item.of.name == shot.replaced or any(item.of.name.startswith(stem) for stem in stems)
    if item.of.kind == "PersistentVolumeClaim" and objects.kind(workload) == "StatefulSet":
        return f"-{objects.name(workload)}-" in item.of.name
    return (
        item.of.kind == "Node"
        and bool(shot.focus)
        and item.of.name == shapes.text(shot.focus[0], "spec", "nodeName")
    )
