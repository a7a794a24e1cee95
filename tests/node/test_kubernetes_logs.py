"""`kubernetes_logs` and `kubernetes_describe` on a real kubelet: its logs, its restarts, its sentences.

Goes in: KUBECONFIG of a cluster with a node that holds kubewhy.local/busybox:1. Observed: the tools' outputs as the
shared reader gets them. Nothing is mocked; Pods are made once for all tests of this file.
"""

from __future__ import annotations

import asyncio
import datetime
import functools
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kube_api
import operator_access
from kubewhy.adapters.kube import accounts, client, config, reader
from kubewhy.core import ports, tools
from kubewhy.toolsets import kubernetes

IMAGE = "kubewhy.local/busybox:1"
CRASH = "echo starting; echo 'Traceback (most recent call last):'; echo '  boom'; echo 'KeyError: DB_HOST'; exit 3"
BINARY = r"printf '\377\376 ok \033[31mred\033[0m\n\303'; sleep 3600"
HUGE = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the very end; sleep 3600"
Call = Callable[..., Awaitable[tools.ToolOutput]]


def pod_spec(script: str, image: str = IMAGE) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
    }
    return {"terminationGracePeriodSeconds": 0, "containers": [container]}


@pytest.fixture(scope="module")
def kube() -> Iterator[kube_api.KubeApi]:
    with kube_api.connect(Path(os.environ["KUBECONFIG"])) as connected:
        yield connected


@pytest.fixture(scope="module")
def access(kube: kube_api.KubeApi, tmp_path_factory: pytest.TempPathFactory) -> config.Explicit:
    operator_access.install()
    return operator_access.access(kube, tmp_path_factory.mktemp("operator"))


@pytest.fixture(scope="module")
def world(kube: kube_api.KubeApi) -> Iterator[str]:
    """A namespace with one Pod for each kind of log, each in the state that its test wants."""
    namespace = f"test-{uuid.uuid4().hex[:12]}"
    root = f"/api/v1/namespaces/{namespace}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    wait(lambda: kube.request("GET", f"{root}/serviceaccounts/default").is_success, "account")
    pods = {
        "crash": pod_spec(CRASH),
        "binary": pod_spec(BINARY),
        "huge": pod_spec(HUGE),
        "silent": pod_spec("sleep 3600"),
        "waiting": pod_spec("true", image="kubewhy.local/not-there:1"),
    }
    for name, spec in pods.items():
        answer = kube.request(
            "POST", f"{root}/pods", body={"metadata": {"name": name}, "spec": spec}
        )
        assert answer.is_success, answer.text
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec("echo from web; sleep 3600")}
    deployment = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    kube.request(
        "POST",
        f"/apis/apps/v1/namespaces/{namespace}/deployments",
        body={"metadata": {"name": "web"}, "spec": deployment},
    )

    def status(name: str) -> dict[str, Any]:
        found = kube.request("GET", f"{root}/pods/{name}").json()
        statuses: list[dict[str, Any]] = found["status"].get("containerStatuses") or [{}]
        return statuses[0]

    def runs(name: str) -> bool:
        return "running" in status(name).get("state", {})

    wait(lambda: status("crash").get("restartCount", 0) >= 1, "a restart")
    for name in ("binary", "huge", "silent"):
        wait(functools.partial(runs, name), name)
    wait(lambda: status("waiting").get("state", {}).get("waiting", {}).get("message"), "waiting")
    yield namespace
    kube.request("DELETE", root)


def wait(done: Callable[[], Any], what: str, *, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"{what} did not happen in {seconds:.0f} s"
        time.sleep(0.3)


@pytest.fixture
async def call(access: config.Explicit, world: str) -> AsyncIterator[Call]:
    api = await client.connect(access)
    who = await accounts.identity(api, world)
    kube = reader.KubeReader(api, namespace=world, account=who.user, bounded=who.bounded)
    offered = {tool.spec.name: tool for tool in kubernetes.toolset().tools}
    context = ports.ToolContext(
        namespace=world,
        subject=None,
        kube=kube,
        now=lambda: datetime.datetime.now(datetime.UTC),
    )

    async def run(tool: str, /, **arguments: Any) -> tools.ToolOutput:
        return await offered[f"kubernetes_{tool}"].run(context, arguments)

    yield run
    await api.close()


async def until(call: Call, fits: Callable[[str], bool], tool: str, **arguments: Any) -> str:
    """The tool's text once it fits."""
    text = ""
    for _ in range(150):
        text = (await call(tool, **arguments)).text
        if fits(text):
            return text
        await asyncio.sleep(0.3)
    pytest.fail(f"never came: {text}")


async def test_the_run_before_the_restart_is_read(call: Call) -> None:
    output = await call("logs", name="crash", previous=True)
    assert output.status is tools.ToolStatus.SUCCESS
    assert "> KeyError: DB_HOST" in output.text.splitlines()
    assert "> starting" in output.text
    assert "exit code 3" in output.text
    assert "4 lines read from 20" in output.text


async def test_a_search_shows_the_match_and_its_lines(call: Call) -> None:
    output = await call("logs", name="crash", previous=True, grep="keyerror", context=1)
    shown = [line for line in output.text.splitlines() if line.startswith("> ")]
    assert shown == ["> … 2 lines …", ">   boom", "> KeyError: DB_HOST"]


async def test_no_restart_no_previous_run(call: Call) -> None:
    output = await call("logs", name="silent", previous=True)
    assert output.status is tools.ToolStatus.NO_DATA
    assert "has not been restarted" in output.text


async def test_silence_and_never_started_are_no_data_with_their_reasons(call: Call) -> None:
    silent = await call("logs", name="silent")
    assert silent.status is tools.ToolStatus.NO_DATA
    assert "the log is empty" in silent.text
    waiting = await call("logs", name="waiting")
    assert waiting.status is tools.ToolStatus.NO_DATA
    assert "has not started: waiting" in waiting.text
    assert "not-there" in waiting.text


async def test_bytes_that_are_no_text_are_shown_as_far_as_they_go(call: Call) -> None:
    output = await call("logs", name="binary")
    assert "> \ufffd\ufffd ok red" in output.text.splitlines()
    assert "\x1b" not in output.text


async def test_a_line_of_100_mb_is_bounded_in_time_and_size(call: Call) -> None:
    await until(call, lambda text: "the very end" in text, "logs", name="huge", tail=1)
    started = time.monotonic()
    output = await call("logs", name="huge")
    assert time.monotonic() - started < 30
    assert "> the very end" in output.text.splitlines()
    assert len(output.text) < 20_000


async def test_by_owner_every_pod_is_read(call: Call) -> None:
    text = await until(
        call, lambda text: text.count("> from web") == 2, "logs", kind="deploy", name="web"
    )
    assert text.startswith("Logs of Deployment/web (labels app=web) in namespace")


async def test_a_crash_loop_is_described(call: Call) -> None:
    backed_off = "Warning  BackOff  Pod/crash app [kubelet]: Back-off restarting failed container"
    text = await until(call, lambda text: backed_off in text, "describe", kind="pod", name="crash")
    assert "last exit: Error exit code 3" in text
