"""Reads what a first look needs, the independent things at the same time, and freezes it into a Snapshot."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Awaitable, Container, Iterable
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports
from kubewhy.toolsets.kubernetes.first_look import (
    objects,
    podstate,
    reads,
    references_read,
    resources,
    snapshot,
    targets,
)

MOST_PODS: Final = 100
MOST_EVENTS: Final = 500
MOST_LOGS: Final = 4
MOST_REFERENCES: Final = 10
CLEAR_TROUBLE: Final = 80
"""From this trouble of a pod on, its own state explains it and the neighbourhood is not read."""

_OWNS_PODS_BY_SELECTOR = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
_READ_REFERENCES = {
    "ConfigMap": resources.CONFIG_MAP,
    "ServiceAccount": resources.SERVICE_ACCOUNT,
    "PersistentVolumeClaim": resources.CLAIM,
}


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
    return await _Gatherer(source, namespace, now).run(resource, name)


class _Gatherer:
    """One gathering: mutable while it reads, a Snapshot at the end."""

    def __init__(self, source: reads.Reads, namespace: str, now: datetime.datetime) -> None:
        self._reads = source
        self._shot = snapshot.Snapshot(now=now, namespace=namespace, subject={})
        self._events_complete = True

    async def run(self, resource: ports.Resource, name: str) -> snapshot.Snapshot | snapshot.Gone:
        subject, events, services = await asyncio.gather(
            self._reads.get(resource, name),
            self._namespace_events(resource, name),
            self._services(resource),
        )
        self._events_complete = events[1]
        self._put(events=events[0], services=services[0], services_complete=services[1])
        replaced = ""
        if subject is None and objects.Ref(resource.kind, name) in self._reads.missing:
            subject = (
                await targets.successor(self._reads, name) if resource is resources.POD else None
            )
            if subject is None:
                return await self._gone(resource, name)
            replaced = name
        self._put(
            subject=subject or {"kind": resource.kind, "metadata": {"name": name}},
            replaced=replaced,
        )
        await self._pods()
        await self._details()
        return dataclasses.replace(
            self._shot,
            missing=dict(self._reads.missing),
            failures=tuple(self._reads.failures),
            requests=self._reads.count,
        )

    def _put(self, **changes: Any) -> None:
        self._shot = dataclasses.replace(self._shot, **changes)

    # --- first: the namespace's events and services --------------------------------------------------------------

    async def _namespace_events(
        self, resource: ports.Resource, name: str
    ) -> tuple[tuple[objects.Object, ...], bool]:
        if resource.kind == "Node":
            fields = f"involvedObject.kind=Node,involvedObject.name={name}"
            found, _ = await self._reads.list(
                resources.EVENT, namespace="default", fields=fields, limit=100
            )
            return found, True
        found, left = await self._reads.list(resources.EVENT, limit=MOST_EVENTS)
        return found, left == 0

    async def _services(self, resource: ports.Resource) -> tuple[tuple[objects.Object, ...], bool]:
        if resource.kind not in resources.WORKLOADS | {"Service", "Ingress"}:
            return (), False
        before = len(self._reads.failures)
        found, left = await self._reads.list(resources.SERVICE, limit=200)
        failed = any(item.resource == "services" for item in self._reads.failures[before:])
        return found, left == 0 and not failed

    async def _gone(self, resource: ports.Resource, name: str) -> snapshot.Gone:
        near = await targets.near(self._reads, resource, name)
        stem = f"{name}-"
        events = [
            event
            for event in self._shot.events
            if (of := objects.text(event, "involvedObject", "name")) == name or of.startswith(stem)
        ]
        if not self._events_complete:
            fields = f"involvedObject.name={name}"
            found, _ = await self._reads.list(resources.EVENT, fields=fields, limit=50)
            events += found
        return snapshot.Gone(
            now=self._shot.now,
            namespace=self._shot.namespace,
            kind=resource.kind,
            name=name,
            message=self._reads.missing[objects.Ref(resource.kind, name)],
            near=near,
            events=tuple(
                {objects.text(event, "metadata", "name"): event for event in events}.values()
            ),
            failures=tuple(self._reads.failures),
        )

    # --- second: the workload and its pods -----------------------------------------------------------------------

    async def _pods(self) -> None:
        kind = objects.kind(self._shot.subject)
        if kind in resources.WORKLOADS:
            owners = await targets.climb(self._reads, self._shot.subject)
            chain = (self._shot.subject, *owners)
            self._put(owners=owners, workload=chain[-1])
            await self._workload_pods()
        elif kind == "Service":
            await self._service_pods()
        elif kind == "HorizontalPodAutoscaler":
            await self._scaled_pods()
        elif kind == "Node":
            await self._node_pods()

    async def _workload_pods(self) -> None:
        workload = self._shot.workload
        kind = objects.kind(workload)
        if kind == "CronJob":
            await self._cron_pods()
        elif kind == "Pod":
            self._put(pods=(workload,))
        elif not table_known(workload):
            await self._pods_by_name()
        else:
            pods, sets = await asyncio.gather(self._selected_pods(workload), self._replica_sets())
            self._put(replica_sets=sets)
            self._keep_pods(pods[0], pods[1], owners=(workload, *sets))
            if pods[1]:
                await self._more_pods(workload)
        if self._shot.replaced or objects.kind(self._shot.subject) != "Pod":
            return
        if objects.name(self._shot.subject) not in {objects.name(pod) for pod in self._shot.pods}:
            self._put(pods=(self._shot.subject, *self._shot.pods))

    async def _selected_pods(
        self, workload: objects.Object, *, fields: str = "", limit: int = MOST_PODS
    ) -> tuple[tuple[objects.Object, ...], int]:
        labels = targets.label_selector(workload)
        if not labels:
            return (), 0
        return await self._reads.list(resources.POD, labels=labels, fields=fields, limit=limit)

    async def _more_pods(self, workload: objects.Object) -> None:
        """Of many pods, those that the API server can tell to be in trouble."""
        found = await asyncio.gather(
            *(
                self._selected_pods(workload, fields=f"status.phase={phase}", limit=20)
                for phase in ("Pending", "Failed")
            )
        )
        known = {objects.name(pod) for pod in self._shot.pods}
        more = tuple(pod for page in found for pod in page[0] if objects.name(pod) not in known)
        self._put(pods=self._shot.pods + more)

    def _keep_pods(
        self, pods: Iterable[objects.Object], left: int, *, owners: Iterable[objects.Object]
    ) -> None:
        """Keep the pods that one of the owners manages: a selector alone may reach foreign ones."""
        chain = list(owners)
        kept = tuple(pod for pod in pods if any(objects.owned_by(pod, owner) for owner in chain))
        self._put(pods=kept, pods_left_out=left)

    async def _replica_sets(self) -> tuple[objects.Object, ...]:
        workload = self._shot.workload
        if objects.kind(workload) != "Deployment":
            return ()
        labels = targets.label_selector(workload)
        found, _ = await self._reads.list(resources.REPLICA_SET, labels=labels, limit=30)
        own = [item for item in found if objects.owned_by(item, workload)]
        return tuple(sorted(own, key=revision, reverse=True))

    async def _cron_pods(self) -> None:
        found, _ = await self._reads.list(resources.JOB, limit=200)
        own = [job for job in found if objects.owned_by(job, self._shot.workload)]
        own.sort(key=lambda job: objects.text(job, "metadata", "creationTimestamp"), reverse=True)
        self._put(jobs=tuple(own[:10]))
        subject = objects.name(self._shot.subject)
        telling = [job for job in own if objects.name(job) == subject] or [
            job
            for job in own
            if objects.number(job, "status", "failed") or objects.number(job, "status", "active")
        ]
        pages = await asyncio.gather(*(self._selected_pods(job) for job in (telling or own)[:2]))
        self._put(pods=tuple(pod for page in pages for pod in page[0]))

    async def _pods_by_name(self) -> None:
        """The workload could not be read: its pods are told by their names."""
        stem = f"{objects.name(self._shot.subject)}-"
        found, left = await self._reads.list(resources.POD, limit=MOST_PODS)
        self._put(
            pods=tuple(pod for pod in found if objects.name(pod).startswith(stem)),
            pods_left_out=left,
        )

    async def _service_pods(self) -> None:
        service = self._shot.subject
        selector = objects.labels(service, "spec", "selector")
        text = objects.selector_text(selector)
        fields = f"kubernetes.io/service-name={objects.name(service)}"
        slices, pods = await asyncio.gather(
            self._reads.list(resources.ENDPOINT_SLICE, labels=fields, limit=20),
            self._reads.list(resources.POD, labels=text, limit=MOST_PODS) if text else _nothing(),
        )
        self._put(slices=slices[0], pods=pods[0], pods_left_out=pods[1])
        if pods[0]:
            owners = await targets.climb(self._reads, pods[0][0])
            if owners:
                self._put(owners=owners, workload=owners[-1], replica_sets=())
                self._put(replica_sets=await self._replica_sets())
        elif text:
            await self._candidates()

    async def _candidates(self) -> None:
        """Workloads that the Service may have been meant for."""
        kinds = (resources.DEPLOYMENT, resources.STATEFUL_SET, resources.DAEMON_SET)
        found = await asyncio.gather(*(self._reads.list(kind, limit=100) for kind in kinds))
        self._put(candidates=tuple(item for page in found for item in page[0]))

    async def _scaled_pods(self) -> None:
        target = objects.table(self._shot.subject, "spec", "scaleTargetRef")
        resource = resources.find(objects.text(target, "kind"))
        if resource is None:
            return
        workload = await self._reads.get(resource, objects.text(target, "name"))
        if workload:
            self._put(workload=workload)
            await self._workload_pods()

    async def _node_pods(self) -> None:
        fields = f"spec.nodeName={objects.name(self._shot.subject)}"
        found, left = await self._reads.list(resources.POD, fields=fields, limit=MOST_PODS)
        self._put(pods=found, pods_left_out=left, nodes=(self._shot.subject,))

    # --- third: what the pods and the workload point to ----------------------------------------------------------

    async def _details(self) -> None:
        newest = objects.name(self._shot.replica_sets[0]) if self._shot.replica_sets else ""
        chosen = podstate.focus(
            self._shot.pods, subject=objects.ref(self._shot.subject), newest=newest
        )
        self._put(focus=chosen)
        worst = max((podstate.trouble(pod) for pod in chosen), default=0)
        tasks: list[Awaitable[None]] = [
            self._logs(),
            self._references(),
            self._nodes(),
            self._more_events(),
        ]
        if self._pods_are_short():
            tasks.append(self._admission())
        if worst < CLEAR_TROUBLE:
            tasks.append(self._surroundings())
        if any(objects.text(event, "reason") == "Preempted" for event in self._shot.events):
            tasks.append(self._neighbours())
        tasks.append(self._kind_specific())
        await asyncio.gather(*tasks)
        await self._storage()

    async def _logs(self) -> None:
        wanted = list(dict.fromkeys(log_choices(self._shot.focus)))[:MOST_LOGS]
        logs = await asyncio.gather(*(self._log(*choice, known=wanted) for choice in wanted))
        self._put(logs=tuple(logs))

    async def _log(
        self, pod: str, container: str, previous: bool, *, known: Container[tuple[str, str, bool]]
    ) -> snapshot.Log:
        """A log; where the kubelet has it no more, the one of the run beside it (a restart came in between)."""
        found = await self._reads.log(pod, container, previous=previous)
        if (
            found.problem.startswith(reads.NOT_AVAILABLE)
            and (pod, container, not previous) not in known
        ):
            other = await self._reads.log(pod, container, previous=not previous)
            return found if other.problem else other
        return found

    async def _references(self) -> None:
        pod = self._shot.focus[0] if self._shot.focus else self._shot.template
        references = references_read.of_pod(pod)
        self._put(references=references)
        wanted = [
            ref
            for ref in dict.fromkeys(item.ref for item in references)
            if ref.kind in _READ_REFERENCES
        ]
        found = await asyncio.gather(
            *(
                self._reads.get(_READ_REFERENCES[ref.kind], ref.name)
                for ref in wanted[:MOST_REFERENCES]
            )
        )
        read = {ref: item for ref, item in zip(wanted, found, strict=False) if item}
        self._put(found={**self._shot.found, **read})

    async def _nodes(self) -> None:
        if (
            any(podstate.unscheduled(pod) for pod in self._shot.pods)
            or any(
                objects.text(event, "reason") == "FailedScheduling" for event in self._shot.events
            )
            or objects.kind(self._shot.workload) == "DaemonSet"
        ):
            found, _ = await self._reads.list(resources.NODE, limit=50)
            self._put(nodes=found or self._shot.nodes)
            return
        names = {objects.text(pod, "spec", "nodeName") for pod in self._shot.focus[:1]} - {""}
        if self._shot.nodes or not names:
            return
        node = await self._reads.get(resources.NODE, names.pop())
        self._put(nodes=(node,) if node else ())

    async def _more_events(self) -> None:
        """Where the namespace has more KubeEvents than one page: those of each object of interest."""
        if self._events_complete:
            return
        interesting = [
            self._shot.subject,
            self._shot.workload,
            *self._shot.replica_sets[:1],
            *self._shot.focus,
        ]
        names = dict.fromkeys(objects.ref(item) for item in interesting if objects.name(item))
        pages = await asyncio.gather(
            *(
                self._reads.list(
                    resources.EVENT,
                    fields=f"involvedObject.kind={ref.kind},involvedObject.name={ref.name}",
                    limit=50,
                )
                for ref in list(names)[:6]
            )
        )
        more = [event for page in pages for event in page[0]]
        merged = {
            objects.text(event, "metadata", "name"): event for event in (*self._shot.events, *more)
        }
        self._put(events=tuple(merged.values()))

    def _pods_are_short(self) -> bool:
        workload = self._shot.workload
        wanted = objects.number(workload, "spec", "replicas", default=1)
        if objects.kind(workload) == "Job":
            wanted = objects.number(workload, "spec", "parallelism", default=1)
        refused = any(
            objects.text(event, "reason") in {"FailedCreate", "FailedUpdate"}
            for event in self._shot.events
        )
        return refused or (bool(workload) and len(self._shot.pods) < wanted)

    async def _admission(self) -> None:
        quotas, ranges = await asyncio.gather(
            self._reads.list(resources.QUOTA, limit=20),
            self._reads.list(resources.LIMIT_RANGE, limit=20),
        )
        self._put(quotas=quotas[0], limit_ranges=ranges[0])

    async def _surroundings(self) -> None:
        """What can hurt pods that look well themselves: scaling, disruption budgets, network policies."""
        if objects.kind(self._shot.workload or self._shot.subject) not in resources.WORKLOADS | {
            "Service"
        }:
            return
        scalers, budgets, policies = await asyncio.gather(
            self._reads.list(resources.AUTOSCALER, limit=50),
            self._reads.list(resources.BUDGET, limit=50),
            self._reads.list(resources.NETWORK_POLICY, limit=50),
        )
        self._put(autoscalers=scalers[0], budgets=budgets[0], policies=policies[0])

    async def _neighbours(self) -> None:
        """The KubeEvent names the preemptor by its UID only."""
        found, _ = await self._reads.list(resources.POD, limit=MOST_PODS)
        self._put(neighbours=found)

    async def _kind_specific(self) -> None:
        kind = objects.kind(self._shot.subject)
        if kind == "Ingress":
            name = objects.text(self._shot.subject, "spec", "ingressClassName")
            found = await self._reads.get(resources.INGRESS_CLASS, name) if name else None
            if found:
                self._put(found={**self._shot.found, objects.ref(found): found})
        elif kind == "PersistentVolumeClaim":
            self._put(
                found={**self._shot.found, objects.ref(self._shot.subject): self._shot.subject}
            )

    async def _storage(self) -> None:
        """For claims that are not bound: classes and volumes; for bound ones of a pod that waits: their volume."""
        claims = objects.of_kind(self._shot.found.values(), "PersistentVolumeClaim")
        pending = [claim for claim in claims if objects.text(claim, "status", "phase") != "Bound"]
        if pending:
            classes, volumes = await asyncio.gather(
                self._reads.list(resources.STORAGE_CLASS, limit=50),
                self._reads.list(resources.VOLUME, limit=50),
            )
            self._put(storage_classes=classes[0], volumes=volumes[0])
        elif any(podstate.unscheduled(pod) for pod in self._shot.focus):
            names = [objects.text(claim, "spec", "volumeName") for claim in claims]
            found = await asyncio.gather(
                *(self._reads.get(resources.VOLUME, name) for name in names[:3])
            )
            self._put(volumes=tuple(item for item in found if item))


async def _nothing() -> tuple[tuple[objects.Object, ...], int]:
    return (), 0


def table_known(workload: objects.Object) -> bool:
    """Whether the workload was read, or only its name is known."""
    return bool(objects.table(workload, "spec"))


def revision(replica_set: objects.Object) -> int:
    """The rollout revision of a ReplicaSet, 0 where it has none."""
    annotations = objects.labels(replica_set, "metadata", "annotations")
    found = annotations.get("deployment.kubernetes.io/revision", "")
    return int(found) if found.isdigit() else 0


def log_choices(focus: Iterable[objects.Object]) -> list[tuple[str, str, bool]]:
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
