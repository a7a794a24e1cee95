"""Facts about the workload: its numbers, its conditions, and switches that stop it."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate, resources
from kubewhy.toolsets.kubernetes.first_look.making import history
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

_GOOD_WHEN_FALSE = frozenset({"ReplicaFailure", "Failed", "FailureTarget", "Suspended"})
_REPLICATED = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The workload's state."""
    workload = shot.workload
    kind = objects.kind(workload)
    if not shapes.mapping(workload, "spec"):
        return
    if kind in _REPLICATED:
        yield _replicas(workload)
        if shapes.number(workload, "spec", "replicas", default=1) == 0:
            yield _scaled_to_zero(shot, workload)
    elif kind == "DaemonSet":
        yield _daemon_set(workload)
    if workload.get("spec", {}).get("paused") is True:
        yield ranked(88, "RolloutPaused", objects.ref(workload), "spec.paused: true")
    if kind in resources.WORKLOADS - {"Pod"}:
        yield from conditions(shot, workload)
    yield from _strategy(workload)


def _replicas(workload: shapes.Object) -> Ranked:
    desired = shapes.number(workload, "spec", "replicas", default=1)
    status = shapes.mapping(workload, "status")
    counts = {
        key: shapes.number(status, key)
        for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    }
    words = " ".join(f"{key}={value}" for key, value in counts.items())
    missing = desired > counts["readyReplicas"]
    return ranked(
        70 if missing else 52,
        "WorkloadReplicas",
        objects.ref(workload),
        f"spec.replicas: {desired}",
        f"status: {words}",
        desired=desired,
        current=counts["replicas"],
        updated=counts["updatedReplicas"],
        ready=counts["readyReplicas"],
        available=counts["availableReplicas"],
        generation=shapes.text(workload, "metadata", "generation"),
        observed=shapes.text(status, "observedGeneration"),
    )


def _daemon_set(workload: shapes.Object) -> Ranked:
    status = shapes.mapping(workload, "status")
    keys = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable",
        "updatedNumberScheduled", "numberMisscheduled",
    )  # fmt: skip
    counts = {key: shapes.number(status, key) for key in keys}
    return ranked(
        70 if counts["desiredNumberScheduled"] > counts["numberReady"] else 52,
        "WorkloadReplicas",
        objects.ref(workload),
        "status: " + " ".join(f"{key}={value}" for key, value in counts.items()),
        desired=counts["desiredNumberScheduled"],
        current=counts["currentNumberScheduled"],
        updated=counts["updatedNumberScheduled"],
        ready=counts["numberReady"],
        available=counts["numberAvailable"],
    )


def _scaled_to_zero(shot: Snapshot, workload: shapes.Object) -> Ranked:
    writer = history.writer_of(workload, "f:spec", "f:replicas")
    words = ["spec.replicas: 0"]
    if writer:
        manager, at = shapes.text(writer, "manager"), shapes.text(writer, "time")
        words.append(f"spec.replicas was set by {manager} at {at}")
    return ranked(
        88,
        "ScaledToZero",
        objects.ref(workload),
        *words,
        manager=shapes.text(writer, "manager"),
        agoSeconds=objects.seconds(shot.now, shapes.moment(writer, "time")),
    )


def conditions(shot: Snapshot, value: shapes.Object) -> Iterator[Ranked]:
    """The conditions of an object; those that speak of trouble weigh more."""
    for row in shapes.mappings(value, "status", "conditions"):
        kind, status = shapes.text(row, "type"), shapes.text(row, "status")
        good = (status == "False") if kind in _GOOD_WHEN_FALSE else (status == "True")
        message = shapes.text(row, "message")
        yield ranked(
            40 if good else 80,
            "ObjectCondition",
            objects.ref(value),
            message or f"condition {kind}: {status}",
            type=kind,
            status=status,
            reason=shapes.text(row, "reason"),
            sinceSeconds=objects.seconds(shot.now, shapes.moment(row, "lastTransitionTime")),
        )


def _strategy(workload: shapes.Object) -> Iterator[Ranked]:
    unavailable = shapes.text(workload, "spec", "strategy", "rollingUpdate", "maxUnavailable")
    if unavailable == "100%":
        words = f"strategy.rollingUpdate.maxUnavailable: {unavailable}"
        yield ranked(
            58,
            "SpecSetting",
            objects.ref(workload),
            words,
            setting="maxUnavailable",
            value=unavailable,
        )
    if objects.kind(workload) == "StatefulSet":
        policy = shapes.text(workload, "spec", "podManagementPolicy") or "OrderedReady"
        words = f"podManagementPolicy: {policy}"
        yield ranked(
            34,
            "SpecSetting",
            objects.ref(workload),
            words,
            setting="podManagementPolicy",
            value=policy,
        )


def healthy_since(shot: Snapshot) -> Iterator[Ranked]:
    """Positive facts: what lets a reader say that nothing is wrong now."""
    pods = [pod for pod in shot.pods if not shapes.text(pod, "metadata", "deletionTimestamp")]
    if not pods or not all(podstate.ready(pod) for pod in pods):
        return
    since = [shapes.moment(podstate.condition(pod, "Ready"), "lastTransitionTime") for pod in pods]
    known = [time for time in since if time]
    restarts = sum(item.restarts for pod in pods for item in podstate.containers(pod))
    exits = [
        time
        for pod in pods
        for item in podstate.containers(pod)
        if (time := shapes.moment(item.last, "finishedAt"))
    ]
    newest = max(known, default=None)
    at = newest.strftime("%Y-%m-%dT%H:%M:%SZ") if newest else "unknown"
    yield ranked(
        66,
        "PodsReady",
        objects.ref(shot.workload or shot.subject),
        f"all {len(pods)} pods have condition Ready=True since {at} or earlier, {restarts}"
        " restarts",
        pods=len(pods),
        restarts=restarts,
        sinceSeconds=objects.seconds(shot.now, newest),
        lastExitSeconds=objects.seconds(shot.now, max(exits, default=None)),
    )
