"""Which containers' logs a call means: Pods by name, owner or labels, then the containers worth reading."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import containers, owners, shapes

MOST_PODS: Final = 5
MOST_LOGS: Final = 12


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One container of one Pod with its status, empty where the kubelet gave none yet."""

    pod: str
    container: str
    status: shapes.Object


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The containers, and notes in words on what was left out."""

    items: Sequence[Target]
    selected: str
    notes: Sequence[str] = ()


async def find(kube: ports.KubeReader, arguments: Mapping[str, Any]) -> Targets:
    """The containers that the arguments mean.

    Raises:
        errors.ToolFailure: nothing is named, no Pod is there, or no Pod has the named container.
        errors.ApiError: a read failed.
    """
    found = await _pods(kube, arguments)
    if not found.items:
        raise errors.ToolFailure("NoData", f"no Pods of {found.selected}")
    ranked = sorted(found.items, key=_trouble, reverse=True)
    chosen = ranked[:MOST_PODS]
    container = arguments.get("container", "")
    targets = [target for pod in chosen for target in _targets(pod, container)]
    if not targets:
        names = sorted({name for pod in chosen for name in _names(pod)})
        raise errors.ToolFailure(
            "NotFound",
            f"no container {container!a} in Pods of {found.selected}; there are: {', '.join(names)}",
        )
    return Targets(
        items=targets[:MOST_LOGS],
        selected=found.selected,
        notes=tuple(_notes(found, len(chosen), len(targets))),
    )


async def _pods(kube: ports.KubeReader, arguments: Mapping[str, Any]) -> owners.Pods:
    name, labels = arguments.get("name", ""), arguments.get("selector", "")
    namespace = arguments.get("namespace", "")
    if bool(name) == bool(labels):
        raise errors.ToolFailure(
            "Error", "give either name (of a Pod or, with kind, of its owner) or selector"
        )
    if namespace == "*":
        raise errors.ToolFailure("Error", "logs are read in one namespace: name it")
    if labels:
        return await owners.labelled(kube, labels, namespace=namespace)
    kind = arguments.get("kind", "")
    resource = await kube.resource(kind) if kind else owners.POD
    return await owners.pods(kube, resource, name, namespace=namespace)


def _trouble(pod: shapes.Object) -> tuple[bool, int, str]:
    """Pods with unready containers first, then those with more restarts, then newer ones."""
    states = list(containers.statuses(pod).values())
    unready = any(state.get("ready") is not True for state in states) or not states
    restarts = sum(shapes.number(state, "restartCount") for state in states)
    finished = shapes.text(pod, "status", "phase") == "Succeeded"
    return unready and not finished, restarts, shapes.text(pod, "metadata", "creationTimestamp")


def _targets(pod: shapes.Object, container: str) -> Iterator[Target]:
    known = containers.statuses(pod)
    names = (
        [container] if container in _names(pod) else [] if container else _worth_reading(pod, known)
    )
    for name in names:
        yield Target(
            pod=shapes.text(pod, "metadata", "name"), container=name, status=known.get(name, {})
        )


def _worth_reading(pod: shapes.Object, known: Mapping[str, shapes.Object]) -> list[str]:
    """All containers but init containers that did their work."""
    init = [shapes.text(item, "name") for item in shapes.mappings(pod, "spec", "initContainers")]
    done = {
        name
        for name in init
        if shapes.text(known.get(name), "state", "terminated", "exitCode") == "0"
    }
    return [name for name in _names(pod) if name not in done]


def _names(pod: shapes.Object) -> list[str]:
    groups = ("initContainers", "containers", "ephemeralContainers")
    return [
        shapes.text(item, "name")
        for group in groups
        for item in shapes.mappings(pod, "spec", group)
    ]


def _notes(found: owners.Pods, chosen: int, logs: int) -> Iterator[str]:
    total = len(found.items)
    if total > chosen or found.more:
        more = "more than " if found.more else ""
        yield f"{chosen} of {more}{total} Pods, those in trouble first; name a Pod to read another"
    if logs > MOST_LOGS:
        yield f"{MOST_LOGS} of {logs} containers; name a container to read another"
