"""The built-in kinds that first_look reads, so that it needs no discovery request for them."""

from __future__ import annotations

from kubewhy.core import ports


def _resource(
    group: str, name: str, kind: str, *, version: str = "v1", namespaced: bool = True
) -> ports.Resource:
    return ports.Resource(group=group, version=version, name=name, kind=kind, namespaced=namespaced)


POD = _resource("", "pods", "Pod")
EVENT = _resource("", "events", "Event")
SERVICE = _resource("", "services", "Service")
CONFIG_MAP = _resource("", "configmaps", "ConfigMap")
SERVICE_ACCOUNT = _resource("", "serviceaccounts", "ServiceAccount")
CLAIM = _resource("", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUME = _resource("", "persistentvolumes", "PersistentVolume", namespaced=False)
NODE = _resource("", "nodes", "Node", namespaced=False)
NAMESPACE = _resource("", "namespaces", "Namespace", namespaced=False)
QUOTA = _resource("", "resourcequotas", "ResourceQuota")
LIMIT_RANGE = _resource("", "limitranges", "LimitRange")
DEPLOYMENT = _resource("apps", "deployments", "Deployment")
REPLICA_SET = _resource("apps", "replicasets", "ReplicaSet")
STATEFUL_SET = _resource("apps", "statefulsets", "StatefulSet")
DAEMON_SET = _resource("apps", "daemonsets", "DaemonSet")
JOB = _resource("batch", "jobs", "Job")
CRON_JOB = _resource("batch", "cronjobs", "CronJob")
AUTOSCALER = _resource(
    "autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler", version="v2"
)
BUDGET = _resource("policy", "poddisruptionbudgets", "PodDisruptionBudget")
ENDPOINT_SLICE = _resource("discovery.k8s.io", "endpointslices", "EndpointSlice")
NETWORK_POLICY = _resource("networking.k8s.io", "networkpolicies", "NetworkPolicy")
INGRESS = _resource("networking.k8s.io", "ingresses", "Ingress")
INGRESS_CLASS = _resource("networking.k8s.io", "ingressclasses", "IngressClass", namespaced=False)
STORAGE_CLASS = _resource("storage.k8s.io", "storageclasses", "StorageClass", namespaced=False)

KNOWN: dict[str, ports.Resource] = {
    resource.kind: resource
    for resource in (
        POD, SERVICE, CONFIG_MAP, SERVICE_ACCOUNT, CLAIM, VOLUME, NODE, NAMESPACE, QUOTA, LIMIT_RANGE,
        DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET, JOB, CRON_JOB, AUTOSCALER, BUDGET,
        NETWORK_POLICY, INGRESS, INGRESS_CLASS, STORAGE_CLASS,
    )
}  # fmt: skip

_SHORT = {
    "po": POD, "svc": SERVICE, "cm": CONFIG_MAP, "sa": SERVICE_ACCOUNT, "pvc": CLAIM, "pv": VOLUME, "no": NODE,
    "ns": NAMESPACE, "quota": QUOTA, "limits": LIMIT_RANGE, "deploy": DEPLOYMENT, "rs": REPLICA_SET,
    "sts": STATEFUL_SET, "ds": DAEMON_SET, "cj": CRON_JOB, "hpa": AUTOSCALER, "pdb": BUDGET, "ing": INGRESS,
    "netpol": NETWORK_POLICY, "sc": STORAGE_CLASS,
}  # fmt: skip

_BY_NAME: dict[str, ports.Resource] = {
    **{resource.kind.lower(): resource for resource in KNOWN.values()},
    **{resource.name: resource for resource in KNOWN.values()},
    **_SHORT,
}

WORKLOADS = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"}
)
"""Kinds that run pods."""


def find(word: str) -> ports.Resource | None:
    """A built-in kind by kind, plural or short name, case-insensitively."""
    return _BY_NAME.get(word.lower())
