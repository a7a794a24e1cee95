"""Follows owner references: upwards to what made an object, downwards to the Pods that a workload runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from kubewhy import errors
from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import objects, shapes

POD: Final = ports.Resource(group="", version="v1", name="pods", kind="Pod", namespaced=True)
JOB: Final = ports.Resource(group="batch", version="v1", name="jobs", kind="Job", namespaced=True)

DEPTH: Final = 6
"""Owners that are followed; more only exist where references form a ring."""

PODS_READ: Final = 200
JOBS_READ: Final = 100


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """Pods of one page, how they were selected in words, and whether more exist."""

    items: Sequence[shapes.Object]
    selected: str
    more: bool = False


async def chain(
    kube: ports.KubeReader, value: shapes.Object, *, namespace: str = ""
) -> Sequence[str]:
    """The owners from the nearest to the last, each as "Kind/name" with a note where it could not be read."""
    found: list[str] = []
    owner = objects.controller(value)
    while owner is not None and len(found) < DEPTH:
        kind, name = shapes.text(owner, "kind"), shapes.text(owner, "name")
        try:
            resource = await kube.resource(f"{shapes.text(owner, 'apiVersion')}/{kind}")
            read = await kube.get(resource, name, namespace=namespace)
        except errors.ApiNotFound:
            return [*found, f"{kind}/{name} (does not exist any more)"]
        except errors.ApiForbidden:
            return [*found, f"{kind}/{name} (may not be read)"]
        except errors.ApiError as error:
            return [*found, f"{kind}/{name} (not read: {error})"]
        same = shapes.text(read, "metadata", "uid") == shapes.text(owner, "uid")
        if not same:
            return [*found, f"{kind}/{name} (does not exist any more; another object has its name)"]
        found.append(f"{kind}/{name}")
        owner = objects.controller(read)
    return found


async def pods(
    kube: ports.KubeReader, resource: ports.Resource, name: str, *, namespace: str = ""
) -> Pods:
    """The Pods of a Pod's, workload's, CronJob's or Service's name.

    Raises:
        errors.ToolFailure: `NoData`: the object selects no Pods at all.
        errors.ApiError: a read failed.
    """
    found = await kube.get(resource, name, namespace=namespace)
    if resource.kind == "Pod":
        return Pods(items=(found,), selected=objects.title(found))
    if resource.kind == "CronJob":
        found = await _newest_job(kube, found, namespace)
    labels = objects.selector(found)
    if not labels:
        raise errors.ToolFailure("NoData", f"{resource.kind}/{name} has no selector for Pods")
    picked = await labelled(kube, labels, namespace=namespace)
    return dataclasses.replace(picked, selected=f"{objects.title(found)} (labels {labels})")


async def labelled(kube: ports.KubeReader, labels: str, *, namespace: str = "") -> Pods:
    """The Pods with these labels."""
    page = await kube.list(POD, namespace=namespace, label_selector=labels, limit=PODS_READ)
    return Pods(items=page.items, selected=f"labels {labels}", more=bool(page.continue_token))


async def _newest_job(
    kube: ports.KubeReader, cron_job: shapes.Object, namespace: str
) -> shapes.Object:
    uid = shapes.text(cron_job, "metadata", "uid")
    page = await kube.list(JOB, namespace=namespace, limit=JOBS_READ)
    owned = [
        job
        for job in page.items
        if any(
            shapes.text(owner, "uid") == uid
            for owner in shapes.mappings(job, "metadata", "ownerReferences")
        )
    ]
    if not owned:
        raise errors.ToolFailure(
            "NoData",
            f"{objects.title(cron_job)} has no Job now: none has started, or they were cleaned up",
        )
    return max(owned, key=lambda job: shapes.text(job, "metadata", "creationTimestamp"))
