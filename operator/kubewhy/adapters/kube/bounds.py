"""What an Investigation may read, beyond what RBAC allows: decided here, on values, before any request.

Secrets are never read, whoever runs. With the shared reader, which sees the whole cluster, reads are bounded to the
Investigation's own namespace and the cluster-scoped kinds listed here; otherwise anyone who may create an
Investigation could read through the operator's eyes (kubernetes-api.md §4 of the reference).
"""

from __future__ import annotations

import dataclasses

from kubewhy import errors
from kubewhy.core import ports

ALL_NAMESPACES = "*"
"""As a namespace of a list: all of them."""

SHARED_CLUSTER_KINDS = frozenset(
    {
        ("", "nodes"),
        ("", "persistentvolumes"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
        ("metrics.k8s.io", "nodes"),
        ("networking.k8s.io", "ingressclasses"),
        ("node.k8s.io", "runtimeclasses"),
        ("scheduling.k8s.io", "priorityclasses"),
        ("storage.k8s.io", "csidrivers"),
        ("storage.k8s.io", "csinodes"),
        ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"),
    }
)
"""Cluster-scoped kinds, as (group, plural), that every Investigation may read. Of Namespaces only its own."""

_EVENT_NAMESPACE = "default"
_CLUSTER_EVENT_SELECTORS = frozenset(
    {"involvedObject.kind=Node", "involvedObject.kind=PersistentVolume"}
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read before it is sent: `namespace` is the one read from, "" for a cluster-scoped kind."""

    verb: str
    resource: ports.Resource
    namespace: str
    name: str = ""
    field_selector: str = ""


def check(read: Read, *, own: str, bounded: bool) -> None:
    """Let a read pass or refuse it; `own` is the Investigation's namespace.

    Raises:
        errors.ApiForbidden: refused; the text names verb, resource and namespace.
    """
    if (read.resource.group, read.resource.name) == ("", "secrets"):
        raise _refused(read, "kubewhy never reads Secrets, whatever RBAC allows")
    if bounded and not _shared(read, own):
        raise _refused(read, _why(read.resource, own))


def _shared(read: Read, own: str) -> bool:
    kind = (read.resource.group, read.resource.name)
    if read.resource.namespaced:
        return read.namespace == own or _about_cluster(read)
    return read.name == own if kind == ("", "namespaces") else kind in SHARED_CLUSTER_KINDS


def _about_cluster(read: Read) -> bool:
    """KubeEvents about Nodes and PersistentVolumes lie in the namespace `default`."""
    return (
        (read.resource.group, read.resource.name) == ("", "events")
        and read.namespace == _EVENT_NAMESPACE
        and not _CLUSTER_EVENT_SELECTORS.isdisjoint(read.field_selector.split(","))
    )


def _why(resource: ports.Resource, own: str) -> str:
    if resource.namespaced:
        return (
            f"this Investigation reads with the shared reader, which is bounded to its namespace {own}; "
            f"a ServiceAccount kubewhy-investigator in {own} with rights of its own lifts that"
        )
    return (
        "this Investigation reads with the shared reader, which sees only some cluster-scoped kinds "
        f"and of Namespaces only {own}"
    )


def _refused(read: Read, why: str) -> errors.ApiForbidden:
    kind = ".".join(filter(None, (read.resource.name, read.resource.group)))
    text = f"may not {read.verb} {kind} {_where(read)}: {why}"
    return errors.ApiForbidden(text, status=403, reason="Forbidden")


def _where(read: Read) -> str:
    if not read.resource.namespaced:
        return "at cluster scope"
    everywhere = read.namespace == ALL_NAMESPACES
    return "in all namespaces" if everywhere else f"in namespace {read.namespace[:63]!a}"
