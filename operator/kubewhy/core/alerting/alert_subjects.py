"""Which object an alert is about, read from its labels alone.

Labels come from whoever wrote the metric and the rule, and many name the exporter instead of the object. So every
candidate is kept with the label that it came from, best first; the first read-only step of the run confirms one.
The order is: an explicit hint, labels that name one kind, the pod, the node, what describes the scrape target.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator, Mapping

from kubewhy.core import subjects

HINT_KIND = "kubewhy_kind"
HINT_NAME = "kubewhy_name"
HINT_NAMESPACE = "kubewhy_namespace"
HINT_API_VERSION = "kubewhy_api_version"
"""Labels or annotations by which a rule says outright what it is about (docs/alerts.md)."""

MAX_CANDIDATES = 8

_API_VERSIONS = {
    "Pod": "v1",
    "Service": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "ConfigMap": "v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "ReplicationController": "v1",
    "ResourceQuota": "v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "Ingress": "networking.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
}
_CLUSTER_SCOPED = frozenset({"Node", "Namespace", "PersistentVolume", "StorageClass"})

_KIND_LABELS = (
    ("deployment", "Deployment"),
    ("statefulset", "StatefulSet"),
    ("daemonset", "DaemonSet"),
    ("job_name", "Job"),
    ("cronjob", "CronJob"),
    ("horizontalpodautoscaler", "HorizontalPodAutoscaler"),
    ("persistentvolumeclaim", "PersistentVolumeClaim"),
    ("poddisruptionbudget", "PodDisruptionBudget"),
    ("ingress", "Ingress"),
    ("resourcequota", "ResourceQuota"),
    ("replicaset", "ReplicaSet"),
    ("replicationcontroller", "ReplicationController"),
    ("persistentvolume", "PersistentVolume"),
)
"""kube-state-metrics' labels that name one kind of object."""

_TARGET_LABELS = frozenset({"namespace", "pod", "container", "service", "node"})
"""Labels that describe the scrape target wherever the metric brought its own as `exported_…`."""

_EXPORTER = re.compile(r"(^|-)(kube-state-metrics|cadvisor|pushgateway|[a-z]*-?exporter)(-|$)")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?v[0-9][a-z0-9]{0,15}")


class Rank(enum.IntEnum):
    """How much a label says about the object; lower is better."""

    HINT = 1
    KIND_LABEL = 2
    POD = 3
    NODE = 4
    SERVICE = 5
    INSTANCE = 6
    EXPORTER = 7


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An object that the alert may be about, and the label or annotation that says so."""

    subject: subjects.Subject
    source: str
    rank: Rank


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """All that the labels say, best first. No candidate: the alert itself is the subject.

    `namespace` is where the best candidate lives, else the alert's; "" for a cluster-scoped object and where no
    label names one.
    """

    namespace: str
    candidates: tuple[Candidate, ...]

    @property
    def subject(self) -> subjects.Subject | None:
        """The best candidate that a manifest can name, which needs an API version."""
        best = self.candidates[0].subject if self.candidates else None
        return best if best and best.api_version else None


def find(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Target:
    """The candidates of one alert. What is no valid name of a Kubernetes object is passed over."""
    own = _metric_labels(labels)
    hint = labels.get(HINT_NAMESPACE) or annotations.get(HINT_NAMESPACE)
    namespace = hint or own.get("namespace", "")
    namespace = namespace if _NAMESPACE.fullmatch(namespace) else ""
    found = [*_hinted(labels, annotations, namespace), *_labelled(own, namespace)]
    found.sort(key=lambda candidate: candidate.rank)
    candidates = tuple(_distinct(found))[:MAX_CANDIDATES]
    return Target(
        namespace=candidates[0].subject.namespace if candidates else namespace,
        candidates=candidates,
    )


def may_be_cluster_scoped(kind: str) -> bool:
    """Whether objects of this kind may live in no namespace: of kinds unknown here nobody can say."""
    return kind in _CLUSTER_SCOPED or kind not in _API_VERSIONS


def _metric_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels with `exported_…` in the place of what then names the exporter."""
    exported = {
        name: labels[f"exported_{name}"]
        for name in _TARGET_LABELS
        if labels.get(f"exported_{name}")
    }
    if not exported:
        return dict(labels)
    kept = {name: value for name, value in labels.items() if name not in _TARGET_LABELS}
    if "namespace" not in exported and labels.get("namespace"):
        kept["namespace"] = labels["namespace"]
    return kept | exported


def _hinted(
    labels: Mapping[str, str], annotations: Mapping[str, str], namespace: str
) -> Iterator[Candidate]:
    for values in (labels, annotations):
        kind, name = values.get(HINT_KIND, ""), values.get(HINT_NAME, "")
        version = values.get(HINT_API_VERSION, "") or _API_VERSIONS.get(kind, "")
        if not _KIND.fullmatch(kind) or (version and not _API_VERSION.fullmatch(version)):
            continue
        found = _candidate(
            kind, name, namespace=namespace, source=HINT_NAME, rank=Rank.HINT, version=version
        )
        if found:
            yield found


def _labelled(labels: Mapping[str, str], namespace: str) -> Iterator[Candidate]:
    from_exporter = any(map(_is_exporter, (labels.get("pod", ""), labels.get("container", ""))))
    guesses = [(label, kind, Rank.KIND_LABEL) for label, kind in _KIND_LABELS]
    guesses.append(("pod", "Pod", Rank.EXPORTER if from_exporter else Rank.POD))
    guesses.append(("node", "Node", Rank.NODE))
    exposed = from_exporter or _is_exporter(labels.get("service", ""))
    guesses.append(("service", "Service", Rank.EXPORTER if exposed else Rank.SERVICE))
    guesses.append(("instance", "Node", Rank.INSTANCE))
    for label, kind, rank in guesses:
        value = labels.get(label, "")
        if label == "instance" and not _like_a_node(value):
            continue
        found = _candidate(kind, value, namespace=namespace, source=label, rank=rank)
        if found:
            yield found


def _candidate(
    kind: str, name: str, *, namespace: str, source: str, rank: Rank, version: str = ""
) -> Candidate | None:
    place = "" if kind in _CLUSTER_SCOPED else namespace
    if not _NAME.fullmatch(name) or (place and not _NAMESPACE.fullmatch(place)):
        return None
    subject = subjects.Subject(
        kind=kind,
        name=name,
        api_version=version or _API_VERSIONS.get(kind, ""),
        namespace=place,
    )
    return Candidate(subject=subject, source=source, rank=rank)


def _is_exporter(name: str) -> bool:
    return bool(_EXPORTER.search(name))


def _like_a_node(instance: str) -> bool:
    """A node's name has a letter and no port; an address says nothing about the name."""
    return ":" not in instance and any(letter.isalpha() for letter in instance)


def _distinct(candidates: list[Candidate]) -> Iterator[Candidate]:
    seen: set[subjects.Subject] = set()
    for candidate in candidates:
        if candidate.subject not in seen:
            seen.add(candidate.subject)
            yield candidate
