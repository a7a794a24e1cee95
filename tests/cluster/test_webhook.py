"""The webhook against the real API server, with the token and the rights of its own service account."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import os
import subprocess
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

import kube_api
from alert_messages import LABELS, alert, body, distinct, encode, labelled, recorded
from kubewhy import errors
from kubewhy.adapters.kube import client, config, investigations, paths
from kubewhy.app import webhook
from kubewhy.core.alerting import alert_plan
from tcp_gate import TcpGate

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "kubewhy-system"
API = "/apis/kubewhy.internal/v1alpha1"
TOKEN = "test-token"
START = datetime.datetime(2026, 8, 1, 9, 31, tzinfo=datetime.UTC)


class Clock:
    """The webhook's clock, moved by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime.datetime:
        return self.now


class Cluster:
    """The real API server and what is needed to reach it as a service account."""

    def __init__(self, kube: kube_api.KubeApi, folder: Path) -> None:
        self.kube = kube
        self._folder = folder
        loaded = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text(encoding="utf-8"))
        found = loaded["clusters"][0]["cluster"]
        self.server = found["server"]
        self.ca_file = folder / "ca.crt"
        if "certificate-authority-data" in found:
            self.ca_file.write_bytes(base64.b64decode(found["certificate-authority-data"]))
        else:
            self.ca_file = Path(os.environ["KUBECONFIG"]).parent / found["certificate-authority"]

    def access(
        self, *, account: str = "kubewhy-webhook", port: int = 0, token: str = ""
    ) -> config.Explicit:
        """Access as a service account of kubewhy-system; with `port`, through a relay on loopback."""
        answer = self.kube.request(
            "POST",
            f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token",
            body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        )
        assert answer.status_code == 201, answer.text
        file = self._folder / f"{account}-{uuid.uuid4().hex}.token"
        file.write_text(token or answer.json()["status"]["token"])
        server = f"https://127.0.0.1:{port}" if port else self.server
        return config.Explicit(server=server, ca_file=str(self.ca_file), token_file=str(file))

    def investigations(self, namespace: str) -> list[dict[str, Any]]:
        """All Investigations there."""
        answer = self.kube.request("GET", f"{API}/namespaces/{namespace}/investigations")
        found: list[dict[str, Any]] = answer.json()["items"]
        return found

    def finish(self, namespace: str) -> None:
        """Delete a namespace that may hold a finalizer."""
        path = f"/api/v1/namespaces/{namespace}"
        self.kube.request("DELETE", path)
        held = f"{path}/configmaps/held"
        self.kube.merge(held, {"metadata": {"finalizers": None}})


class Running:
    """One started webhook."""

    def __init__(self, server: webhook.Webhook, http: httpx.AsyncClient) -> None:
        self.server = server
        self.http = http

    async def post(self, content: bytes) -> httpx.Response:
        """POST as Alertmanager does."""
        return await self.http.post(
            f"http://127.0.0.1:{self.server.port}/webhooks/alertmanager",
            content=content,
            headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
        )

    async def ready(self) -> httpx.Response:
        """GET /readyz."""
        return await self.http.get(f"http://127.0.0.1:{self.server.health_port}/readyz")


@contextlib.asynccontextmanager
async def running(
    access: config.Explicit, fallback: str, clock: Clock | None = None
) -> AsyncIterator[Running]:
    """A webhook as `kubewhy webhook` runs it."""
    stop = asyncio.Event()
    ready: asyncio.Future[webhook.Webhook] = asyncio.get_running_loop().create_future()
    wanted = webhook.Settings(
        access=access,
        policy=alert_plan.Policy(fallback_namespace=fallback, cluster="test"),
        address="127.0.0.1",
        port=0,
        health_port=0,
        metrics_port=None,
        tokens=(TOKEN,),
    )
    serving = asyncio.create_task(
        webhook.serve(wanted, stop=stop, started=ready.set_result, now=clock or Clock())
    )
    try:
        async with asyncio.timeout(20):
            server = await ready
        async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
            yield Running(server, http)
    finally:
        stop.set()
        await serving


@pytest.fixture(scope="module")
def cluster(
    kube: kube_api.KubeApi,
    tmp_path_factory: pytest.TempPathFactory,
    crds: None,  # noqa: ARG001 - the kinds come first
) -> Cluster:
    """The cluster with deploy/base/foundation applied."""
    done = subprocess.run(
        ["kubectl", "apply", "--server-side", "--force-conflicts", "-k", "deploy/base/foundation"],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Cluster(kube, tmp_path_factory.mktemp("access"))


@pytest.fixture
def fallback(fresh_namespace: Callable[[], str]) -> str:
    """A fallback namespace."""
    return fresh_namespace()


@pytest.fixture
async def one(cluster: Cluster, fallback: str) -> AsyncIterator[Running]:
    """A webhook with the rights of its own service account."""
    async with running(cluster.access(), fallback) as started:
        yield started


@pytest.fixture
def shop(namespace: str) -> dict[str, str]:
    """The labels of an alert about a pod in the test's namespace."""
    return LABELS | {"namespace": namespace}


async def test_the_recorded_alert_becomes_an_investigation(
    one: Running, cluster: Cluster, namespace: str
) -> None:
    message = recorded("crash-firing")
    sent = message["alerts"][0]
    sent["labels"]["namespace"] = namespace
    answer = await one.post(encode(message))
    assert (answer.status_code, answer.json()) == (200, {"Created": 1})
    (found,) = cluster.investigations(namespace)
    spec = found["spec"]
    assert spec["alerts"][0]["labels"] == sent["labels"]
    assert spec["alerts"][0]["annotations"] == sent["annotations"]
    assert spec["alerts"][0]["startsAt"] == "2026-08-11T09:12:34Z"
    assert spec["subject"]["name"] == sent["labels"]["pod"]
    assert spec["severity"] == "Warning"
    assert (spec["mode"], spec["limits"]["steps"]) == ("ReadOnly", 30)
    managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
    assert managers == {"kubewhy-webhook"}
    assert "finalizers" not in found["metadata"]


async def test_two_replicas_store_one_alert_once(
    cluster: Cluster, fallback: str, namespace: str, shop: dict[str, str]
) -> None:
    async with running(cluster.access(), fallback) as a, running(cluster.access(), fallback) as b:
        message = body(*(alert(labels=shop | {"pod": f"pod-{index}"}) for index in range(30)))
        answers = await asyncio.gather(*(each.post(message) for each in (a, b) * 4))
    assert {answer.status_code for answer in answers} == {200}
    assert sum(answer.json().get("Created", 0) for answer in answers) == 30
    assert len(cluster.investigations(namespace)) == 30


async def test_duplicates_are_counted_at_most_once_a_minute(
    cluster: Cluster, fallback: str, namespace: str, shop: dict[str, str]
) -> None:
    async def noted_after(seconds: int) -> tuple[str, str]:
        clock = Clock()
        clock.now += datetime.timedelta(seconds=seconds)
        # A webhook of its own each time: what was noted lies in the cluster, not in a process.
        async with running(cluster.access(), fallback, clock) as each:
            assert (await each.post(body(alert(labels=shop)))).status_code == 200
        (found,) = cluster.investigations(namespace)
        notes = found["metadata"]["annotations"]
        return notes["alert.kubewhy.internal/count"], notes["alert.kubewhy.internal/last-seen"]

    assert await noted_after(0) == ("1", "2026-08-01T09:31:00Z")
    assert await noted_after(59) == ("1", "2026-08-01T09:31:00Z")
    assert await noted_after(60) == ("2", "2026-08-01T09:32:00Z")
    assert await noted_after(90) == ("2", "2026-08-01T09:32:00Z")
    assert await noted_after(3600) == ("3", "2026-08-01T10:31:00Z")


async def test_resolved_notes_and_a_new_start_is_a_new_episode(
    one: Running, cluster: Cluster, namespace: str, shop: dict[str, str]
) -> None:
    ended = {"status": "resolved", "endsAt": "2026-08-01T09:40:00Z"}
    early = await one.post(body(alert(labels=shop, **ended)))
    assert early.json() == {"NothingToResolve": 1}
    assert cluster.investigations(namespace) == []

    await one.post(body(alert(labels=shop)))
    assert (await one.post(body(alert(labels=shop, **ended)))).json() == {"Resolved": 1}
    await one.post(body(alert(labels=shop)))
    (found,) = cluster.investigations(namespace)
    noted = found["metadata"]["annotations"]["alert.kubewhy.internal/resolved-at"]
    assert noted == "2026-08-01T09:40:00Z"

    await one.post(body(alert(labels=shop, startsAt="2026-08-01T09:50:00Z")))
    both = cluster.investigations(namespace)
    resolved = [
        "alert.kubewhy.internal/resolved-at" in each["metadata"]["annotations"] for each in both
    ]
    assert sorted(resolved) == [False, True]


async def test_a_resolution_finds_its_episode_although_the_start_has_moved(
    one: Running, cluster: Cluster, namespace: str, shop: dict[str, str]
) -> None:
    await one.post(body(alert(labels=shop), alert(labels=shop | {"pod": "other"})))
    ended = {"status": "resolved", "endsAt": "2026-08-01T09:40:00Z"}
    moved = alert(labels=shop, startsAt="2026-08-01T09:29:00Z", **ended)
    assert (await one.post(body(moved))).json() == {"Resolved": 1}
    assert (await one.post(body(moved))).json() == {"NothingToResolve": 1}
    (resolved,) = (
        each["spec"]["subject"]["name"]
        for each in cluster.investigations(namespace)
        if "alert.kubewhy.internal/resolved-at" in each["metadata"]["annotations"]
    )
    assert resolved == shop["pod"]


async def test_a_missing_namespace_leads_to_the_fallback(
    one: Running, cluster: Cluster, fallback: str
) -> None:
    labels = LABELS | {"namespace": "absent-" + uuid.uuid4().hex[:8]}
    assert (await one.post(body(alert(labels=labels)))).json() == {"Created": 1}
    (found,) = cluster.investigations(fallback)
    assert "subject" not in found["spec"]
    ended = alert(labels=labels, status="resolved", endsAt="2026-08-01T09:40:00Z")
    assert (await one.post(body(ended))).json() == {"Resolved": 1}


async def test_a_namespace_that_is_being_deleted_leads_to_the_fallback(
    one: Running, cluster: Cluster, fallback: str, fresh_namespace: Callable[[], str]
) -> None:
    ending = fresh_namespace()
    metadata = {"name": "held", "namespace": ending, "finalizers": ["test.kubewhy.internal/hold"]}
    cluster.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    cluster.kube.request("DELETE", f"/api/v1/namespaces/{ending}")
    try:
        answer = await one.post(body(alert(labels=LABELS | {"namespace": ending})))
        assert answer.json() == {"Created": 1}
        assert len(cluster.investigations(fallback)) == 1
    finally:
        cluster.finish(ending)


async def test_a_cluster_scoped_subject_goes_to_the_fallback(
    one: Running, cluster: Cluster, fallback: str
) -> None:
    await one.post(body(labelled(node="worker-1", namespace="monitoring")))
    (found,) = cluster.investigations(fallback)
    assert found["spec"]["subject"] == {"apiVersion": "v1", "kind": "Node", "name": "worker-1"}


@pytest.fixture
def limited(cluster: Cluster, namespace: str) -> Iterator[str]:
    """An account that may write Investigations in the test's namespace and nowhere else."""
    name = f"limited-{uuid.uuid4().hex[:8]}"
    accounts = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts"
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    made = cluster.kube.request("POST", accounts, body={"metadata": {"name": name}})
    assert made.status_code == 201, made.text
    bound = cluster.kube.request(
        "POST",
        bindings,
        body={
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "kubewhy-webhook",
            },
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}],
        },
    )
    assert bound.status_code == 201, bound.text
    yield name
    cluster.kube.request("DELETE", f"{accounts}/{name}")


async def test_a_forbidden_alert_never_fails_the_others(
    cluster: Cluster, limited: str, fallback: str, namespace: str, shop: dict[str, str]
) -> None:
    forbidden = alert(labels=LABELS | {"namespace": "default"})
    access = cluster.access(account=limited)
    async with running(access, fallback) as started:
        answer = await started.post(body(forbidden, alert(labels=shop)))
        assert (answer.status_code, answer.json()) == (200, {"Created": 1, "Refused": 1})
        ready = await started.ready()
    assert len(cluster.investigations(namespace)) == 1
    assert ready.status_code == 503
    assert "cannot create resource" in ready.text
    async with running(access, namespace) as started:  # now with a fallback that it may write to
        answer = await started.post(body(forbidden))
        assert answer.json() == {"Created": 1}
        assert (await started.ready()).status_code == 200
    assert len(cluster.investigations(namespace)) == 2


async def test_any_labels_give_a_valid_investigation(
    one: Running, cluster: Cluster, namespace: str, shop: dict[str, str]
) -> None:
    """Fault test 76."""
    many = {f"label-{number:04}": "v" * 30 for number in range(2000)}
    odd = {"a/b": "1", "a.b": "2", "-x": "3", "größe": "ü", "long": "x" * 65_536, "\u202eb": "\x00"}
    hostile = alert(labels=shop | many | odd, annotations={"description": "é" * 70_000} | many)
    wide = alert(labels=shop | {"pod": "other"} | {f"l{n}": "😀" * 1024 for n in range(64)})
    answer = await one.post(body(hostile, wide))
    assert (answer.status_code, answer.json()) == (200, {"Created": 2})
    for found in cluster.investigations(namespace):
        kept = found["spec"]["alerts"][0]
        assert kept["truncated"] is True
        assert kept["labels"]["alertname"] == LABELS["alertname"]
        assert all(len(value) == 16 for value in found["metadata"]["labels"].values())


async def test_what_is_too_much_for_one_message_is_stored_with_its_count(
    one: Running,
    cluster: Cluster,
    fallback: str,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alert_plan, "MAX_CREATIONS", 40)
    many = [each | {"labels": each["labels"] | {"namespace": namespace}} for each in distinct(50)]
    answer = await one.post(body(*many))
    assert (answer.status_code, answer.json()) == (200, {"Created": 41, "Overflow": 10})
    assert len(cluster.investigations(namespace)) == 40
    (group,) = cluster.investigations(fallback)
    assert group["metadata"]["annotations"]["alert.kubewhy.internal/overflow"] == "10"


async def test_an_api_server_that_was_away_gets_each_alert_once(
    cluster: Cluster, fallback: str, namespace: str, shop: dict[str, str]
) -> None:
    """Fault test 74, and a create whose answer is lost."""
    target = urlsplit(cluster.server)
    async with (
        TcpGate(target.hostname or "", target.port or 443) as gate,
        running(cluster.access(port=gate.port), fallback) as started,
    ):
        gate.open = False
        message = body(alert(labels=shop))
        assert (await started.post(message)).status_code == 503
        assert (await started.ready()).status_code == 503
        assert cluster.investigations(namespace) == []

        gate.open = True
        await asyncio.sleep(1.1)  # what readiness knows is good for a second
        assert (await started.ready()).status_code == 200
        gate.mute = True
        assert (await started.post(message)).status_code == 503
        gate.mute = False
        answer = await started.post(message)
        assert (answer.status_code, answer.json()) == (200, {"Duplicate": 1})
    assert len(cluster.investigations(namespace)) == 1


async def test_an_expired_token_means_try_again(cluster: Cluster, fallback: str) -> None:
    async with running(cluster.access(token="no-longer-valid"), fallback) as started:
        assert (await started.post(body(alert()))).status_code == 503
        assert (await started.ready()).status_code == 503


async def test_a_kind_that_is_not_served_is_no_alerts_fault(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the CRD nothing can be stored, so the sender must try again."""
    api = await client.connect(config.Kubeconfig(path=os.environ["KUBECONFIG"]))
    try:
        path = f"{API}/namespaces/{namespace}/nosuchthings"
        monkeypatch.setattr(paths, "of", lambda *_, **__: path)
        store = investigations.KubeInvestigationStore(api)
        manifest = {"metadata": {"namespace": namespace, "name": "x"}}
        with pytest.raises(errors.ApiUnavailable, match="apply crds/"):
            await store.create(manifest)
        with pytest.raises(errors.ApiUnavailable):
            await store.note_resolved(namespace, "x", at="2026-08-01T09:40:00Z")
    finally:
        await api.close()
