"""The general tools of the toolset `kubernetes` against the real API server, as the shared reader.

There is no node here: Pods stay Pending and have no logs, which is itself an outcome to tell apart.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import yaml

import kube_api
import operator_access
from kubewhy import errors
from kubewhy.adapters.kube import accounts, client, config, reader
from kubewhy.core import ports, tools
from kubewhy.toolsets import kubernetes

Call = Callable[..., Awaitable[tools.ToolOutput]]


@pytest.fixture(scope="module")
def access(kube: kube_api.KubeApi, tmp_path_factory: pytest.TempPathFactory) -> config.Explicit:
    operator_access.install()
    return operator_access.access(kube, tmp_path_factory.mktemp("operator"))


@pytest.fixture
async def call(access: config.Explicit, namespace: str) -> AsyncIterator[Call]:
    api = await client.connect(access)
    who = await accounts.identity(api, namespace)
    kube = reader.KubeReader(api, namespace=namespace, account=who.user, bounded=who.bounded)
    offered = {tool.spec.name: tool for tool in kubernetes.toolset().tools}
    context = ports.ToolContext(
        namespace=namespace,
        subject=None,
        kube=kube,
        now=lambda: datetime.datetime.now(datetime.UTC),
    )

    async def run(tool: str, /, **arguments: Any) -> tools.ToolOutput:
        return await offered[f"kubernetes_{tool}"].run(context, arguments)

    yield run
    await api.close()


def deploy(kube: kube_api.KubeApi, namespace: str, name: str = "checkout") -> None:
    """A Deployment whose Pods can be scheduled nowhere."""
    labels = {"app": name}
    container = {
        "name": "app",
        "image": "busybox:1",
        "env": [{"name": "DB_PASSWORD", "value": "CANARY-hunter2"}],
        "resources": {"requests": {"cpu": "500"}},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    answer = kube.request(
        "POST",
        f"/apis/apps/v1/namespaces/{namespace}/deployments",
        body={"metadata": {"name": name}, "spec": spec},
    )
    assert answer.is_success, answer.text


async def until(call: Call, words: str, tool: str, **arguments: Any) -> str:
    """The tool's text once it has these words."""
    text = ""
    for _ in range(150):
        text = (await call(tool, **arguments)).text
        if words in text:
            return text
        await asyncio.sleep(0.2)
    pytest.fail(f"{words!r} did not appear in: {text}")


async def test_a_pending_pod_is_seen_through_every_tool(
    kube: kube_api.KubeApi, namespace: str, call: Call
) -> None:
    deploy(kube, namespace)
    text = await until(call, "checkout-", "get", kind="pods", selector="app=checkout")
    head, columns, row = text.splitlines()
    assert head == f"pods in namespace {namespace} with labels app=checkout: 1 shown, none left out"
    assert columns.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    name = row.split()[0]

    await until(call, "FailedScheduling", "describe", kind="pod", name=name)
    described = await until(call, "PodScheduled=False", "describe", kind="pod", name=name)
    for words in (
        f"Pod/{name} (v1) in namespace {namespace}",
        f"Owners: ReplicaSet/{name.rpartition('-')[0]} > Deployment/checkout",
        "PodScheduled=False Unschedulable",
        "requests cpu=500; limits none",
        "[default-scheduler]: ",
    ):
        assert words in described, words

    events = (await call("events", kind="pod", name=name)).text
    assert "Warning  FailedScheduling  Pod/" in events
    deployed = (await call("events", kind="deploy", name="checkout", type="Normal")).text
    assert "ScalingReplicaSet" in deployed

    logs = await call("logs", kind="deployment", name="checkout")
    assert logs.status is tools.ToolStatus.NO_DATA
    assert f"Pod/{name} container app: 0 lines read" in logs.text

    manifest = yaml.safe_load((await call("yaml", kind="deploy", name="checkout")).text)
    assert manifest["spec"]["template"]["spec"]["containers"][0]["image"] == "busybox:1"
    assert "managedFields" not in manifest["metadata"]


async def test_wide_has_more_columns_and_a_name_gives_one_row(
    kube: kube_api.KubeApi, namespace: str, call: Call
) -> None:
    deploy(kube, namespace)
    text = await until(call, "checkout", "get", kind="deploy", name="checkout", wide=True)
    assert text.splitlines()[1].split()[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert text.splitlines()[2].endswith("app=checkout")


async def test_absence_refusal_and_emptiness_stay_apart(namespace: str, call: Call) -> None:
    empty = await call("get", kind="pods")
    assert (empty.status, namespace in empty.text) == (tools.ToolStatus.NO_DATA, True)
    with pytest.raises(errors.ApiNotFound, match='pods "gone" not found'):
        await call("describe", kind="pod", name="gone")
    with pytest.raises(errors.ApiNotFound, match='pods "gone" not found'):
        await call("logs", name="gone")
    with pytest.raises(errors.ApiForbidden, match="may not list pods in namespace 'kube-system'"):
        await call("get", kind="pods", namespace="kube-system")
    with pytest.raises(errors.ApiForbidden, match="never reads Secrets"):
        await call("yaml", kind="secret", name="x")
    for name in ("../../secrets/x", "%2e%2e", "Ünicode"):
        with pytest.raises(errors.ApiInvalid, match="is no name of a Pod"):
            await call("describe", kind="pod", name=name)
    with pytest.raises(errors.ApiInvalid):
        await call("get", kind="pods", selector="a in (")


async def test_a_subject_deleted_between_two_calls_is_not_found(
    kube: kube_api.KubeApi, namespace: str, call: Call
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    kube.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": namespace}}
    )
    assert (await call("describe", kind="cm", name="c")).status is tools.ToolStatus.SUCCESS
    kube.request("DELETE", f"{path}/c")
    with pytest.raises(errors.ApiNotFound):
        await call("describe", kind="cm", name="c")


async def test_hundreds_of_objects_are_bounded_and_counted(
    kube: kube_api.KubeApi, namespace: str, call: Call
) -> None:
    def make(number: int) -> None:
        meta = {"name": f"m{number}", "namespace": namespace}
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    kube_api.in_parallel(make, range(600))
    few = await call("get", kind="cm", limit=10)
    assert few.truncated
    assert len(few.text.splitlines()) == 12
    left = int(few.text.partition(" more exist")[0].rpartition(" ")[2])
    assert left >= 590
    many = await call("get", kind="cm", limit=500)
    assert len(many.text.splitlines()) == 502


async def test_nodes_have_their_events_though_they_lie_elsewhere(call: Call) -> None:
    output = await call("events", kind="node", name="none-of-that-name")
    assert output.status is tools.ToolStatus.NO_DATA


async def test_cluster_objects_are_described(
    kube: kube_api.KubeApi, call: Call, namespace: str
) -> None:
    text = (await call("describe", kind="namespace", name=namespace)).text
    assert text.startswith(f"Namespace/{namespace} (v1), created")
    name = f"slow-{namespace}"
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    kube.request("POST", path, body={"metadata": {"name": name}, "value": 7})
    try:
        assert "value: 7" in (await call("describe", kind="priorityclass", name=name)).text
    finally:
        kube.request("DELETE", f"{path}/{name}")
