import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alert_messages import recorded
from kubewhy.core.alerting import alert_subjects

KSM = {
    "namespace": "monitoring",
    "pod": "kube-state-metrics-7c9d8f6b5-q2w4e",
    "container": "kube-state-metrics",
    "service": "kube-state-metrics",
    "job": "kube-state-metrics",
    "instance": "10.0.0.1:8080",
}
NODE_EXPORTER = {
    "namespace": "monitoring",
    "pod": "kube-prometheus-stack-prometheus-node-exporter-x7k2p",
    "container": "node-exporter",
    "service": "kube-prometheus-stack-prometheus-node-exporter",
    "job": "node-exporter",
}


@pytest.mark.parametrize(
    ("labels", "subject", "namespace"),
    [
        ({"namespace": "shop", "pod": "web-0"}, "v1 Pod/web-0", "shop"),
        ({"namespace": "shop", "deployment": "web"}, "apps/v1 Deployment/web", "shop"),
        (
            {"namespace": "shop", "statefulset": "db", "pod": "db-0"},
            "apps/v1 StatefulSet/db",
            "shop",
        ),
        ({"namespace": "shop", "daemonset": "agent"}, "apps/v1 DaemonSet/agent", "shop"),
        ({"namespace": "shop", "job_name": "j-1", "cronjob": "j"}, "batch/v1 Job/j-1", "shop"),
        ({"namespace": "shop", "cronjob": "j"}, "batch/v1 CronJob/j", "shop"),
        (
            {"namespace": "shop", "horizontalpodautoscaler": "web"},
            "autoscaling/v2 HorizontalPodAutoscaler/web",
            "shop",
        ),
        (
            {"namespace": "shop", "persistentvolumeclaim": "data", "node": "n1"},
            "v1 PersistentVolumeClaim/data",
            "shop",
        ),
        (
            {"namespace": "shop", "poddisruptionbudget": "web"},
            "policy/v1 PodDisruptionBudget/web",
            "shop",
        ),
        ({"namespace": "shop", "ingress": "web"}, "networking.k8s.io/v1 Ingress/web", "shop"),
        ({"node": "worker-1"}, "v1 Node/worker-1", ""),
        # A pod's alert often carries the node that it runs on.
        ({"namespace": "shop", "pod": "web-0", "node": "worker-1"}, "v1 Pod/web-0", "shop"),
        # The exporter is not the subject.
        (
            KSM | {"deployment": "web", "exported_namespace": "shop"},
            "apps/v1 Deployment/web",
            "shop",
        ),
        (KSM | {"exported_pod": "web-0", "exported_namespace": "shop"}, "v1 Pod/web-0", "shop"),
        (KSM | {"node": "worker-1"}, "v1 Node/worker-1", ""),
        (NODE_EXPORTER | {"instance": "worker-1"}, "v1 Node/worker-1", ""),
        # … unless nothing else is named.
        (KSM, "v1 Pod/kube-state-metrics-7c9d8f6b5-q2w4e", "monitoring"),
        (
            NODE_EXPORTER | {"instance": "10.0.0.1:9100"},
            "v1 Pod/kube-prometheus-stack-prometheus-node-exporter-x7k2p",
            "monitoring",
        ),
        ({"namespace": "shop", "service": "api", "job": "api"}, "v1 Service/api", "shop"),
        ({"namespace": "shop", "service": "api", "pod": "api-0"}, "v1 Pod/api-0", "shop"),
        (
            {"exported_service": "web", "namespace": "shop", "service": "ingress"},
            "v1 Service/web",
            "shop",
        ),
        # Nothing found: the alert is the subject.
        ({"namespace": "shop"}, "", "shop"),
        ({"job": "api", "instance": "10.0.0.1:8080", "endpoint": "http"}, "", ""),
        ({"instance": "10.0.0.1"}, "", ""),
        # Hostile names are passed over.
        ({"namespace": "shop", "pod": "../../secrets"}, "", "shop"),
        ({"namespace": "shop", "pod": "Web", "service": "api"}, "v1 Service/api", "shop"),
        ({"namespace": "shop\n", "pod": "web-0"}, "v1 Pod/web-0", ""),
        ({"namespace": "x" * 64, "deployment": "web"}, "apps/v1 Deployment/web", ""),
        ({"namespace": "shop", "pod": "x" * 254}, "", "shop"),
    ],
)
def test_finds_the_subject(labels: dict[str, str], subject: str, namespace: str) -> None:
    target = alert_subjects.find(labels, {})
    found = target.subject
    assert (f"{found.api_version} {found}" if found else "") == subject
    assert target.namespace == namespace


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_a_hint_goes_before_everything_else(place: str) -> None:
    hint = {"kubewhy_kind": "StatefulSet", "kubewhy_name": "db", "kubewhy_namespace": "data"}
    labels = {"namespace": "shop", "deployment": "web"}
    target = alert_subjects.find(
        labels | (hint if place == "labels" else {}), hint if place == "annotations" else {}
    )
    assert str(target.subject) == "StatefulSet/db"
    assert target.namespace == "data"


def test_a_hint_of_an_unknown_kind_needs_its_api_version() -> None:
    hint = {"kubewhy_kind": "Certificate", "kubewhy_name": "web", "namespace": "shop"}
    assert alert_subjects.find(hint, {}).subject is None
    known = alert_subjects.find(hint | {"kubewhy_api_version": "cert-manager.io/v1"}, {}).subject
    assert known is not None
    assert known.api_version == "cert-manager.io/v1"
    bad = alert_subjects.find(hint | {"kubewhy_api_version": "../v1"}, {})
    assert bad.candidates == ()


def test_all_candidates_are_kept_with_their_source() -> None:
    labels = {
        "namespace": "shop",
        "deployment": "web",
        "pod": "web-0",
        "node": "worker-1",
        "service": "web",
    }
    found = alert_subjects.find(labels, {"kubewhy_kind": "Ingress", "kubewhy_name": "web"})
    assert [(str(entry.subject), entry.source) for entry in found.candidates] == [
        ("Ingress/web", "kubewhy_name"),
        ("Deployment/web", "deployment"),
        ("Pod/web-0", "pod"),
        ("Node/worker-1", "node"),
        ("Service/web", "service"),
    ]


def test_the_recorded_alerts_lead_to_their_objects() -> None:
    found = [
        (alert["labels"]["alertname"], str(target.subject), target.namespace)
        for alert in recorded("mixed")["alerts"]
        for target in [alert_subjects.find(alert["labels"], alert["annotations"])]
    ]
    assert found == [
        ("Watchdog", "None", ""),
        ("KubeNodeNotReady", "Node/worker-2", ""),
        ("KubeJobFailed", "Job/nightly-report-29213", "batch"),
        ("KubePodCrashLooping", "Pod/checkout-6d5f8c7b9d-x7k2p", "shop"),
    ]


NAMES = st.sampled_from(
    [
        "namespace", "pod", "exported_pod", "exported_namespace", "service", "node", "instance",
        "deployment", "job_name", "kubewhy_kind", "kubewhy_name", "kubewhy_namespace",
        "kubewhy_api_version",
    ]
)  # fmt: skip
VALUES = st.text(max_size=12) | st.sampled_from(
    ["web", "Deployment", "v1", "a.b-c", "kube-state-metrics"]
)


@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES))
def test_whatever_the_labels_hold_names_are_valid(
    labels: dict[str, str], annotations: dict[str, str]
) -> None:
    target = alert_subjects.find(labels, annotations)
    assert len(target.candidates) <= alert_subjects.MAX_CANDIDATES
    assert re.fullmatch(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?)?", target.namespace)
    for candidate in target.candidates:
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", candidate.subject.name)
        assert re.fullmatch(r"[A-Z][A-Za-z0-9]*", candidate.subject.kind)
