"""Pods that find no node."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import (
    Diagnosis,
    Rule,
    action,
    inspect,
    kubectl,
    quotes,
    short,
    target,
)
from kubewhy.core import conclusion, subjects

_REASONS: Final[tuple[tuple[str, str], ...]] = (
    ("Insufficient", r"Insufficient (?P<what>[\w./-]*\w)"),
    ("PodsFull", r"Too many pods"),
    ("HostPortConflict", r"didn't have free ports"),
    (
        "VolumeNodeAffinity",
        r"didn't match PersistentVolume's node affinity|volume node affinity conflict",
    ),
    (
        "NodeSelectorMismatch",
        r"didn't match Pod's node affinity/selector|didn't match node selector",
    ),
    (
        "AntiAffinity",
        r"didn't match pod anti-affinity rules|didn't satisfy existing pods anti-affinity",
    ),
    ("PodAffinity", r"didn't match pod affinity rules"),
    ("TopologySpread", r"didn't match pod topology spread constraints"),
    ("UntoleratedTaint", r"untolerated taint"),
    ("NodesCordoned", r"were unschedulable"),
)
_CLAIM = re.compile(r"persistentvolumeclaim|PersistentVolumeClaims")


def unschedulable(found: case.Case) -> Diagnosis | None:
    """The scheduler says why no node fits."""
    item = _refusal(found)
    if item is None:
        return None
    message = re.split(r"preemption:|no new claims", item.text)[0].strip(" ,")
    if _CLAIM.search(message) and not re.search(r"Insufficient|taint|selector", message):
        return None
    owner = found.owner(item)
    mechanism, why, more = _explain(found, message)
    return Diagnosis(
        score=92,
        mechanism=mechanism,
        subject=owner,
        statement=f"Pods of {owner} can't be scheduled: {why}. {short(message, 300)}",
        evidence=quotes(item.quote(), *more),
        actions=(
            action("Compare with what the nodes offer", "kubectl describe nodes"),
            action(
                f"Change requests or constraints of {owner}, or add a fitting node",
                kubectl(owner, "edit", target(owner)),
            ),
        ),
    )


def _refusal(found: case.Case) -> case.Seen | None:
    condition = next(
        (
            item
            for item in found.of("PodCondition", type="PodScheduled", status="False")
            if item.get("reason") == "Unschedulable"
        ),
        None,
    )
    event = next(
        (
            item
            for item in found.of("KubeEvent", reason="FailedScheduling")
            if containers.recent(item) and not _placed(found, item.fact.object)
        ),
        None,
    )
    return condition or event


def _placed(found: case.Case, pod: str) -> bool:
    return any(item.get("node") for item in found.of("PodState", pod))


_Explained = tuple[str, str, list[conclusion.Evidence]]


def _explain(found: case.Case, message: str) -> _Explained:
    """The first reason in the order of `_REASONS`: (mechanism, sentence, further evidence)."""
    for mechanism, pattern in _REASONS:
        read = re.search(pattern, message)
        if read:
            what = read.groupdict().get("what") or mechanism
            return _EXPLAINED[mechanism](found, what)
    return "Unschedulable", "no node fits", []


def _full(_found: case.Case, what: str) -> _Explained:
    return what, "the nodes hold as many pods as they may", []


def _cordoned(found: case.Case, what: str) -> _Explained:
    node = found.first("NodeState", unschedulable="true")
    proof = [node.quote("unschedulable")] if node else []
    return what, "all fitting nodes are cordoned (unschedulable)", proof


def _host_port(found: case.Case, what: str) -> _Explained:
    ports = found.of("SpecSetting", setting="hostPort")
    numbers = ", ".join(item.get("value") for item in ports)
    text = f"the hostPort {numbers} is taken on every fitting node"
    return what, text, [item.quote() for item in ports]


def _volume_affinity(found: case.Case, what: str) -> _Explained:
    volume = next((item for item in found.of("VolumeState") if "nodeAffinity" in item.text), None)
    text = "the node affinity of its PersistentVolume fits no schedulable node"
    return what, text, [volume.quote("nodeAffinity")] if volume else []


def _insufficient(found: case.Case, what: str) -> _Explained:
    wishes = found.first("SchedulingWishes")
    words = {
        "cpu": "InsufficientCPU",
        "memory": "InsufficientMemory",
        "ephemeral-storage": "InsufficientEphemeralStorage",
    }
    gpu = " (gpu)" if "gpu" in what else ""
    asked = re.search(rf"\b{re.escape(what)}=(\S+)", wishes.text) if wishes else None
    node = next((item for item in found.of("NodeState") if f"{what}=" in item.text), None)
    offered = re.search(rf"(?<![\w/.-]){re.escape(what)}=(\S+)", node.text) if node else None
    text = f"insufficient {what}{gpu}"
    text += f": a container requests {asked[1]}" if asked else ""
    text += f", a node has {offered[1]} allocatable" if offered else ""
    evidence = [wishes.quote(f"{what}=")] if wishes and asked else []
    evidence += [node.quote("allocatable")] if node and offered else []
    return words.get(what, "InsufficientResource"), text, evidence


def _taints(found: case.Case, _what: str) -> _Explained:
    taints = [
        item for item in found.of("NodeTaint") if item.get("effect") in {"NoSchedule", "NoExecute"}
    ]
    keys = ", ".join(dict.fromkeys(item.get("key") for item in taints)) or "a taint"
    return (
        "UntoleratedTaint",
        f"the pod does not tolerate the taint {keys} of the nodes",
        [item.quote() for item in taints[:3]],
    )


def _constraint(found: case.Case, mechanism: str) -> _Explained:
    wishes = found.first("SchedulingWishes")
    marks = {
        "NodeSelectorMismatch": ("nodeSelector: ", "nodeAffinity"),
        "AntiAffinity": ("podAntiAffinity",),
        "PodAffinity": ("podAffinity",),
        "TopologySpread": ("topologySpreadConstraints",),
    }[mechanism]
    lines = [word for word in (wishes.fact.words if wishes else ()) if word.startswith(marks)]
    replicas = found.first("WorkloadReplicas")
    texts = {
        "NodeSelectorMismatch": (
            "no node carries the labels that its node selector or affinity wants"
        ),
        "AntiAffinity": (
            "its anti-affinity wants a node per pod, with"
            f" {replicas.get('desired') if replicas else 'more'} replicas and"
            f" {len(found.of('NodeState')) or 'too few'} nodes"
        ),
        "PodAffinity": "its pod affinity fits no node",
        "TopologySpread": "its topologySpreadConstraints (skew, DoNotSchedule) fit no node",
    }
    shown = f" ({short(lines[0], 200)})" if lines else ""
    evidence = [wishes.quote(line) for line in lines[:2]] if wishes else []
    node = found.first("NodeState")
    return (
        mechanism,
        texts[mechanism] + shown,
        [*evidence, *([node.quote("labels")] if node else [])],
    )


_EXPLAINED: Final[dict[str, Callable[[case.Case, str], _Explained]]] = {
    "Insufficient": _insufficient,
    "PodsFull": _full,
    "HostPortConflict": _host_port,
    "VolumeNodeAffinity": _volume_affinity,
    "NodeSelectorMismatch": _constraint,
    "AntiAffinity": _constraint,
    "PodAffinity": _constraint,
    "TopologySpread": _constraint,
    "UntoleratedTaint": _taints,
    "NodesCordoned": _cordoned,
}


def daemon_misses_nodes(found: case.Case) -> Diagnosis | None:
    """A DaemonSet leaves out nodes whose taints it does not tolerate; only where the alert is about that."""
    replicas = next(
        (
            item
            for item in found.of("WorkloadReplicas")
            if item.fact.object.startswith("DaemonSet/")
        ),
        None,
    )
    nodes = found.of("NodeState")
    taints = [
        item for item in found.of("NodeTaint") if item.get("effect") in {"NoSchedule", "NoExecute"}
    ]
    about = re.search(r"DaemonSet|schedul", f"{found.alert_names} {found.task.question}")
    if replicas is None or not taints or not about or replicas.number("desired") >= len(nodes):
        return None
    owner = found.owner(replicas)
    keys = ", ".join(dict.fromkeys(item.get("key") for item in taints))
    return Diagnosis(
        score=75,
        mechanism="UntoleratedTaint",
        subject=owner,
        statement=(
            f"{owner} runs on {replicas.get('desired')} of {len(nodes)} nodes: it does not tolerate"
            f" the taint {keys}."
        ),
        evidence=quotes(replicas.quote(), *(item.quote() for item in taints[:3])),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(action("Add a toleration", kubectl(owner, "edit", target(owner))),),
    )


def gated(found: case.Case) -> Diagnosis | None:
    """A scheduling gate holds the pod."""
    gate = found.first("SpecSetting", setting="schedulingGates")
    if gate is None:
        return None
    condition = found.first("PodCondition", type="PodScheduled")
    owner = found.owner(gate)
    return Diagnosis(
        score=94,
        mechanism="SchedulingGated",
        subject=owner,
        statement=(
            f"Pods of {owner} wait behind the scheduling gate {gate.get('value')}"
            " (SchedulingGated), which nobody has removed."
        ),
        evidence=quotes(gate.quote(), condition.quote() if condition else None),
        actions=(
            action("Find out who should remove the gate", kubectl(owner, "describe", "pods")),
        ),
    )


def nobody_schedules(found: case.Case) -> Diagnosis | None:
    """A pod waits, and no scheduler has said a word about it."""
    state = next(
        (item for item in found.of("PodState", phase="Pending") if not item.get("node")), None
    )
    if state is None or _refusal(found) or found.first("SpecSetting", setting="schedulingGates"):
        return None
    owner = found.owner(state)
    missing = found.first("NodeMissing")
    named = found.first("SpecSetting", setting="schedulerName")
    if missing is None and named is None:
        return Diagnosis(
            score=55,
            mechanism="SchedulerSilent",
            subject=owner,
            statement=(
                f"Pods of {owner} are Pending and no scheduler has spoken of them: the scheduler"
                " may be down."
            ),
            evidence=quotes(state.quote()),
            confidence=conclusion.Confidence.LOW,
            verdict=conclusion.Verdict.INCONCLUSIVE,
            actions=(
                action("See whether the scheduler runs", "kubectl -n kube-system get pods,leases"),
            ),
            next_checks=("whether kube-scheduler runs: its Lease in kube-system",),
        )
    return _silent(owner, state, missing, named)


def _silent(
    owner: subjects.Subject,
    state: case.Seen,
    missing: case.Seen | None,
    named: case.Seen | None,
) -> Diagnosis:
    if named:
        text = (
            f"its schedulerName is {named.get('value')}, and no scheduler of that name has picked"
            " it up"
        )
        mechanism = "SchedulerUnknown"
    else:
        text = (
            f"its nodeName is {missing.get('node') if missing else ''}, a node that does not exist"
        )
        mechanism = "NodeNotFound"
    return Diagnosis(
        score=90,
        mechanism=mechanism,
        subject=owner,
        statement=f"Pods of {owner} stay Pending: {text}.",
        evidence=quotes(*(item.quote() for item in (named, missing, state) if item)),
        actions=(action("Correct the pod template", kubectl(owner, "edit", target(owner))),),
    )


def node_missing(found: case.Case) -> Diagnosis | None:
    """The pod is bound by hand to a node that is not there."""
    missing = found.first("NodeMissing")
    if missing is None:
        return None
    owner = found.owner(missing)
    return Diagnosis(
        score=91,
        mechanism="NodeNotFound",
        subject=owner,
        statement=(
            f"Pods of {owner} are bound by nodeName to node {missing.get('node')}, which does not"
            " exist (not exist); they can't start and are replaced."
        ),
        evidence=quotes(missing.quote()),
        actions=(
            action("Remove nodeName from the pod template", kubectl(owner, "edit", target(owner))),
            action("List the nodes", "kubectl get nodes"),
        ),
    )


def preempted(found: case.Case) -> Diagnosis | None:
    """A pod of higher priority took the place."""
    event = found.first("KubeEvent", reason="Preempted")
    conditions = found.of("PodCondition", type="DisruptionTarget")
    proof = event or next((item for item in conditions if "reempt" in item.text), None)
    if proof is None or found.first("PodsReady"):
        return None
    owner = found.owner(proof)
    by = found.first("Preemptor")
    who = (
        f"{by.fact.object} of priority class {by.get('priorityClass') or 'none'}"
        if by
        else "one of a higher priority class"
    )
    return Diagnosis(
        score=93,
        mechanism="Preempted",
        subject=owner,
        statement=f"A pod of {owner} was preempted by {who}: {short(proof.text)}",
        evidence=quotes(proof.quote(), by.quote() if by else None),
        actions=(
            inspect(owner),
            action("Compare the priority classes", "kubectl get priorityclasses"),
        ),
    )


RULES: tuple[Rule, ...] = (
    unschedulable,
    daemon_misses_nodes,
    gated,
    nobody_schedules,
    node_missing,
    preempted,
)
