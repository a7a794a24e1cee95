"""Third step: what the pods in focus and the workload point to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Container, Iterable
from typing import Final

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import (
    drafts,
    gather_pods,
    objects,
    podstate,
    reads,
    references_read,
    resources,
    snapshot,
)

MOST_LOGS: Final = 4
MOST_REFERENCES: Final = 10
CLEAR_TROUBLE: Final = 80
"""From this trouble of a pod on, its own state explains it and the neighbourhood is not read."""

_READ_REFERENCES = {
    "ConfigMap": resources.CONFIG_MAP,
    "ServiceAccount": resources.SERVICE_ACCOUNT,
    "PersistentVolumeClaim": resources.CLAIM,
}


async def read(draft: drafts.Draft) -> None:
    """Choose the pods to look at closely and read what explains them."""
    newest = objects.name(draft.shot.replica_sets[0]) if draft.shot.replica_sets else ""
    chosen = podstate.focus(draft.shot.pods, subject=objects.ref(draft.shot.subject), newest=newest)
    draft.put(focus=chosen)
    worst = max((podstate.trouble(pod) for pod in chosen), default=0)
    tasks: list[Awaitable[None]] = [
        _logs(draft),
        _references(draft),
        _nodes(draft),
        _more_events(draft),
    ]
    if _pods_are_short(draft):
        tasks.append(_admission(draft))
    if worst < CLEAR_TROUBLE:
        tasks.append(_surroundings(draft))
    if any(shapes.text(event, "reason") == "Preempted" for event in draft.shot.events):
        tasks.append(_neighbours(draft))
    tasks.append(_kind_specific(draft))
    await asyncio.gather(*tasks)
    await _storage(draft)


async def _logs(draft: drafts.Draft) -> None:
    wanted = list(dict.fromkeys(log_choices(draft.shot.focus)))[:MOST_LOGS]
    logs = await asyncio.gather(*(_log(draft, *choice, known=wanted) for choice in wanted))
    draft.put(logs=tuple(logs))


async def _log(
    draft: drafts.Draft,
    pod: str,
    container: str,
    previous: bool,
    *,
    known: Container[tuple[str, str, bool]],
) -> snapshot.Log:
    """A log; where the kubelet has it no more, the one of the run beside it (a restart came in between)."""
    found = await draft.reads.log(pod, container, previous=previous)
    if (
        found.problem.startswith(reads.NOT_AVAILABLE)
        and (pod, container, not previous) not in known
    ):
        other = await draft.reads.log(pod, container, previous=not previous)
        return found if other.problem else other
    return found


async def _references(draft: drafts.Draft) -> None:
    pod = draft.shot.focus[0] if draft.shot.focus else draft.shot.template
    references = references_read.of_pod(pod)
    draft.put(references=references)
    wanted = [
        ref
        for ref in dict.fromkeys(item.ref for item in references)
        if ref.kind in _READ_REFERENCES
    ]
    found = await asyncio.gather(
        *(draft.reads.get(_READ_REFERENCES[ref.kind], ref.name) for ref in wanted[:MOST_REFERENCES])
    )
    read = {ref: item for ref, item in zip(wanted, found, strict=False) if item}
    draft.put(found={**draft.shot.found, **read})


async def _nodes(draft: drafts.Draft) -> None:
    if (
        any(podstate.unscheduled(pod) for pod in draft.shot.pods)
        or any(shapes.text(event, "reason") == "FailedScheduling" for event in draft.shot.events)
        or objects.kind(draft.shot.workload) == "DaemonSet"
    ):
        found, _ = await draft.reads.list(resources.NODE, limit=50)
        draft.put(nodes=found or draft.shot.nodes)
        return
    names = {shapes.text(pod, "spec", "nodeName") for pod in draft.shot.focus[:1]} - {""}
    if draft.shot.nodes or not names:
        return
    node = await draft.reads.get(resources.NODE, names.pop())
    draft.put(nodes=(node,) if node else ())


async def _more_events(draft: drafts.Draft) -> None:
    """Where the namespace has more KubeEvents than one page: those of each object of interest."""
    if draft.events_complete:
        return
    interesting = [
        draft.shot.subject,
        draft.shot.workload,
        *draft.shot.replica_sets[:1],
        *draft.shot.focus,
    ]
    names = dict.fromkeys(objects.ref(item) for item in interesting if objects.name(item))
    pages = await asyncio.gather(
        *(
            draft.reads.list(
                resources.EVENT,
                fields=f"involvedObject.kind={ref.kind},involvedObject.name={ref.name}",
                limit=50,
            )
            for ref in list(names)[:6]
        )
    )
    more = [event for page in pages for event in page[0]]
    merged = {
        shapes.text(event, "metadata", "name"): event for event in (*draft.shot.events, *more)
    }
    draft.put(events=tuple(merged.values()))


def _pods_are_short(draft: drafts.Draft) -> bool:
    workload = draft.shot.workload
    wanted = shapes.number(workload, "spec", "replicas", default=1)
    if objects.kind(workload) == "Job":
        wanted = shapes.number(workload, "spec", "parallelism", default=1)
    refused = any(
        shapes.text(event, "reason") in {"FailedCreate", "FailedUpdate"}
        for event in draft.shot.events
    )
    return refused or (bool(workload) and len(draft.shot.pods) < wanted)


async def _admission(draft: drafts.Draft) -> None:
    quotas, ranges = await asyncio.gather(
        draft.reads.list(resources.QUOTA, limit=20),
        draft.reads.list(resources.LIMIT_RANGE, limit=20),
    )
    draft.put(quotas=quotas[0], limit_ranges=ranges[0])


async def _surroundings(draft: drafts.Draft) -> None:
    """What can hurt pods that look well themselves: scaling, disruption budgets, network policies."""
    if objects.kind(draft.shot.workload or draft.shot.subject) not in resources.WORKLOADS | {
        "Service"
    }:
        return
    scalers, budgets, policies = await asyncio.gather(
        draft.reads.list(resources.AUTOSCALER, limit=50),
        draft.reads.list(resources.BUDGET, limit=50),
        draft.reads.list(resources.NETWORK_POLICY, limit=50),
    )
    draft.put(autoscalers=scalers[0], budgets=budgets[0], policies=policies[0])


async def _neighbours(draft: drafts.Draft) -> None:
    """The KubeEvent names the preemptor by its UID only."""
    found, _ = await draft.reads.list(resources.POD, limit=gather_pods.MOST_PODS)
    draft.put(neighbours=found)


async def _kind_specific(draft: drafts.Draft) -> None:
    kind = objects.kind(draft.shot.subject)
    if kind == "Ingress":
        name = shapes.text(draft.shot.subject, "spec", "ingressClassName")
        found = await draft.reads.get(resources.INGRESS_CLASS, name) if name else None
        if found:
            draft.put(found={**draft.shot.found, objects.ref(found): found})
    elif kind == "PersistentVolumeClaim":
        draft.put(found={**draft.shot.found, objects.ref(draft.shot.subject): draft.shot.subject})


async def _storage(draft: drafts.Draft) -> None:
    """For claims that are not bound: classes and volumes; for bound ones of a pod that waits: their volume."""
    claims = objects.of_kind(draft.shot.found.values(), "PersistentVolumeClaim")
    pending = [claim for claim in claims if shapes.text(claim, "status", "phase") != "Bound"]
    if pending:
        classes, volumes = await asyncio.gather(
            draft.reads.list(resources.STORAGE_CLASS, limit=50),
            draft.reads.list(resources.VOLUME, limit=50),
        )
        draft.put(storage_classes=classes[0], volumes=volumes[0])
    elif any(podstate.unscheduled(pod) for pod in draft.shot.focus):
        names = [shapes.text(claim, "spec", "volumeName") for claim in claims]
        found = await asyncio.gather(
            *(draft.reads.get(resources.VOLUME, name) for name in names[:3])
        )
        draft.put(volumes=tuple(item for item in found if item))


def log_choices(focus: Iterable[shapes.Object]) -> list[tuple[str, str, bool]]:
    """Which logs tell most: (pod, container, previous), for each pod its worst containers first."""
    chosen: list[tuple[str, str, bool]] = []
    for pod in focus:
        found = [
            item
            for item in podstate.containers(pod)
            if item.status and not podstate.unscheduled(pod)
        ]
        found.sort(key=lambda item: -item.trouble)
        troubled = [item for item in found if item.trouble >= podstate.EXITED] or [
            item for item in found if not item.init
        ]
        for item in troubled[:3]:
            chosen += [(objects.name(pod), item.name, previous) for previous in _log_kinds(item)]
    return chosen


def _log_kinds(container: podstate.Container) -> list[bool]:
    """Which of a container's logs exist and tell something: the previous one, the current one, or both."""
    if container.terminated:
        return [False]
    if container.waiting:
        return [True] if container.last else []
    kinds = [True] if podstate.failed(container.last) else []
    return [*kinds, False] if container.running else kinds
