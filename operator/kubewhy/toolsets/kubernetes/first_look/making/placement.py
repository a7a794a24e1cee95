"""Facts about scheduling and admission: what a pod asks for, what the nodes offer, what quotas allow."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

MOST_NODES = 8


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """Requests and constraints of pods that wait for a node, the nodes, quotas and limit ranges."""
    waiting = [pod for pod in shot.focus if podstate.unscheduled(pod)]
    for pod in waiting[:1]:
        yield from _wishes(pod)
    if (
        waiting
        or objects.kind(shot.subject) == "Node"
        or objects.kind(shot.workload) == "DaemonSet"
    ):
        for node in shot.nodes[:MOST_NODES]:
            yield _node(node, weight=73 if waiting else 50)
    for node in shot.nodes[:MOST_NODES]:
        yield from _node_conditions(shot, node)
        yield from _taints(node, weight=71 if waiting else 47)
    yield from _quotas(shot)
    yield from _limit_ranges(shot)
    yield from _bound_to(shot)
    yield from _preemptors(shot)


def _wishes(pod: shapes.Object) -> Iterator[Ranked]:
    words = []
    for item in objects.containers(pod):
        requests = objects.labels(item, "resources", "requests")
        if requests:
            text = " ".join(f"{key}={value}" for key, value in sorted(requests.items()))
            words.append(f"requests of container {shapes.text(item, 'name')}: {text}")
    selector = objects.labels(pod, "spec", "nodeSelector")
    if selector:
        words.append(f"nodeSelector: {objects.selector_text(selector)}")
    for part in ("nodeAffinity", "podAntiAffinity", "podAffinity"):
        required = shapes.dig(
            pod, "spec", "affinity", part, "requiredDuringSchedulingIgnoredDuringExecution"
        )
        if required:
            words.append(f"{part} (required): {json.dumps(required, sort_keys=True)}")
    words += [
        f"topologySpreadConstraints: {json.dumps(row, sort_keys=True)}"
        for row in shapes.mappings(pod, "spec", "topologySpreadConstraints")
    ]
    yield ranked(
        82,
        "SchedulingWishes",
        objects.ref(pod),
        *(words or ["requests: none"]),
        nodeSelector=objects.selector_text(selector),
        priorityClass=shapes.text(pod, "spec", "priorityClassName"),
    )


def _node(node: shapes.Object, *, weight: int) -> Ranked:
    allocatable = objects.labels(node, "status", "allocatable")
    shown = {
        key: value
        for key, value in allocatable.items()
        if not key.startswith(("hugepages", "attachable"))
    }
    labels = objects.labels(node, "metadata", "labels")
    own = {key: value for key, value in labels.items() if not key.startswith("beta.kubernetes.io/")}
    cordoned = shapes.dig(node, "spec", "unschedulable") is True
    words = [f"allocatable: {' '.join(f'{key}={value}' for key, value in sorted(shown.items()))}"]
    words.append(f"labels: {objects.selector_text(own)[:600]}")
    if cordoned:
        words.append("spec.unschedulable: true")
    return ranked(
        weight,
        "NodeState",
        objects.ref(node),
        *words,
        ready=shapes.text(podstate.condition(node, "Ready"), "status"),
        unschedulable="true" if cordoned else "",
        cpu=shown.get("cpu", ""),
        memory=shown.get("memory", ""),
        architecture=shapes.text(node, "status", "nodeInfo", "architecture"),
    )


def _node_conditions(shot: Snapshot, node: shapes.Object) -> Iterator[Ranked]:
    for row in shapes.mappings(node, "status", "conditions"):
        kind, status = shapes.text(row, "type"), shapes.text(row, "status")
        good = status == ("True" if kind == "Ready" else "False")
        if good and kind != "Ready":
            continue
        yield ranked(
            20 if good else 89,
            "NodeCondition",
            objects.ref(node),
            shapes.text(row, "message") or f"condition {kind}: {status}",
            type=kind,
            status=status,
            reason=shapes.text(row, "reason"),
            sinceSeconds=objects.seconds(shot.now, shapes.moment(row, "lastTransitionTime")),
            heartbeatSeconds=objects.seconds(shot.now, shapes.moment(row, "lastHeartbeatTime")),
        )


def _taints(node: shapes.Object, *, weight: int) -> Iterator[Ranked]:
    for row in shapes.mappings(node, "spec", "taints"):
        key, value, effect = (shapes.text(row, part) for part in ("key", "value", "effect"))
        shown = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
        yield ranked(
            weight,
            "NodeTaint",
            objects.ref(node),
            f"taint: {shown}",
            key=key,
            value=value,
            effect=effect,
        )


def _quotas(shot: Snapshot) -> Iterator[Ranked]:
    for quota in shot.quotas:
        hard, used = (objects.labels(quota, "status", part) for part in ("hard", "used"))
        for name in sorted(hard):
            full = hard[name] == used.get(name)
            yield ranked(
                79 if full else 46,
                "Quota",
                objects.ref(quota),
                f"{name}: used={used.get(name, '0')} hard={hard[name]}",
                resource=name,
                used=used.get(name, "0"),
                hard=hard[name],
            )


def _limit_ranges(shot: Snapshot) -> Iterator[Ranked]:
    for item in shot.limit_ranges:
        for row in shapes.mappings(item, "spec", "limits"):
            for bound in ("max", "min"):
                for name, value in sorted(objects.labels(row, bound).items()):
                    kind = shapes.text(row, "type")
                    yield ranked(
                        57, "LimitRangeBound", objects.ref(item), f"{kind} {bound}.{name}: {value}",
                        type=kind, bound=bound, resource=name, value=value,
                    )  # fmt: skip


def _preemptors(shot: Snapshot) -> Iterator[Ranked]:
    """The pods whose UIDs the KubeEvents of a preemption name."""
    events = [event for event in shot.events if shapes.text(event, "reason") == "Preempted"]
    told = " ".join(shapes.text(event, "message") for event in events)
    for pod in shot.neighbours:
        uid = shapes.text(pod, "metadata", "uid")
        if uid and uid in told:
            priority = shapes.text(pod, "spec", "priorityClassName")
            yield ranked(
                88,
                "Preemptor",
                objects.ref(pod),
                f"uid: {uid} priorityClassName: {priority or 'none'} priority:"
                f" {shapes.text(pod, 'spec', 'priority')}",
                priorityClass=priority,
                owner=objects.controller(pod) or "",
            )


def _bound_to(shot: Snapshot) -> Iterator[Ranked]:
    """A node named in the spec by hand that does not exist."""
    for pod in (*shot.focus[:1], shot.template):
        name = shapes.text(pod, "spec", "nodeName")
        missing = shot.missing.get(objects.Ref("Node", name)) if name else None
        absent = (
            bool(name)
            and bool(shot.nodes)
            and name not in {objects.name(node) for node in shot.nodes}
        )
        if missing or (absent and podstate.phase(pod) in {"Pending", ""}):
            yield ranked(
                90,
                "NodeMissing",
                objects.ref(pod or shot.workload),
                f"spec.nodeName: {name}",
                missing or "",
                node=name,
            )
