"""The exporter's series. Goes in: objects as the API server writes them. Observed: names, labels, values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

import series

if TYPE_CHECKING:
    from prometheus_client import core

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]

OWN = {"namespace": "shop", "pod": "checkout-5f9c-x2x7k", "uid": "0b1c"}


def flat(families: Iterable[core.Metric]) -> Series:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset((OWN | labels).items())


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        (
            "kube_pod_container_status_waiting_reason",
            {"container": "checkout", "reason": "CrashLoopBackOff"},
            1,
        ),
        ("kube_pod_container_status_waiting", {"container": "checkout"}, 1),
        ("kube_pod_container_status_running", {"container": "checkout"}, 0),
        ("kube_pod_container_status_ready", {"container": "checkout"}, 0),
        ("kube_pod_container_status_restarts_total", {"container": "checkout"}, 3),
        (
            "kube_pod_container_status_last_terminated_reason",
            {"container": "checkout", "reason": "Error"},
            1,
        ),
        ("kube_pod_container_status_last_terminated_exitcode", {"container": "checkout"}, 1),
        ("kube_pod_status_phase", {"phase": "Running"}, 1),
        ("kube_pod_status_phase", {"phase": "Pending"}, 0),
        ("kube_pod_status_ready", {"condition": "false"}, 1),
        ("kube_pod_status_ready", {"condition": "true"}, 0),
        ("kube_pod_status_scheduled", {"condition": "true"}, 1),
        (
            "kube_pod_owner",
            {
                "owner_kind": "ReplicaSet",
                "owner_name": "checkout-5f9c",
                "owner_is_controller": "true",
            },
            1,
        ),
        ("kube_pod_created", {}, 1786438800),
    ],
)
def test_a_crashing_pod_gives(
    pod: dict[str, Any], name: str, labels: dict[str, str], value: float
) -> None:
    assert flat(series.pod_families([pod]))[key(name, **labels)] == value


def test_a_running_container_waits_for_nothing(pod: dict[str, Any]) -> None:
    """A series with value 0 would still be one: max_over_time must not see the reason at all."""
    pod["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": "…"}}
    found = flat(series.pod_families([pod]))
    assert not [name for name, _ in found if name == "kube_pod_container_status_waiting_reason"]
    assert found[key("kube_pod_container_status_running", container="checkout")] == 1


def test_an_unscheduled_pod_has_no_container_series(pod: dict[str, Any]) -> None:
    pod["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    }
    found = flat(series.pod_families([pod]))
    assert found[key("kube_pod_status_unschedulable")] == 1
    assert not [name for name, _ in found if name.startswith("kube_pod_container_")]


def test_a_pod_that_has_just_been_made_is_no_error(pod: dict[str, Any]) -> None:
    pod["status"] = {}
    del pod["metadata"]["ownerReferences"]
    found = flat(series.pod_families([pod]))
    ownerless = dict.fromkeys(("owner_kind", "owner_name", "owner_is_controller"), "")
    assert found[key("kube_pod_owner", **ownerless)] == 1


def test_a_deployment_gives_its_numbers_and_zero_for_what_is_left_out() -> None:
    deployment = {
        "metadata": {"name": "checkout", "namespace": "shop", "uid": "7", "generation": 2},
        "spec": {"replicas": 3},
        "status": {"observedGeneration": 2, "replicas": 3, "unavailableReplicas": 3},
    }
    found = flat(series.deployment_families([deployment]))
    labels = frozenset({("namespace", "shop"), ("deployment", "checkout")})
    assert found == {
        ("kube_deployment_spec_replicas", labels): 3,
        ("kube_deployment_metadata_generation", labels): 2,
        ("kube_deployment_status_observed_generation", labels): 2,
        ("kube_deployment_status_replicas", labels): 3,
        ("kube_deployment_status_replicas_ready", labels): 0,
        ("kube_deployment_status_replicas_available", labels): 0,
        ("kube_deployment_status_replicas_unavailable", labels): 3,
        ("kube_deployment_status_replicas_updated", labels): 0,
    }
