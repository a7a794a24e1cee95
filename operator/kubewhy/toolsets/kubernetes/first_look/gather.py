"""Reads what a first look needs, the independent things at the same time, and freezes it into a Snapshot.

Three steps: the subject with the namespace's KubeEvents and Services, then the workload and its pods
(`gather_pods`), then what these point to (`gather_details`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from typing import Final

from kubewhy import errors
from kubewhy.api import names
from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import (
    drafts,
    gather_details,
    gather_pods,
    objects,
    reads,
    resources,
    snapshot,
    targets,
)

MOST_EVENTS: Final = 500

OWN: Final = f"{names.GROUP}/"
"""KubeEvents about objects of this group tell of kubewhy's runs, not of the subject that may share their name."""


async def gather(
    source: reads.Reads, *, kind: str, name: str, namespace: str, now: datetime.datetime
) -> snapshot.Snapshot | snapshot.Gone:
    """Everything for one subject.

    Raises:
        errors.ToolFailure: NotFound where the API server serves no such kind.
    """
    resource = resources.find(kind) or await source.resource(kind)
    if resource is None:
        raise errors.ToolFailure("NotFound", f"the API server serves no kind {kind}")
    return await _run(drafts.Draft(source, namespace, now), resource, name)


async def _run(
    draft: drafts.Draft, resource: ports.Resource, name: str
) -> snapshot.Snapshot | snapshot.Gone:
    subject, events, services = await asyncio.gather(
        draft.reads.get(resource, name),
        _namespace_events(draft, resource, name),
        _services(draft, resource),
    )
    draft.events_complete = events[1]
    draft.put(events=events[0], services=services[0], services_complete=services[1])
    replaced = ""
    if subject is None and objects.Ref(resource.kind, name) in draft.reads.missing:
        subject = await targets.successor(draft.reads, name) if resource is resources.POD else None
        if subject is None:
            return await _gone(draft, resource, name)
        replaced = name
    draft.put(
        subject=subject or {"kind": resource.kind, "metadata": {"name": name}},
        replaced=replaced,
    )
    await gather_pods.read(draft)
    await gather_details.read(draft)
    return dataclasses.replace(
        draft.shot,
        missing=dict(draft.reads.missing),
        failures=tuple(draft.reads.failures),
        requests=draft.reads.count,
    )


async def _namespace_events(
    draft: drafts.Draft, resource: ports.Resource, name: str
) -> tuple[tuple[shapes.Object, ...], bool]:
    if resource.kind == "Node":
        fields = f"involvedObject.kind=Node,involvedObject.name={name}"
        found, _ = await draft.reads.list(
            resources.EVENT, namespace="default", fields=fields, limit=100
        )
        return found, True
    found, left = await draft.reads.list(resources.EVENT, limit=MOST_EVENTS)
    return found, left == 0


async def _services(
    draft: drafts.Draft, resource: ports.Resource
) -> tuple[tuple[shapes.Object, ...], bool]:
    if resource.kind not in resources.WORKLOADS | {"Service", "Ingress"}:
        return (), False
    before = len(draft.reads.failures)
    found, left = await draft.reads.list(resources.SERVICE, limit=200)
    failed = any(item.resource == "services" for item in draft.reads.failures[before:])
    return found, left == 0 and not failed


async def _gone(draft: drafts.Draft, resource: ports.Resource, name: str) -> snapshot.Gone:
    near = await targets.near(draft.reads, resource, name)
    stem = f"{name}-"
    events = [
        event
        for event in draft.shot.events
        if (of := shapes.text(event, "involvedObject", "name")) == name or of.startswith(stem)
    ]
    if not draft.events_complete:
        fields = f"involvedObject.name={name}"
        found, _ = await draft.reads.list(resources.EVENT, fields=fields, limit=50)
        events += found
    return snapshot.Gone(
        now=draft.shot.now,
        namespace=draft.shot.namespace if resource.namespaced else "",
        kind=resource.kind,
        name=name,
        message=draft.reads.missing[objects.Ref(resource.kind, name)],
        near=near,
        events=tuple(
            {
                shapes.text(event, "metadata", "name"): event
                for event in events
                if not shapes.text(event, "involvedObject", "apiVersion").startswith(OWN)
            }.values()
        ),
        failures=tuple(draft.reads.failures),
    )
