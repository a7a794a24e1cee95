"""Second step: from the subject to the workload and its pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import drafts, objects, resources, targets

MOST_PODS: Final = 100


async def read(draft: drafts.Draft) -> None:
    """Find the workload, its ReplicaSets or Jobs, and its pods."""
    kind = objects.kind(draft.shot.subject)
    if kind in resources.WORKLOADS:
        owners = await targets.climb(draft.reads, draft.shot.subject)
        chain = (draft.shot.subject, *owners)
        draft.put(owners=owners, workload=chain[-1])
        await _workload_pods(draft)
    elif kind == "Service":
        await _service_pods(draft)
    elif kind == "HorizontalPodAutoscaler":
        await _scaled_pods(draft)
    elif kind == "Node":
        await _node_pods(draft)


async def _workload_pods(draft: drafts.Draft) -> None:
    workload = draft.shot.workload
    kind = objects.kind(workload)
    if kind == "CronJob":
        await _cron_pods(draft)
    elif kind == "Pod":
        draft.put(pods=(workload,))
    elif not table_known(workload):
        await _pods_by_name(draft)
    else:
        pods, sets = await asyncio.gather(_selected_pods(draft, workload), _replica_sets(draft))
        draft.put(replica_sets=sets)
        _keep_pods(draft, pods[0], pods[1], owners=(workload, *sets))
        if pods[1]:
            await _more_pods(draft, workload)
    if draft.shot.replaced or objects.kind(draft.shot.subject) != "Pod":
        return
    if objects.name(draft.shot.subject) not in {objects.name(pod) for pod in draft.shot.pods}:
        draft.put(pods=(draft.shot.subject, *draft.shot.pods))


async def _selected_pods(
    draft: drafts.Draft, workload: shapes.Object, *, fields: str = "", limit: int = MOST_PODS
) -> tuple[tuple[shapes.Object, ...], int]:
    labels = targets.label_selector(workload)
    if not labels:
        return (), 0
    return await draft.reads.list(resources.POD, labels=labels, fields=fields, limit=limit)


async def _more_pods(draft: drafts.Draft, workload: shapes.Object) -> None:
    """Of many pods, those that the API server can tell to be in trouble."""
    found = await asyncio.gather(
        *(
            _selected_pods(draft, workload, fields=f"status.phase={phase}", limit=20)
            for phase in ("Pending", "Failed")
        )
    )
    known = {objects.name(pod) for pod in draft.shot.pods}
    more = tuple(pod for page in found for pod in page[0] if objects.name(pod) not in known)
    draft.put(pods=draft.shot.pods + more)


def _keep_pods(
    draft: drafts.Draft,
    pods: Iterable[shapes.Object],
    left: int,
    *,
    owners: Iterable[shapes.Object],
) -> None:
    """Keep the pods that one of the owners manages: a selector alone may reach foreign ones."""
    chain = list(owners)
    kept = tuple(pod for pod in pods if any(objects.owned_by(pod, owner) for owner in chain))
    draft.put(pods=kept, pods_left_out=left)


async def _replica_sets(draft: drafts.Draft) -> tuple[shapes.Object, ...]:
    workload = draft.shot.workload
    if objects.kind(workload) != "Deployment":
        return ()
    labels = targets.label_selector(workload)
    found, _ = await draft.reads.list(resources.REPLICA_SET, labels=labels, limit=30)
    own = [item for item in found if objects.owned_by(item, workload)]
    return tuple(sorted(own, key=objects.revision, reverse=True))


async def _cron_pods(draft: drafts.Draft) -> None:
    found, _ = await draft.reads.list(resources.JOB, limit=200)
    own = [job for job in found if objects.owned_by(job, draft.shot.workload)]
    own.sort(key=lambda job: shapes.text(job, "metadata", "creationTimestamp"), reverse=True)
    draft.put(jobs=tuple(own[:10]))
    subject = objects.name(draft.shot.subject)
    telling = [job for job in own if objects.name(job) == subject] or [
        job
        for job in own
        if shapes.number(job, "status", "failed") or shapes.number(job, "status", "active")
    ]
    pages = await asyncio.gather(*(_selected_pods(draft, job) for job in (telling or own)[:2]))
    draft.put(pods=tuple(pod for page in pages for pod in page[0]))


async def _pods_by_name(draft: drafts.Draft) -> None:
    """The workload could not be read: its pods are told by their names."""
    stem = f"{objects.name(draft.shot.subject)}-"
    found, left = await draft.reads.list(resources.POD, limit=MOST_PODS)
    draft.put(
        pods=tuple(pod for pod in found if objects.name(pod).startswith(stem)),
        pods_left_out=left,
    )


async def _service_pods(draft: drafts.Draft) -> None:
    service = draft.shot.subject
    selector = objects.labels(service, "spec", "selector")
    text = objects.selector_text(selector)
    fields = f"kubernetes.io/service-name={objects.name(service)}"
    slices, pods = await asyncio.gather(
        draft.reads.list(resources.ENDPOINT_SLICE, labels=fields, limit=20),
        draft.reads.list(resources.POD, labels=text, limit=MOST_PODS) if text else _nothing(),
    )
    draft.put(slices=slices[0], pods=pods[0], pods_left_out=pods[1])
    if pods[0]:
        owners = await targets.climb(draft.reads, pods[0][0])
        if owners:
            draft.put(owners=owners, workload=owners[-1], replica_sets=())
            draft.put(replica_sets=await _replica_sets(draft))
    elif text:
        await _candidates(draft)


async def _candidates(draft: drafts.Draft) -> None:
    """Workloads that the Service may have been meant for."""
    kinds = (resources.DEPLOYMENT, resources.STATEFUL_SET, resources.DAEMON_SET)
    found = await asyncio.gather(*(draft.reads.list(kind, limit=100) for kind in kinds))
    draft.put(candidates=tuple(item for page in found for item in page[0]))


async def _scaled_pods(draft: drafts.Draft) -> None:
    target = shapes.mapping(draft.shot.subject, "spec", "scaleTargetRef")
    resource = resources.find(shapes.text(target, "kind"))
    if resource is None:
        return
    workload = await draft.reads.get(resource, shapes.text(target, "name"))
    if workload:
        draft.put(workload=workload)
        await _workload_pods(draft)


async def _node_pods(draft: drafts.Draft) -> None:
    fields = f"spec.nodeName={objects.name(draft.shot.subject)}"
    found, left = await draft.reads.list(resources.POD, fields=fields, limit=MOST_PODS)
    draft.put(pods=found, pods_left_out=left, nodes=(draft.shot.subject,))


async def _nothing() -> tuple[tuple[shapes.Object, ...], int]:
    return (), 0


def table_known(workload: shapes.Object) -> bool:
    """Whether the workload was read, or only its name is known."""
    return bool(shapes.mapping(workload, "spec"))
