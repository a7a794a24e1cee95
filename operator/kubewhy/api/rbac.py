"""Roles and their bindings: every right that a part of kubewhy has, and nothing more.

No role here holds a star, Secrets, exec, tokens, escalate, bind or the verb approve. The operator reads
the cluster only by impersonating the two accounts it names; its own account writes status, records,
Leases and Events.
"""

from typing import Any, Final

from kubewhy.api import names

Manifest = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"
_READ: Final = ("get", "list")

READABLE: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "serviceaccounts",
        "services",
    ),
    "admissionregistration.k8s.io": (
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "apiregistration.k8s.io": ("apiservices",),
    "apps": ("controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("cronjobs", "jobs"),
    "certificates.k8s.io": ("certificatesigningrequests",),
    "coordination.k8s.io": ("leases",),
    "discovery.k8s.io": ("endpointslices",),
    "events.k8s.io": ("events",),
    "metrics.k8s.io": ("nodes", "pods"),
    "networking.k8s.io": ("ingressclasses", "ingresses", "networkpolicies"),
    "node.k8s.io": ("runtimeclasses",),
    "policy": ("poddisruptionbudgets",),
    _RBAC: ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    "scheduling.k8s.io": ("priorityclasses",),
    "storage.k8s.io": (
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "storageclasses",
        "volumeattachments",
    ),
}
"""What the shared reader may get and list, by API group. No Secrets."""


def all_roles() -> tuple[Manifest, ...]:
    """Every role with its binding, in the order they are written."""
    return (
        operator_role(),
        _cluster_binding(names.OPERATOR_ACCOUNT),
        lease_role(),
        _binding(names.OPERATOR_ACCOUNT),
        webhook_role(),
        _cluster_binding(names.WEBHOOK_ACCOUNT),
        reader_role(),
        _cluster_binding(names.INVESTIGATOR_ACCOUNT),
    )


def operator_role() -> Manifest:
    """What the operator does under its own account.

    It may not patch Investigations, only their status: who may patch could write an approval.
    Records have no update: a batch is immutable, and creating the next is the compare-and-swap.
    """
    investigations, records = names.INVESTIGATION.plural, names.RECORD.plural
    accounts = [names.INVESTIGATOR_ACCOUNT, names.PROBE_ACCOUNT]
    return _cluster_role(
        names.OPERATOR_ACCOUNT,
        _rule(names.GROUP, investigations, "get", "list", "watch", "delete"),
        _rule(names.GROUP, f"{investigations}/status", "patch"),
        _rule(names.GROUP, records, "get", "list", "create", "delete"),
        _rule("", "events", "create", "patch"),
        _rule("events.k8s.io", "events", "create", "patch"),
        _rule("", "serviceaccounts", "impersonate") | {"resourceNames": accounts},
    )


def lease_role() -> Manifest:
    """The Leases that show which replicas live, in the operator's own namespace."""
    verbs = ("get", "list", "create", "update", "patch", "delete")
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": names.OPERATOR_ACCOUNT, "namespace": names.SYSTEM_NAMESPACE},
        "rules": [_rule("coordination.k8s.io", "leases", *verbs)],
    }


def webhook_role() -> Manifest:
    """What the webhook does: create Investigations, and note on them that an alert resolved."""
    verbs = ("get", "list", "create", "patch")
    return _cluster_role(
        names.WEBHOOK_ACCOUNT, _rule(names.GROUP, names.INVESTIGATION.plural, *verbs)
    )


def reader_role() -> Manifest:
    """What the shared reader sees: the built-in kinds without Secrets, and the logs of Pods."""
    rules = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(_READ)}
        for group, resources in READABLE.items()
    ]
    return _cluster_role(names.INVESTIGATOR_ACCOUNT, *rules, _rule("", "pods/log", "get"))


def _rule(group: str, resource: str, *verbs: str) -> Manifest:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _cluster_role(name: str, *rules: Manifest) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": list(rules),
    }


def _cluster_binding(account: str) -> Manifest:
    return _bound("ClusterRole", account, {"name": account})


def _binding(account: str) -> Manifest:
    return _bound("Role", account, {"name": account, "namespace": names.SYSTEM_NAMESPACE})


def _bound(role: str, account: str, metadata: dict[str, str]) -> Manifest:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": names.SYSTEM_NAMESPACE}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{role}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": role, "name": account},
        "subjects": [subject],
    }
