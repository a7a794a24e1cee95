"""A scenario on a real cluster: its objects and the noise around them are created, and its symptom is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import incident_scenarios
from kubewhy import errors
from kubewhy.adapters.kube import client, paths

Object = Mapping[str, Any]
POLL_SECONDS = 0.5
NOISE_OBJECTS = 30
NOISE_EVENTS = 50


@contextlib.asynccontextmanager
async def running(
    api: client.KubeClient, scenario: incident_scenarios.Scenario, *, timeout_seconds: float = 120.0
) -> AsyncIterator[None]:
    """The scenario with its symptom visible; its namespace is deleted at the end."""
    await _namespace(api, scenario)
    try:
        await asyncio.gather(_noise(api, scenario.namespace), _objects(api, scenario))
        await _ready(api, scenario, timeout_seconds)
        yield
    finally:
        await _remove(api, scenario)


async def _remove(api: client.KubeClient, scenario: incident_scenarios.Scenario) -> None:
    """Delete the namespace and what the scenario made outside of it."""
    gone = [f"/api/v1/namespaces/{scenario.namespace}"]
    for manifest in scenario.objects:
        resource = await api.discovery.find(manifest["kind"])
        if not resource.namespaced:
            gone.append(paths.of(resource, name=manifest["metadata"]["name"]))
    for path in gone:
        with contextlib.suppress(errors.ApiError):
            await api.request("DELETE", path)


async def _namespace(api: client.KubeClient, scenario: incident_scenarios.Scenario) -> None:
    labels = scenario.answer.get("namespaceLabels", {})
    manifest = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": scenario.namespace, "labels": labels},
    }
    await api.request("POST", "/api/v1/namespaces", body=manifest)
    account = f"/api/v1/namespaces/{scenario.namespace}/serviceaccounts/default"
    while True:
        with contextlib.suppress(errors.ApiNotFound):
            await api.request("GET", account)
            return
        await asyncio.sleep(POLL_SECONDS / 5)


async def _objects(api: client.KubeClient, scenario: incident_scenarios.Scenario) -> None:
    for manifest in scenario.objects:
        await create(api, manifest, scenario.namespace)


async def create(api: client.KubeClient, manifest: Object, namespace: str) -> None:
    """Create one object, in the namespace where its kind has one; its status too where the manifest gives one."""
    resource = await api.discovery.find(manifest["kind"])
    place = namespace if resource.namespaced else ""
    made = await api.request("POST", paths.of(resource, namespace=place), body=dict(manifest))
    if manifest.get("status") and manifest["kind"] != "Event":
        path = paths.of(
            resource, namespace=place, name=made["metadata"]["name"], subresource="status"
        )
        await api.request(
            "PATCH", path, body={"status": manifest["status"]}, content_type=client.MERGE_PATCH
        )


async def _noise(api: client.KubeClient, namespace: str) -> None:
    """Healthy neighbours: 30 objects, 50 Normal KubeEvents and two unrelated warnings."""
    for number in range(NOISE_OBJECTS):
        name = f"bystander-{number}"
        kind = "Service" if number % 3 == 0 else "ConfigMap"
        body: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
        if kind == "Service":
            body["spec"] = {"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 80}]}
        else:
            body["data"] = {"note": f"bystander {number}"}
        await create(api, body, namespace)
    for number in range(NOISE_EVENTS):
        kind = "Warning" if number in {7, 23} else "Normal"
        await create(api, _event(namespace, number, kind), namespace)


def _event(namespace: str, number: int, kind: str) -> dict[str, Any]:
    now = datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"bystander-{number}.{number:x}"},
        "involvedObject": {
            "kind": "ConfigMap",
            "namespace": namespace,
            "name": f"bystander-{number % NOISE_OBJECTS}",
        },
        "type": kind,
        "reason": "Reviewed" if kind == "Normal" else "ReviewLate",
        "message": f"review {number} of the bystander",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "source": {"component": "bystander"},
    }


# --- waiting for the symptom -----------------------------------------------------------------------------------------


async def _ready(
    api: client.KubeClient, scenario: incident_scenarios.Scenario, timeout_seconds: float
) -> None:
    """Wait for the symptom, or in the negative control for health, as `answer.yaml` names it."""
    wanted = scenario.answer["ready"] if scenario.fault else scenario.answer.get("control", "pods")
    until = asyncio.get_running_loop().time() + timeout_seconds
    while True:
        state = await _state(api, scenario.namespace)
        missing = [text for text in _texts(wanted) if not _holds(text, state)]
        if not missing:
            return
        if asyncio.get_running_loop().time() > until:
            pods = [(item["metadata"]["name"], item.get("status", {})) for item in state["pods"]]
            raise TimeoutError(
                f"{scenario.id} {scenario.fault}: not seen in {timeout_seconds} s: {missing}; {pods}"
            )
        await asyncio.sleep(POLL_SECONDS)


async def _state(api: client.KubeClient, namespace: str) -> dict[str, list[dict[str, Any]]]:
    kinds = {
        "pods": "/api/v1/namespaces/{}/pods",
        "events": "/api/v1/namespaces/{}/events",
        "deployments": "/apis/apps/v1/namespaces/{}/deployments",
        "jobs": "/apis/batch/v1/namespaces/{}/jobs",
    }
    pages = await asyncio.gather(
        *(api.request("GET", path.format(namespace)) for path in kinds.values())
    )
    return {kind: page.get("items", []) for kind, page in zip(kinds, pages, strict=True)}


def _texts(wanted: str | list[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def _holds(text: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    """One expectation: a word and its argument, such as `event FailedMount` or `waiting CrashLoopBackOff`."""
    word, _, rest = text.partition(" ")
    checks: dict[str, Callable[[str, Mapping[str, list[dict[str, Any]]]], bool]] = {
        "pods": _pods_ready,
        "waiting": _waiting,
        "terminated": _terminated,
        "restarts": _restarts,
        "event": _event_seen,
        "condition": _condition_seen,
        "quiet": _quiet,
        "running": _all_running,
    }
    return checks[word](rest, state)


def _pods_ready(_rest: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    """Every Deployment has all its replicas available and is up to date; every pod is ready or has succeeded."""
    whole = all(
        item.get("status", {}).get("availableReplicas", 0) == item["spec"].get("replicas", 1)
        and item["status"].get("replicas", 0) == item["spec"].get("replicas", 1)
        and item["status"].get("observedGeneration") == item["metadata"]["generation"]
        for item in state["deployments"]
    )
    jobs = all(item.get("status", {}).get("succeeded") for item in state["jobs"])
    return whole and jobs and bool(state["pods"]) and all(_fine(pod) for pod in state["pods"])


def _fine(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    ready = any(row["type"] == "Ready" and row["status"] == "True" for row in conditions)
    return ready or pod["status"].get("phase") == "Succeeded"


def _all_running(_rest: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    return bool(state["pods"]) and all(
        pod.get("status", {}).get("phase") == "Running" for pod in state["pods"]
    )


def _statuses(state: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        row
        for pod in state["pods"]
        for key in ("initContainerStatuses", "containerStatuses")
        for row in pod.get("status", {}).get(key, [])
    ]


def _waiting(reason: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    return any(row["state"].get("waiting", {}).get("reason") == reason for row in _statuses(state))


def _terminated(reason: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    return any(
        part.get("terminated", {}).get("reason") == reason
        for row in _statuses(state)
        for part in (row.get("lastState", {}), row.get("state", {}))
    )


def _restarts(least: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    return any(row.get("restartCount", 0) >= int(least) for row in _statuses(state))


def _event_seen(text: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    reason, _, part = text.partition(" ")
    return any(
        event["reason"] == reason and part in event.get("message", "") for event in state["events"]
    )


def _condition_seen(text: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    """`condition Job Failed` or `condition Deployment Progressing=False`."""
    kind, _, rest = text.partition(" ")
    name, _, status = rest.partition("=")
    return any(
        row["type"] == name and row["status"] == (status or "True")
        for item in state[f"{kind.lower()}s"]
        for row in item.get("status", {}).get("conditions", [])
    )


def _quiet(seconds: str, state: Mapping[str, list[dict[str, Any]]]) -> bool:
    """All containers have been running for so long."""
    now = datetime.datetime.now(tz=datetime.UTC)
    starts = [row["state"].get("running", {}).get("startedAt") for row in _statuses(state)]
    return bool(starts) and all(
        start and (now - datetime.datetime.fromisoformat(start)).total_seconds() >= int(seconds)
        for start in starts
    )
