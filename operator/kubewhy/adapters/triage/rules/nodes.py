"""Nodes that are not fit to run pods."""

from __future__ import annotations

import re

from kubewhy.adapters.triage import case
from kubewhy.adapters.triage.diagnosis import Diagnosis, Rule, action, quotes, short
from kubewhy.core import conclusion

_NOT_READY = (
    ("KubeletStopped", r"stopped posting node status", "its kubelet stopped posting node status"),
    (
        "ContainerRuntimeDown",
        r"container runtime is down|runtime not ready|containerd",
        "its container runtime is down (runtime)",
    ),
    (
        "NetworkPluginNotReady",
        r"cni|network plugin|NetworkPluginNotReady",
        "its network plugin (cni) is not ready",
    ),
)


def unhealthy(found: case.Case) -> Diagnosis | None:
    """A node's condition says so."""
    conditions = [item for item in found.of("NodeCondition") if _bad(item)]
    conditions.sort(key=lambda item: item.get("type") != "Ready")
    if not conditions:
        return None
    item = conditions[0]
    node = found.named(item.fact.object)
    mechanism, text = _why(item)
    return Diagnosis(
        score=90 if item.get("type") == "Ready" else 79,
        mechanism=mechanism,
        subject=node,
        statement=f"Node {node.name} {text}: {short(item.text)}",
        evidence=quotes(item.quote()),
        actions=(action(f"Look at node {node.name}", f"kubectl describe node {node.name}"),),
    )


def _bad(item: case.Seen) -> bool:
    return item.get("status") != ("True" if item.get("type") == "Ready" else "False")


def _why(item: case.Seen) -> tuple[str, str]:
    kind = item.get("type")
    if kind != "Ready":
        return kind, f"reports {kind}"
    for mechanism, pattern, text in _NOT_READY:
        if re.search(pattern, item.text, re.IGNORECASE):
            return mechanism, f"is not ready: {text}"
    return "NodeNotReady", "is not ready"


def cordoned(found: case.Case) -> Diagnosis | None:
    """The node asked about takes no new pods."""
    item = next(
        (seen for seen in found.of("NodeState", unschedulable="true") if _asked(found, seen)), None
    )
    if item is None:
        return None
    node = found.named(item.fact.object)
    return Diagnosis(
        score=74,
        mechanism="NodeCordoned",
        subject=node,
        statement=(
            f"Node {node.name} is cordoned (spec.unschedulable: true), as before a drain or"
            " upgrade: it takes no new pods."
        ),
        evidence=quotes(item.quote("unschedulable")),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(action("Let it take pods again", f"kubectl uncordon {node.name}"),),
    )


def flapping(found: case.Case) -> Diagnosis | None:
    """Ready and NotReady by turns."""
    down, up = (
        found.first("KubeEvent", reason="NodeNotReady"),
        found.first("KubeEvent", reason="NodeReady"),
    )
    if down is None or up is None or down.number("count") < 3:  # noqa: PLR2004 - once or twice is no flapping
        return None
    node = found.named(down.fact.object)
    return Diagnosis(
        score=70,
        mechanism="NodeFlapping",
        subject=node,
        statement=(
            f"Node {node.name} is flapping: it became NotReady {down.number('count')} times and"
            f" Ready {up.number('count')} times."
        ),
        evidence=quotes(down.quote(), up.quote()),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(action(f"Look at node {node.name}", f"kubectl describe node {node.name}"),),
    )


def _asked(found: case.Case, item: case.Seen) -> bool:
    return any(look.fact.object == item.fact.object for look in found.of("LookedAt"))


RULES: tuple[Rule, ...] = (unhealthy, cordoned, flapping)
