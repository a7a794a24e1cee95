"""Facts about pods as wholes: where they are, what holds them up, and settings that differ from the usual."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """Owner chains, an overview over all pods, and the state of those in focus."""
    if shot.pods:
        yield _overview(shot)
    for pod in shot.focus:
        yield from _owner_chain(shot, pod)
        yield _state(shot, pod)
        yield from _conditions(shot, pod)
    template = shot.focus[0] if shot.focus else shot.template
    if template:
        of = objects.ref(shot.focus[0]) if shot.focus else objects.ref(shot.workload)
        yield from _settings(of, template)


def _overview(shot: Snapshot) -> Ranked:
    owner = objects.ref(shot.workload or shot.subject)
    reasons = collections.Counter(_reason(pod) for pod in shot.pods)
    states = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    ready = sum(podstate.ready(pod) for pod in shot.pods)
    restarts = sum(item.restarts for pod in shot.pods for item in podstate.containers(pod))
    words = f"pods: {len(shot.pods)} seen, {ready} ready, {restarts} restarts: {states}"
    return ranked(
        45,
        "PodsOverview",
        owner,
        words,
        pods=len(shot.pods),
        ready=ready,
        restarts=restarts,
        notRead=shot.pods_left_out or "",
        troubled=sum(podstate.trouble(pod) > 0 for pod in shot.pods),
    )


def _reason(pod: shapes.Object) -> str:
    for item in podstate.containers(pod):
        reason = shapes.text(item.waiting, "reason")
        if reason and reason not in podstate.STARTING:
            return reason
    if shapes.text(pod, "metadata", "deletionTimestamp"):
        return "Terminating"
    return shapes.text(pod, "status", "reason") or podstate.phase(pod) or "Unknown"


def _owner_chain(shot: Snapshot, pod: shapes.Object) -> Iterator[Ranked]:
    chain = [objects.ref(pod)]
    known = [*shot.owners, *shot.replica_sets, *shot.jobs, shot.workload, shot.subject]
    while len(chain) < 5:  # noqa: PLR2004 - deeper chains don't exist among built-in kinds
        current = next((item for item in (pod, *known) if objects.ref(item) == chain[-1]), {})
        owner = objects.controller(current)
        if owner is None or owner in chain:
            break
        chain.append(owner)
    if len(chain) > 1:
        text = " < ".join(str(ref) for ref in chain)
        yield ranked(44, "OwnerChain", chain[0], f"owners: {text}", owner=chain[-1])


def _state(shot: Snapshot, pod: shapes.Object) -> Ranked:
    reason, message = shapes.text(pod, "status", "reason"), shapes.text(pod, "status", "message")
    all_containers = [item for item in podstate.containers(pod) if not item.init or item.sidecar]
    ready = sum(item.ready for item in all_containers)
    phase = podstate.phase(pod)
    deleted = shapes.text(pod, "metadata", "deletionTimestamp")
    words = [f"status.phase: {phase}" + (f" reason: {reason}" if reason else "")]
    if message:
        words.append(f"status.message: {message}")
    if deleted:
        words.append(f"metadata.deletionTimestamp: {deleted}")
    owner = objects.controller(pod)
    return ranked(
        91 if reason == "Evicted" else 55,
        "PodState",
        objects.ref(pod),
        *words,
        phase=phase,
        reason=reason,
        ready=f"{ready}/{len(all_containers)}",
        node=shapes.text(pod, "spec", "nodeName"),
        restarts=sum(item.restarts for item in all_containers),
        ageSeconds=podstate.age(shot.now, pod),
        owner=owner or "",
        deleting="true" if deleted else "",
    )


def _conditions(shot: Snapshot, pod: shapes.Object) -> Iterator[Ranked]:
    for row in shapes.mappings(pod, "status", "conditions"):
        kind, status = shapes.text(row, "type"), shapes.text(row, "status")
        bad = status == "True" if kind == "DisruptionTarget" else status != "True"
        if not bad or podstate.phase(pod) == "Succeeded":
            continue
        decisive = kind in {"PodScheduled", "DisruptionTarget"}
        yield ranked(
            86 if decisive else 42,
            "PodCondition",
            objects.ref(pod),
            shapes.text(row, "message") or f"condition {kind}: {status}",
            type=kind,
            status=status,
            reason=shapes.text(row, "reason"),
            sinceSeconds=objects.seconds(shot.now, shapes.moment(row, "lastTransitionTime")),
        )


def _settings(of: objects.Ref, pod: shapes.Object) -> Iterator[Ranked]:
    """Settings of the pod spec that are seldom used and explain much when they are."""
    spec = shapes.mapping(pod, "spec")
    for name, value, weight in _plain_settings(spec):
        yield _setting(of, weight, name, value)
    for row in shapes.mappings(spec, "securityContext", "sysctls"):
        text = f"{shapes.text(row, 'name')}={shapes.text(row, 'value')}"
        yield _setting(of, 66, "securityContext.sysctls", text)
    for row in shapes.mappings(spec, "schedulingGates"):
        yield _setting(of, 92, "schedulingGates", shapes.text(row, "name"))
    for item in objects.containers(pod):
        for port in shapes.mappings(item, "ports"):
            if shapes.number(port, "hostPort"):
                yield _setting(
                    of, 60, "hostPort", shapes.text(port, "hostPort"), shapes.text(item, "name")
                )
        for mount in shapes.mappings(item, "volumeMounts"):
            if shapes.text(mount, "subPath"):
                text = f"{shapes.text(mount, 'mountPath')} subPath={shapes.text(mount, 'subPath')}"
                yield _setting(of, 38, "volumeMounts.subPath", text, shapes.text(item, "name"))


def _plain_settings(spec: shapes.Object) -> Iterator[tuple[str, str, int]]:
    scheduler = shapes.text(spec, "schedulerName")
    if scheduler not in {"", "default-scheduler"}:
        yield "schedulerName", scheduler, 70
    policy = shapes.text(spec, "dnsPolicy")
    if policy not in {"", "ClusterFirst"}:
        servers = ",".join(objects.words(spec, "dnsConfig", "nameservers"))
        yield "dnsPolicy", f"{policy} nameservers={servers}" if servers else policy, 58
    grace = spec.get("terminationGracePeriodSeconds")
    if grace == 0:
        yield "terminationGracePeriodSeconds", "0", 40
    if spec.get("hostNetwork") is True:
        yield "hostNetwork", "true", 30
    for name in ("runtimeClassName", "priorityClassName"):
        if shapes.text(spec, name):
            yield name, shapes.text(spec, name), 30


def _setting(of: objects.Ref, weight: int, name: str, value: str, container: str = "") -> Ranked:
    return ranked(
        weight,
        "SpecSetting",
        of,
        f"{name}: {value}",
        setting=name,
        value=value,
        container=container,
    )
