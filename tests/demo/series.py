"""Kubernetes objects as series under kube-state-metrics' names and labels (its docs/metrics, version 2).

Only what alert rules of the kubernetes-mixin ask about pods and Deployments. As there, a series that says
what a container waits for exists only while it waits.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import core

Object = Mapping[str, Any]
Sample = tuple[tuple[str, ...], float]

PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
CONDITION_STATUSES = ("true", "false", "unknown")
_OWNER = ("owner_kind", "owner_name", "owner_is_controller")


@dataclass(frozen=True, kw_only=True)
class Family:
    """One metric: its name, its help text, the labels after those of every metric of its kind, and its samples."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    samples: Callable[[Object], Iterable[Sample]]
    counter: bool = False


def pod_families(pods: Iterable[Object]) -> Iterator[core.Metric]:
    """The series of pods; all carry namespace, pod and uid."""
    found = list(pods)
    for family in _POD:
        yield _metric(family, ("namespace", "pod", "uid"), found)


def deployment_families(deployments: Iterable[Object]) -> Iterator[core.Metric]:
    """The series of Deployments; all carry namespace and deployment."""
    found = list(deployments)
    for family in _DEPLOYMENT:
        yield _metric(family, ("namespace", "deployment"), found)


def replicaset_families(replicasets: Iterable[Object]) -> Iterator[core.Metric]:
    """The series of ReplicaSets; all carry namespace and replicaset."""
    found = list(replicasets)
    for family in _REPLICASET:
        yield _metric(family, ("namespace", "replicaset"), found)


def _metric(family: Family, own: tuple[str, ...], objects: list[Object]) -> core.Metric:
    kind = core.CounterMetricFamily if family.counter else core.GaugeMetricFamily
    metric = kind(family.name, family.help, labels=[*own, *family.labels])
    for item in objects:
        meta = item["metadata"]
        common = [meta["namespace"], meta["name"], meta["uid"]][: len(own)]
        for values, number in family.samples(item):
            metric.add_metric([*common, *values], number)
    return metric


def _containers(pod: Object, field: str = "containerStatuses") -> list[Object]:
    found: list[Object] = pod.get("status", {}).get(field) or []
    return found


def _in_state(state: str) -> Callable[[Object], Iterator[Sample]]:
    """1 for each container in the state, 0 for each other."""

    def samples(pod: Object) -> Iterator[Sample]:
        for status in _containers(pod):
            yield (status["name"],), float(state in (status.get("state") or {}))

    return samples


def _reason(
    state: str, *, of: str = "state", containers: str = "containerStatuses"
) -> Callable[[Object], Iterator[Sample]]:
    """1, with the reason, for each container in the state; nothing for the others."""

    def samples(pod: Object) -> Iterator[Sample]:
        for status in _containers(pod, containers):
            found = (status.get(of) or {}).get(state)
            if found is not None:
                yield (status["name"], found.get("reason", "")), 1.0

    return samples


def _exit_code(pod: Object) -> Iterator[Sample]:
    for status in _containers(pod):
        last = (status.get("lastState") or {}).get("terminated")
        if last is not None:
            yield (status["name"],), float(last.get("exitCode", 0))


def _restarts(pod: Object) -> Iterator[Sample]:
    for status in _containers(pod):
        yield (status["name"],), float(status.get("restartCount", 0))


def _container_ready(pod: Object) -> Iterator[Sample]:
    for status in _containers(pod):
        yield (status["name"],), float(bool(status.get("ready")))


def _phase(pod: Object) -> Iterator[Sample]:
    phase = pod.get("status", {}).get("phase")
    for name in PHASES if phase else ():
        yield (name,), float(phase == name)


def _condition(type_: str) -> Callable[[Object], Iterator[Sample]]:
    """Three series for the condition, of which the one that holds is 1."""

    def samples(pod: Object) -> Iterator[Sample]:
        for condition in pod.get("status", {}).get("conditions") or ():
            if condition["type"] == type_:
                for status in CONDITION_STATUSES:
                    yield (status,), float(condition["status"].lower() == status)

    return samples


def _unschedulable(pod: Object) -> Iterator[Sample]:
    for condition in pod.get("status", {}).get("conditions") or ():
        if (condition["type"], condition["status"]) == ("PodScheduled", "False"):
            yield (), 1.0


def _owners(item: Object) -> Iterator[Sample]:
    owners = item["metadata"].get("ownerReferences") or ()
    for owner in owners:
        controls = str(bool(owner.get("controller"))).lower()
        yield (owner["kind"], owner["name"], controls), 1.0
    if not owners:
        yield ("", "", ""), 1.0


def _pod_info(pod: Object) -> Iterator[Sample]:
    status, spec = pod.get("status", {}), pod.get("spec", {})
    owners = pod["metadata"].get("ownerReferences") or ()
    by: Object = next((owner for owner in owners if owner.get("controller")), {})
    values = (
        status.get("hostIP", ""),
        status.get("podIP", ""),
        spec.get("nodeName", ""),
        by.get("kind", ""),
        by.get("name", ""),
        spec.get("priorityClassName", ""),
        str(bool(spec.get("hostNetwork"))).lower(),
    )
    yield values, 1.0


def _created(item: Object) -> Iterator[Sample]:
    created = datetime.datetime.fromisoformat(item["metadata"]["creationTimestamp"])
    yield (), created.timestamp()


def _number(*path: str) -> Callable[[Object], Iterator[Sample]]:
    """The number at a path; 0 where the API server leaves it out."""

    def samples(item: Object) -> Iterator[Sample]:
        found: Any = item
        for key in path:
            found = (found or {}).get(key)
        yield (), float(found or 0)

    return samples


_INFO = ("host_ip", "pod_ip", "node", "created_by_kind", "created_by_name", "priority_class")

_POD = (
    Family(
        name="kube_pod_info",
        help="Information about pod.",
        labels=(*_INFO, "host_network"),
        samples=_pod_info,
    ),
    Family(name="kube_pod_created", help="Unix creation timestamp", samples=_created),
    Family(
        name="kube_pod_owner",
        help="Information about the Pod's owner.",
        labels=_OWNER,
        samples=_owners,
    ),
    Family(
        name="kube_pod_status_phase",
        help="The pods current phase.",
        labels=("phase",),
        samples=_phase,
    ),
    Family(
        name="kube_pod_status_ready",
        help="Describes whether the pod is ready to serve requests.",
        labels=("condition",),
        samples=_condition("Ready"),
    ),
    Family(
        name="kube_pod_status_scheduled",
        help="Describes the status of the scheduling process for the pod.",
        labels=("condition",),
        samples=_condition("PodScheduled"),
    ),
    Family(
        name="kube_pod_status_unschedulable",
        help="Describes the unschedulable status for the pod.",
        samples=_unschedulable,
    ),
    Family(
        name="kube_pod_container_status_waiting",
        help="Describes whether the container is currently in waiting state.",
        labels=("container",),
        samples=_in_state("waiting"),
    ),
    Family(
        name="kube_pod_container_status_waiting_reason",
        help="Describes the reason the container is currently in waiting state.",
        labels=("container", "reason"),
        samples=_reason("waiting"),
    ),
    Family(
        name="kube_pod_init_container_status_waiting_reason",
        help="Describes the reason the init container is currently in waiting state.",
        labels=("container", "reason"),
        samples=_reason("waiting", containers="initContainerStatuses"),
    ),
    Family(
        name="kube_pod_container_status_running",
        help="Describes whether the container is currently in running state.",
        labels=("container",),
        samples=_in_state("running"),
    ),
    Family(
        name="kube_pod_container_status_terminated",
        help="Describes whether the container is currently in terminated state.",
        labels=("container",),
        samples=_in_state("terminated"),
    ),
    Family(
        name="kube_pod_container_status_terminated_reason",
        help="Describes the reason the container is currently in terminated state.",
        labels=("container", "reason"),
        samples=_reason("terminated"),
    ),
    Family(
        name="kube_pod_container_status_last_terminated_reason",
        help="Describes the last reason the container was in terminated state.",
        labels=("container", "reason"),
        samples=_reason("terminated", of="lastState"),
    ),
    Family(
        name="kube_pod_container_status_last_terminated_exitcode",
        help="Describes the exit code for the last container in terminated state.",
        labels=("container",),
        samples=_exit_code,
    ),
    Family(
        name="kube_pod_container_status_ready",
        help="Describes whether the containers readiness check succeeded.",
        labels=("container",),
        samples=_container_ready,
    ),
    Family(
        name="kube_pod_container_status_restarts_total",
        help="The number of container restarts per container.",
        labels=("container",),
        samples=_restarts,
        counter=True,
    ),
)

_DEPLOYMENT = tuple(
    Family(name=f"kube_deployment_{name}", help=text, samples=_number(*path))
    for name, text, path in (
        ("spec_replicas", "Number of desired pods for a deployment.", ("spec", "replicas")),
        (
            "metadata_generation",
            "Sequence number representing a specific generation of the desired state.",
            ("metadata", "generation"),
        ),
        (
            "status_observed_generation",
            "The generation observed by the deployment controller.",
            ("status", "observedGeneration"),
        ),
        ("status_replicas", "The number of replicas per deployment.", ("status", "replicas")),
        (
            "status_replicas_ready",
            "The number of ready replicas per deployment.",
            ("status", "readyReplicas"),
        ),
        (
            "status_replicas_available",
            "The number of available replicas per deployment.",
            ("status", "availableReplicas"),
        ),
        (
            "status_replicas_unavailable",
            "The number of unavailable replicas per deployment.",
            ("status", "unavailableReplicas"),
        ),
        (
            "status_replicas_updated",
            "The number of updated replicas per deployment.",
            ("status", "updatedReplicas"),
        ),
    )
)

_REPLICASET = (
    Family(
        name="kube_replicaset_owner",
        help="Information about the ReplicaSet's owner.",
        labels=_OWNER,
        samples=_owners,
    ),
)
