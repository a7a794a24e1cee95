"""Containers and pods killed for memory or disk."""

from __future__ import annotations

import re

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

_HEAP = re.compile(r"-Xmx\S+")
_SIZE = re.compile(r"^(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGT]i?|[kmgt])?$")
_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def killed(found: case.Case) -> Diagnosis | None:
    """The kernel killed the container because it reached its memory limit (or the node had none left)."""
    for item in containers.failing(found):
        if item.exit is None or item.exit.get("reason") != "OOMKilled":
            continue
        limit = item.resources.get("limitMemory") if item.resources else ""
        owner = found.owner(item.exit)
        heap = _heap(found, item)
        node = found.first("KubeEvent", reason="SystemOOM")
        if limit:
            text = f"it reaches its memory limit of {limit}"
        else:
            text = "it has no memory limit, so the node ran out of memory"
        if heap:
            text += (
                f"; its Java heap is set to {heap[0]}, against a container limit of"
                f" {limit or 'none'}"
            )
        return Diagnosis(
            score=95,
            mechanism="OOMKilled",
            subject=owner,
            statement=(
                f"Container {item.name} of {owner} is OOMKilled (exit code"
                f" {item.exit.get('exitCode')}, out of memory) again and again: {text}."
            ),
            evidence=quotes(
                item.exit.quote("OOMKilled"),
                item.resources.quote("limits.memory") if item.resources else None,
                heap[1] if heap else None,
                node.quote() if node else None,
            ),
            confidence=conclusion.Confidence.HIGH if limit else conclusion.Confidence.MEDIUM,
            actions=_actions(owner, item.name, limit),
        )
    return None


def _heap(found: case.Case, item: containers.View) -> tuple[str, conclusion.Evidence] | None:
    command = found.first("ContainerCommand", item.pod, container=item.name)
    read = _HEAP.search(command.text) if command else None
    if not command or not read:
        return None
    value = read[0].rstrip("',]\"")
    return value, command.quote(value)


def _actions(owner: subjects.Subject, container: str, limit: str) -> tuple[conclusion.Action, ...]:
    steps = [inspect(owner)]
    doubled = _doubled(limit)
    if doubled and owner.kind in _WORKLOADS:
        steps.append(
            action(
                f"Raise the memory limit (here: from {limit} to {doubled}), or lower what the"
                " program uses",
                kubectl(
                    owner,
                    "set",
                    "resources",
                    target(owner),
                    "-c",
                    container,
                    f"--limits=memory={doubled}",
                ),
            )
        )
    return tuple(steps)


def _doubled(size: str) -> str:
    read = _SIZE.match(size)
    if not read:
        return ""
    number = float(read["number"]) * 2
    return f"{int(number) if number == int(number) else number}{read['unit'] or ''}"


def unexplained_kill(found: case.Case) -> Diagnosis | None:
    """Exit code 137 without the OOM flag: somebody sent SIGKILL, and nothing says who."""
    for item in containers.failing(found):
        if (
            item.exit is None
            or item.exit.get("exitCode") != "137"
            or item.exit.get("reason") == "OOMKilled"
        ):
            continue
        owner = found.owner(item.exit)
        oom = found.first("KubeEvent", reason="SystemOOM")
        pressure = found.first("NodeCondition", type="MemoryPressure", status="True")
        proof = oom or pressure
        return Diagnosis(
            score=85 if proof else 58,
            mechanism="NodeOutOfMemory" if proof else "KilledBySignal",
            subject=owner,
            statement=(
                f"Container {item.name} of {owner} was killed (exit code 137, SIGKILL) because node"
                f" {proof.fact.object.partition('/')[2]} ran out of memory."
                if proof
                else (
                    f"Container {item.name} of {owner} was killed with SIGKILL (exit code 137), and"
                    " neither an OOM flag, nor a KubeEvent, nor its log says by whom: the evidence"
                    " is insufficient."
                )
            ),
            evidence=quotes(item.exit.quote("terminated"), proof.quote() if proof else None),
            confidence=conclusion.Confidence.MEDIUM if proof else conclusion.Confidence.LOW,
            verdict=(
                conclusion.Verdict.ROOT_CAUSE_FOUND if proof else conclusion.Verdict.INCONCLUSIVE
            ),
            actions=(
                action(
                    "Look for kernel OOM messages on the node",
                    kubectl(owner, "get", "pods", "-o", "wide"),
                ),
                inspect(owner),
            ),
            next_checks=(
                (
                    "the node's kernel log for OOM kills, memory usage of the container before the"
                    " kill"
                ),
            ),
        )
    return None


def evicted(found: case.Case) -> Diagnosis | None:
    """The kubelet evicted the pod."""
    item = found.first("PodState", reason="Evicted")
    event = next(
        (seen for seen in found.of("KubeEvent", reason="Evicted") if containers.recent(seen, 3600)),
        None,
    )
    proof = item or event
    if proof is None or (item is None and found.first("PodsReady")):
        return None
    owner = found.owner(proof)
    line = next(
        (word for word in proof.fact.words if not word.startswith("status.phase")), proof.text
    )
    disk = "ephemeral" in line
    limits = next(
        (
            seen
            for seen in found.of("ContainerResources", proof.fact.object)
            if seen.get("limitEphemeralStorage")
        ),
        None,
    )
    limit = limits.get("limitEphemeralStorage") if limits else ""
    what = (
        f"it used more ephemeral-storage than its limit{f' of {limit}' if limit else ''}"
        if disk
        else "the node ran low on a resource"
    )
    return Diagnosis(
        score=90,
        mechanism="EphemeralStorageExceeded" if disk else "Evicted",
        subject=owner,
        statement=f"Pods of {owner} are evicted: {what}: {short(line)}",
        evidence=quotes(proof.quote(line), limits.quote("ephemeral-storage") if limits else None),
        actions=(inspect(owner),),
    )


RULES: tuple[Rule, ...] = (killed, unexplained_kill, evicted)
