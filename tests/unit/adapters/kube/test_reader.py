from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from kubewhy import errors
from kubewhy.adapters.kube import client, reader
from kubewhy.core import ports

POD = ports.Resource(group="", version="v1", name="pods", kind="Pod", namespaced=True)
NODE = ports.Resource(group="", version="v1", name="nodes", kind="Node", namespaced=False)
SECRET = ports.Resource(group="", version="v1", name="secrets", kind="Secret", namespaced=True)
ACCOUNT = client.service_account("shop", "kubewhy-investigator")
Refusal = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def kube(api: client.KubeClient) -> reader.KubeReader:
    return reader.KubeReader(api, namespace="shop", account=ACCOUNT, bounded=True)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_FIRST_PAUSE_SECONDS", 0.001)


async def test_every_read_is_impersonated_and_counted(server: Any, kube: reader.KubeReader) -> None:
    server.answer((200, {"metadata": {}, "items": []}))
    await kube.get(POD, "web")
    await kube.list(POD)
    await kube.table(POD)
    assert [chunk async for chunk in kube.logs("web")]
    assert {request.headers["Impersonate-User"] for request in server.seen} == {ACCOUNT}
    assert kube.requests == 4
    assert kube.received_bytes == 4 * len('{"metadata": {}, "items": []}')


async def test_a_page_carries_kinds_token_and_remainder(
    server: Any, kube: reader.KubeReader
) -> None:
    meta = {"continue": "abc", "remainingItemCount": 4500, "resourceVersion": "7"}
    server.answer((200, {"metadata": meta, "items": [{"metadata": {"name": "web"}}]}))
    page = await kube.list(
        POD, label_selector="app=web", field_selector="a=b", limit=9000, continue_token="t"
    )
    assert server.seen[0].query == {
        "limit": "500",
        "labelSelector": "app=web",
        "fieldSelector": "a=b",
        "continue": "t",
    }
    assert page.items == ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}},)
    assert (page.continue_token, page.remaining, page.resource_version) == ("abc", 4500, "7")


async def test_a_last_page_leaves_nothing_out(server: Any, kube: reader.KubeReader) -> None:
    server.answer((200, {"metadata": {}, "items": None}))
    assert (await kube.list(POD, limit=0)).remaining == 0
    assert server.seen[0].query["limit"] == "1"


async def test_a_table_is_asked_for_with_kubectls_accept(
    server: Any, kube: reader.KubeReader
) -> None:
    server.answer((200, {"kind": "Table"}))
    await kube.table(POD, name="web")
    assert server.seen[0].path == "/api/v1/namespaces/shop/pods/web"
    assert "as=Table" in server.seen[0].headers["Accept"]
    assert server.seen[0].query == {"includeObject": "None"}


async def test_all_namespaces_only_without_bounds(server: Any, api: client.KubeClient) -> None:
    server.answer((200, {"kind": "Table"}))
    unbounded = reader.KubeReader(api, namespace="shop", account=ACCOUNT, bounded=False)
    await unbounded.table(POD, namespace="*")
    assert server.seen[0].path == "/api/v1/pods"
    assert server.seen[0].query["includeObject"] == "Metadata"
    with pytest.raises(errors.ApiInvalid, match="needs one namespace"):
        await unbounded.get(POD, "web", namespace="*")


READS: dict[str, Callable[[reader.KubeReader], Awaitable[Any]]] = {
    "get": lambda kube: kube.get(POD, "web", namespace="kube-system"),
    "list": lambda kube: kube.list(POD, namespace="kube-system"),
    "table": lambda kube: kube.table(POD, namespace="kube-system"),
    "logs": lambda kube: anext(aiter(kube.logs("web", namespace="kube-system"))),
}


@pytest.mark.parametrize("read", READS)
async def test_nothing_out_of_bounds_is_sent(
    server: Any, kube: reader.KubeReader, read: str
) -> None:
    server.answer((200, {}))
    with pytest.raises(errors.ApiForbidden, match=r"pods in namespace 'kube-system'"):
        await READS[read](kube)
    assert not server.seen


@pytest.mark.parametrize("bounded", [True, False])
async def test_secrets_are_not_even_asked_for(
    server: Any, api: client.KubeClient, *, bounded: bool
) -> None:
    server.answer((200, {}))
    kube = reader.KubeReader(api, namespace="shop", account=ACCOUNT, bounded=bounded)
    for reading in (kube.get(SECRET, "db"), kube.list(SECRET), kube.table(SECRET)):
        with pytest.raises(errors.ApiForbidden, match="never reads Secrets"):
            await reading
    assert not server.seen


@pytest.mark.parametrize("name", ["../../secrets/db", "%2e%2e", "web/log", "Web", "ä"])
async def test_no_request_for_a_name_beyond_the_grammar(
    server: Any, kube: reader.KubeReader, name: str
) -> None:
    server.answer((200, {}))
    with pytest.raises(errors.ApiInvalid):
        await kube.get(POD, name)
    with pytest.raises(errors.ApiInvalid):
        await anext(aiter(kube.logs(name)))
    assert not server.seen


async def test_options_of_a_log_reach_the_server(server: Any, kube: reader.KubeReader) -> None:
    server.answer((200, "x"))
    async for _ in kube.logs(
        "web", container="app", previous=True, tail_lines=5, since_seconds=60, timestamps=True
    ):
        pass
    assert server.seen[0].path == "/api/v1/namespaces/shop/pods/web/log"
    assert server.seen[0].query == {
        "container": "app",
        "previous": "true",
        "tailLines": "5",
        "sinceSeconds": "60",
        "timestamps": "true",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "unable to retrieve container logs for containerd://2de3ad5f6a5ef3e1",
        'failed to try resolving symlinks in path "/var/log/pods/x/1.log": lstat /var/log/pods/x/1.log: no such file',
    ],
)
async def test_a_log_that_the_kubelet_removed_is_no_text_of_the_program(
    server: Any, kube: reader.KubeReader, sentence: str
) -> None:
    server.answer(web.Response(text=sentence))
    with pytest.raises(errors.ApiInvalid, match=re.escape(sentence)) as caught:
        await anext(aiter(kube.logs("web")))
    assert caught.value.reason == reader.LOG_REMOVED
    server.answer(web.Response(text=f"app: {sentence}\n"))
    assert b"".join([chunk async for chunk in kube.logs("web")]) == f"app: {sentence}\n".encode()


@pytest.mark.parametrize("code", [429, 502, 503, 504])
async def test_a_passing_failure_is_repeated(
    server: Any, kube: reader.KubeReader, refusal: Refusal, code: int
) -> None:
    server.answer(refusal(code, "", "later"), (200, {"metadata": {"name": "web"}}))
    assert (await kube.get(POD, "web"))["metadata"]["name"] == "web"
    assert kube.requests == 2


async def test_a_lasting_failure_ends_after_three_attempts(
    server: Any, kube: reader.KubeReader, refusal: Refusal
) -> None:
    server.answer(refusal(503, "ServiceUnavailable", "away"))
    with pytest.raises(errors.ApiUnavailable, match="away"):
        await kube.get(POD, "web")
    assert kube.requests == 3


@pytest.mark.parametrize(
    ("code", "headers"), [(500, {}), (429, {"Retry-After": "3600"}), (403, {}), (404, {})]
)
async def test_other_failures_and_long_pauses_are_not_waited_for(
    server: Any, kube: reader.KubeReader, code: int, headers: dict[str, str]
) -> None:
    server.answer(web.Response(status=code, headers=headers))
    with pytest.raises(errors.ApiError):
        await kube.get(POD, "web")
    assert kube.requests == 1


@pytest.mark.parametrize("reply", [[], "text", 5, None])
async def test_a_reply_of_another_shape_is_unavailable(
    server: Any, kube: reader.KubeReader, reply: Any
) -> None:
    server.answer((200, reply))
    with pytest.raises(errors.ApiUnavailable):
        await kube.list(NODE)


async def test_it_fits_the_port(kube: reader.KubeReader) -> None:
    port: ports.KubeReader = kube
    assert port.namespace == "shop"
