"""The operator on a real API server, as its own account: every kind of run reaches a condition that says why.

Goes in: Investigations as a person applies them, and a scripted model in a process of its own behind LiteLLM.
Observed: status, records, KubeEvents, log and metrics. The workloads ask for more than any node has, so pods stay
Pending with or without a node: the built-in model has a real fault to find.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kube_api
import operator_runner as runner
import scripted_process

LIMIT_SECONDS = 60
FAULT = re.compile("no nodes available to schedule pods|Insufficient cpu")
"""The scheduler's words, without and with a node, for a pod that asks for more than any node has."""


def _answer(call: str, quote: str) -> dict[str, Any]:
    return {
        "tool": "conclude",
        "arguments": {
            "verdict": "RootCauseFound",
            "summary": "the scripted cause",
            "rootCause": {
                "statement": "the scripted cause",
                "confidence": "High",
                "evidence": [{"call": call, "quote": quote}],
            },
        },
    }


SCRIPT = {
    "by": "step",
    "turns": [
        {
            "calls": [
                {
                    "tool": "kubernetes_get",
                    "arguments": {"kind": "pods", "namespace": "kube-system"},
                },
                {"tool": "kubernetes_get", "arguments": {"kind": "secrets"}},
                {"tool": "kubernetes_get", "arguments": {"kind": "configmaps"}},
                {"tool": "kubernetes_get", "arguments": '{"kind": '},
                {"tool": "delete_everything", "arguments": {}},
            ]
        },
        {"calls": [_answer("1-2", "kube-root-ca.crt")]},
    ],
}


DYING = {
    "by": "step",
    "turns": [SCRIPT["turns"][0], {"faults": [{"status": 500, "times": "always"}]}],
}
"""Answers once, then fails for ever."""


def _models(folder: Path, *, scripted: str, silent: str, dying: str) -> dict[str, str]:
    """The built-in model, the scripted ones by their servers' addresses, and one that nobody serves."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    return scripted_process.operator_environment(
        folder,
        {"name": "default", "provider": "triage"},
        scripted_process.entry("scripted", scripted),
        scripted_process.entry("slow", silent),
        scripted_process.entry("nobody", nobody, attempts=2),
        scripted_process.entry("dying", dying, attempts=2),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("operator")


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[scripted_process.ScriptedServer]:
    with scripted_process.running(SCRIPT, folder) as server:
        yield server


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """A server that accepts and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model that goes away in the middle of a run."""
    with scripted_process.running(DYING, tmp_path_factory.mktemp("dying")) as server:
        yield server.url


@pytest.fixture(scope="module")
def operator(
    kube: kube_api.KubeApi,
    folder: Path,
    model: scripted_process.ScriptedServer,
    silent: str,
    dying: str,
) -> Iterator[runner.Operator]:
    runner.install()
    environment = _models(folder, scripted=model.url, silent=silent, dying=dying)
    with runner.running(kube, folder, environment) as started:
        yield started
        unhandled = [
            line for line in started.log() if "exception" in line or "Traceback" in str(line)
        ]
        assert not unhandled, unhandled[:2]


def _deployment(kube: kube_api.KubeApi, namespace: str, name: str = "checkout") -> dict[str, str]:
    container = {
        "name": "app",
        "image": "kubewhy.local/busybox:1",
        "resources": {"requests": {"cpu": "500"}},
    }
    labels = {"app": name}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    assert kube.request("POST", path, body=body).is_success
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}


def _until_pending(kube: kube_api.KubeApi, namespace: str) -> None:
    """Wait until the scheduler has said why the pod has no node."""
    deadline = time.monotonic() + 30
    path = f"/api/v1/namespaces/{namespace}/events"
    while not FAULT.search(kube.request("GET", path).text):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _run(
    kube: kube_api.KubeApi, namespace: str, name: str = "run", seconds: float = 30, **spec: Any
) -> dict[str, Any]:
    kube.create(runner.investigation(namespace, name, **spec))
    return runner.wait_for(kube, namespace, name, runner.ended, seconds=seconds)


def _kubectl(*arguments: str) -> str:
    done = subprocess.run(
        ["kubectl", *arguments], check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


@pytest.mark.usefixtures("operator")
def test_the_offline_model_finds_a_real_fault(kube: kube_api.KubeApi, namespace: str) -> None:
    subject = _deployment(kube, namespace)
    _until_pending(kube, namespace)
    found = _run(kube, namespace, subject=subject)
    status = found["status"]
    assert runner.succeeded(found)["reason"] == "RootCauseFound"
    assert any(
        item["verified"] and FAULT.search(item["quote"]) for item in status["rootCause"]["evidence"]
    )
    assert status["rootCause"]["subject"]["name"] == "checkout"
    assert status["finished"] is True
    assert status["claim"] == {"holder": "", "epoch": 1}
    assert status["usage"]["costMicroUSD"] == 0
    assert {each["type"] for each in status["conditions"]} == {
        "Succeeded", "AwaitingApproval", "AlertResolved", "AttentionNeeded", "TraceComplete", "Delivered",
    }  # fmt: skip


@pytest.mark.usefixtures("operator")
def test_kubectl_shows_the_answer(kube: kube_api.KubeApi, namespace: str) -> None:
    subject = _deployment(kube, namespace)
    _until_pending(kube, namespace)
    _run(kube, namespace, subject=subject)
    table = _kubectl("get", "inv", "-n", namespace)
    header, row = table.splitlines()
    assert header.split() == [
        "NAME",
        "SUBJECT",
        "SUCCEEDED",
        "REASON",
        "STEPS",
        "COST",
        "AGE",
        "ROOT",
        "CAUSE",
    ]
    assert "Deployment/checkout" in row
    assert "RootCauseFound" in row
    _kubectl("wait", "--for=condition=Succeeded", "inv/run", "-n", namespace, "--timeout=5s")
    described = _kubectl("describe", "inv", "run", "-n", namespace)
    events = described[described.index("Events:") :]
    assert "Started" in events
    assert "RootCauseFound" in events


@pytest.mark.usefixtures("operator")
def test_nothing_of_kopf_is_left_on_the_object(kube: kube_api.KubeApi, namespace: str) -> None:
    found = _run(kube, namespace, subject=_deployment(kube, namespace))
    assert "finalizers" not in found["metadata"]
    assert "annotations" not in found["metadata"]
    managers = {each["manager"] for each in found["metadata"]["managedFields"]}
    assert "kubewhy-operator" in managers
    assert not any("kopf" in manager for manager in managers)


@pytest.mark.usefixtures("operator")
def test_a_hosted_model_concludes_and_each_refusal_keeps_its_own_status(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    found = _run(kube, namespace, model="scripted", seconds=60)
    status = found["status"]
    assert runner.succeeded(found)["reason"] == "RootCauseFound"
    outcome = {call["id"]: (call["status"], call["excerpt"]) for call in status["trace"]}
    assert outcome["1-0"][0] == "Forbidden"
    assert "kube-system" in outcome["1-0"][1]
    assert "pods" in outcome["1-0"][1]
    assert outcome["1-1"][0] == "Forbidden"
    assert "secrets" in outcome["1-1"][1]
    assert outcome["1-2"][0] == "Success"
    assert outcome["1-3"][0] == "Error"
    assert outcome["1-4"][0] == "Refused"
    assert "kubernetes_get" in outcome["1-4"][1]
    blind = {spot["call"]: spot["status"] for spot in status["blindSpots"] if "call" in spot}
    assert blind["1-0"] == "Forbidden"
    assert status["usage"]["inputTokens"] > 0


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"model": "gpt-17"}, ["gpt-17", "default", "scripted"]),
        ({"toolsets": ["kubernetes", "no-such"]}, ["no-such", "kubernetes"]),
        ({"serviceAccountName": "cluster-admin"}, ["cluster-admin", "serviceAccountName"]),
    ],
)
def test_a_spec_that_names_what_is_not_there_is_invalid(
    kube: kube_api.KubeApi, namespace: str, spec: dict[str, Any], words: list[str]
) -> None:
    found = _run(kube, namespace, **spec)
    condition = runner.succeeded(found)
    assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
    assert all(word in condition["message"] for word in words)


@pytest.mark.usefixtures("operator")
def test_a_subject_that_does_not_exist_is_said(kube: kube_api.KubeApi, namespace: str) -> None:
    subject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "never-was"}
    found = _run(kube, namespace, subject=subject)
    assert runner.succeeded(found)["reason"] == "Inconclusive"
    assert "never-was" in json.dumps(found["status"])
    assert found["status"]["trace"][0]["status"] == "NotFound"


@pytest.mark.usefixtures("operator")
def test_a_kind_that_the_cluster_does_not_serve_is_said(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    subject = {"apiVersion": "example.com/v1", "kind": "Gizmo", "name": "x"}
    found = _run(kube, namespace, subject=subject)
    assert runner.succeeded(found)["reason"] == "Inconclusive"


@pytest.mark.usefixtures("operator")
def test_an_unreachable_model_ends_as_model_unavailable(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    found = _run(kube, namespace, model="nobody", seconds=60)
    condition = runner.succeeded(found)
    assert (condition["status"], condition["reason"]) == ("False", "ModelUnavailable")
    assert "sk-test" not in json.dumps(found)


@pytest.mark.usefixtures("operator")
def test_what_was_seen_before_a_model_went_away_is_kept(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    found = _run(kube, namespace, model="dying", seconds=60)
    condition = runner.succeeded(found)
    assert (condition["status"], condition["reason"]) == ("False", "ModelUnavailable")
    kept = {call["id"]: call["status"] for call in found["status"]["trace"]}
    assert kept["1-2"] == "Success"
    assert "1-2 kubernetes_get" in found["status"]["report"]


@pytest.mark.usefixtures("operator")
def test_cancel_ends_a_run_at_once_also_while_the_model_is_asked(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    kube.create(runner.investigation(namespace, "run", model="slow"))
    runner.wait_for(kube, namespace, "run", runner.has_reason("Running"))
    started = time.monotonic()
    assert kube.merge(
        f"{runner.INVESTIGATIONS.format(namespace)}/run", {"spec": {"cancel": True}}
    ).is_success
    found = runner.wait_for(kube, namespace, "run", runner.ended, seconds=5)
    assert time.monotonic() - started < 5
    assert runner.succeeded(found)["reason"] == "Cancelled"


@pytest.mark.usefixtures("operator")
def test_suspend_starts_nothing_and_resume_goes_on(kube: kube_api.KubeApi, namespace: str) -> None:
    kube.create(
        runner.investigation(namespace, "run", suspend=True, subject=_deployment(kube, namespace))
    )
    found = runner.wait_for(kube, namespace, "run", runner.has_reason("Suspended"))
    assert found["status"]["steps"] == 0
    epoch = found["status"]["claim"]["epoch"]
    time.sleep(3)
    assert runner.read(kube, namespace, "run")["status"]["claim"]["epoch"] == epoch, (
        "a resting run is left alone"
    )
    path = f"{runner.INVESTIGATIONS.format(namespace)}/run"
    assert kube.merge(path, {"spec": {"suspend": False}}).is_success
    found = runner.wait_for(kube, namespace, "run", runner.ended)
    assert runner.succeeded(found)["status"] == "True"


def test_a_deleted_run_stops_and_writes_no_more(
    kube: kube_api.KubeApi, namespace: str, operator: runner.Operator
) -> None:
    kube.create(runner.investigation(namespace, "run", model="slow"))
    runner.wait_for(kube, namespace, "run", runner.has_reason("Running"))
    path = f"{runner.INVESTIGATIONS.format(namespace)}/run"
    kube.request("DELETE", path)
    deadline = time.monotonic() + 5
    while "kubewhy_investigations_working 0.0" not in operator.metrics():
        assert time.monotonic() < deadline, "the run goes on without its object"
        time.sleep(0.2)
    assert runner.read(kube, namespace, "run") == {}


@pytest.mark.usefixtures("operator")
def test_the_same_name_again_is_a_new_run(kube: kube_api.KubeApi, namespace: str) -> None:
    subject = _deployment(kube, namespace)
    path = f"{runner.INVESTIGATIONS.format(namespace)}/run"
    kube.create(runner.investigation(namespace, "run", model="slow", subject=subject))
    runner.wait_for(kube, namespace, "run", runner.has_reason("Running"))
    kube.request("DELETE", path)
    found = _run(kube, namespace, subject=subject)
    assert found["status"]["claim"]["epoch"] == 1
    assert found["status"]["runtime"]["model"] == "default"


@pytest.mark.usefixtures("operator")
def test_more_runs_than_slots_wait_as_pending_and_all_end(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    names = [f"slow-{index}" for index in range(10)]
    for name in names:
        kube.create(runner.investigation(namespace, name, model="slow"))
    for name in names:
        runner.wait_for(kube, namespace, name, runner.has_reason("Running"))
    kube.create(runner.investigation(namespace, "waits", subject=_deployment(kube, namespace)))
    found = runner.wait_for(kube, namespace, "waits", runner.has_reason("Pending"))
    assert runner.succeeded(found)["status"] == "Unknown"
    for name in names:
        kube.merge(f"{runner.INVESTIGATIONS.format(namespace)}/{name}", {"spec": {"cancel": True}})
    found = runner.wait_for(kube, namespace, "waits", runner.ended)
    assert runner.succeeded(found)["status"] == "True"


@pytest.mark.usefixtures("operator")
def test_labels_of_others_cause_no_second_run(
    kube: kube_api.KubeApi, namespace: str, model: scripted_process.ScriptedServer
) -> None:
    before = model.stats()["requests"]
    kube.create(runner.investigation(namespace, "run", model="scripted"))
    path = f"{runner.INVESTIGATIONS.format(namespace)}/run"
    for number in range(20):
        assert kube.merge(path, {"metadata": {"labels": {"touched": str(number)}}}).is_success
        time.sleep(0.02)
    runner.wait_for(kube, namespace, "run", runner.ended)
    time.sleep(3)
    assert model.stats()["requests"] - before == len(SCRIPT["turns"])


def test_the_log_names_the_investigation_and_metrics_count_it(
    kube: kube_api.KubeApi, namespace: str, operator: runner.Operator
) -> None:
    _run(kube, namespace, model="gpt-17")
    assert 'kubewhy_investigations_finished_total{reason="InvalidSpec"}' in operator.metrics()
    assert any(line.get("investigation") == f"{namespace}/run" for line in operator.log())
    assert namespace not in operator.metrics(), "no series may carry a name"


@pytest.mark.usefixtures("operator")
def test_deleted_records_end_a_run_instead_of_guessing(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    kube.create(runner.investigation(namespace, "run", suspend=True))
    runner.wait_for(kube, namespace, "run", runner.has_reason("Suspended"))
    records = f"/apis/kubewhy.internal/v1alpha1/namespaces/{namespace}/investigationrecords"
    assert kube.request("DELETE", records).is_success
    path = f"{runner.INVESTIGATIONS.format(namespace)}/run"
    assert kube.merge(path, {"spec": {"suspend": False}}).is_success
    found = runner.wait_for(kube, namespace, "run", runner.has_reason("JournalLost"))
    assert runner.succeeded(found)["status"] == "False"


@pytest.mark.usefixtures("operator")
def test_a_finished_run_is_deleted_when_its_time_is_over_and_its_records_with_it(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    kube.create(runner.investigation(namespace, "run", model="gpt-17", ttlSecondsAfterFinished=0))
    runner.wait_for(kube, namespace, "run", lambda found: found == {})
    records = f"/apis/kubewhy.internal/v1alpha1/namespaces/{namespace}/investigationrecords"
    deadline = time.monotonic() + 30
    while kube.request("GET", records).json()["items"]:
        assert time.monotonic() < deadline, "the records outlive their Investigation"
        time.sleep(0.5)


@pytest.mark.usefixtures("operator")
def test_an_alert_that_resolves_after_the_end_is_noted(
    kube: kube_api.KubeApi, namespace: str
) -> None:
    alert = {"status": "firing", "labels": {"alertname": "A"}, "startsAt": "2026-01-01T00:00:00Z"}
    found = _run(kube, namespace, alerts=[alert], subject=_deployment(kube, namespace))
    end = runner.succeeded(found)
    path = f"{runner.INVESTIGATIONS.format(namespace)}/run"
    note = {"alert.kubewhy.internal/resolved-at": "2026-01-01T01:00:00Z"}
    assert kube.merge(path, {"metadata": {"annotations": note}}).is_success

    def noted(found: dict[str, Any]) -> bool:
        listed = found["status"]["conditions"]
        return any(each["type"] == "AlertResolved" and each["status"] == "True" for each in listed)

    found = runner.wait_for(kube, namespace, "run", noted)
    assert runner.succeeded(found) == end
