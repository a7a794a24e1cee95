from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kubewhy import errors
from kubewhy.adapters.kube import client, config, failures

PODS = "/api/v1/namespaces/shop/pods"
INVESTIGATOR = client.service_account("shop", "kubewhy-investigator")
Refusal = Callable[..., tuple[int, dict[str, Any]]]


def overwrite(path: Path, text: str) -> None:
    """Write in place so that size and time tell nothing."""
    before = path.stat()
    path.write_text(text.ljust(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path, text: str | None) -> None:
    """Put another file in its place, as the kubelet does, or none."""
    if text is None:
        path.unlink()
        return
    path.with_name("new").write_text(text)
    path.with_name("new").replace(path)


async def test_a_request_carries_token_identity_query_and_agent(server: Any, api: Any) -> None:
    server.answer((200, {"kind": "PodList"}))
    reply = await api.request(
        "GET",
        PODS,
        query={"labelSelector": "app in (a,b),tier!=däta", "limit": 5, "watch": False},
        impersonate=INVESTIGATOR,
    )
    assert reply == {"kind": "PodList"}
    request = server.seen[0]
    assert request.headers["Authorization"] == "Bearer first-token"
    assert request.headers["Impersonate-User"] == "system:serviceaccount:shop:kubewhy-investigator"
    assert request.headers["User-Agent"].startswith("kubewhy/")
    assert request.query == {
        "labelSelector": "app in (a,b),tier!=däta",
        "limit": "5",
        "watch": "false",
    }


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (client.MERGE_PATCH, {"status": {"claim": None}}),
        (client.JSON_PATCH, [{"op": "replace", "path": "/a", "value": 1}]),
        (client.APPLY_PATCH, {"metadata": {"name": "x"}}),
        ("application/json", {}),
    ],
)
async def test_a_body_arrives_as_it_was_given(
    server: Any, api: Any, content_type: str, body: Any
) -> None:
    arrived: list[tuple[str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        arrived.append((request.headers["Content-Type"], await request.text()))
        return web.json_response({})

    server.handler = handler
    await api.request("PATCH", PODS, body=body, content_type=content_type)
    assert arrived[0][0] == content_type
    assert json.loads(arrived[0][1]) == body


async def test_only_service_accounts_are_impersonated(api: Any) -> None:
    with pytest.raises(ValueError, match="only service accounts"):
        await api.request("GET", PODS, impersonate="system:admin")


async def test_after_a_401_the_token_is_read_again_and_the_request_repeated_once(
    server: Any, api: Any, token_file: Path, refusal: Refusal
) -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.headers["Authorization"] == "Bearer other-token":
            return web.json_response({"ok": True})
        overwrite(token_file, "other-token")
        code, body = refusal(401, "Unauthorized", "Unauthorized")
        return web.json_response(body, status=code)

    server.handler = handler
    assert await api.request("GET", PODS) == {"ok": True}
    assert len(server.seen) == 2


async def test_a_second_401_is_unauthorized(server: Any, api: Any, refusal: Refusal) -> None:
    server.answer(refusal(401, "Unauthorized", "Unauthorized"))
    with pytest.raises(errors.ApiUnauthorized, match=r"GET .*pods: Unauthorized"):
        await api.request("GET", PODS)
    assert len(server.seen) == 2


async def test_a_replaced_token_file_is_used_by_the_next_request(
    server: Any, api: Any, token_file: Path
) -> None:
    server.answer((200, {}))
    await api.request("GET", PODS)
    replace(token_file, "second-token")
    await api.request("GET", PODS)
    replace(token_file, None)  # in the middle of a rotation
    await api.request("GET", PODS)
    sent = [request.headers["Authorization"] for request in server.seen]
    assert sent == ["Bearer first-token", "Bearer second-token", "Bearer second-token"]


async def test_a_refusal_keeps_the_servers_sentence_and_fields(
    server: Any, api: Any, refusal: Refusal
) -> None:
    sentence = 'pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "shop"'
    server.answer(refusal(403, "Forbidden", sentence))
    with pytest.raises(errors.ApiForbidden) as caught:
        await api.request("GET", PODS)
    assert str(caught.value) == f"GET {PODS}: {sentence}"
    assert (caught.value.status, caught.value.reason) == (403, "Forbidden")


async def test_no_request_is_repeated_after_503_or_429(
    server: Any, api: Any, refusal: Refusal
) -> None:
    code, body = refusal(429, "TooManyRequests", "slow down")
    server.answer(web.Response(status=code, body=json.dumps(body), headers={"Retry-After": "7"}))
    with pytest.raises(errors.ApiUnavailable) as caught:
        await api.request("GET", PODS)
    assert caught.value.retry_after == 7.0
    assert len(server.seen) == 1


async def test_a_reply_over_the_limit_is_too_large_and_not_read_on(server: Any, api: Any) -> None:
    sent = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1000):
            try:
                await response.write(b"x" * 100_000)
            except ConnectionError:
                break
            sent += 100_000
        return response

    server.handler = handler
    with pytest.raises(errors.ApiTooLarge, match="longer than 1000000 bytes"):
        await api.request("GET", PODS, limit_bytes=1_000_000)
    await asyncio.sleep(0.05)
    assert sent < 50_000_000


async def test_a_compressed_reply_is_bounded_by_its_real_size(server: Any, api: Any) -> None:
    server.answer(
        web.Response(
            body=gzip.compress(b'"' + b"a" * 5_000_000 + b'"'),
            headers={"Content-Encoding": "gzip", "Content-Type": "application/json"},
        )
    )
    with pytest.raises(errors.ApiTooLarge):
        await api.request("GET", PODS, limit_bytes=1_000_000)


@pytest.mark.parametrize("body", [b"<html>proxy</html>", b"", b"[" * 100_000, b"\xff\xfe"])
async def test_a_reply_that_is_no_json_is_unavailable(server: Any, api: Any, body: bytes) -> None:
    server.answer(web.Response(body=body))
    with pytest.raises(errors.ApiUnavailable, match="the reply is no JSON"):
        await api.request("GET", PODS)


async def test_silence_is_unavailable_and_a_write_may_have_happened(server: Any, api: Any) -> None:
    async def handler(_request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.json_response({})

    server.handler = handler
    with pytest.raises(errors.ApiUnavailable, match="no answer in time") as caught:
        await api.request("POST", PODS, body={}, timeout_seconds=0.2)
    assert (caught.value.status, caught.value.reason) == (0, failures.NO_ANSWER)


async def test_a_body_that_drips_is_bounded_by_the_same_time(server: Any, api: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    server.handler = handler
    started = asyncio.get_running_loop().time()
    with pytest.raises(errors.ApiUnavailable, match="no answer in time"):
        await api.request("GET", PODS, timeout_seconds=0.3)
    assert asyncio.get_running_loop().time() - started < 3


async def test_a_cut_connection_is_unavailable(server: Any, api: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.close()
        return response

    server.handler = handler
    with pytest.raises(errors.ApiUnavailable) as caught:
        await api.request("GET", PODS)
    assert caught.value.reason == failures.NO_ANSWER


async def test_a_refused_connection_says_that_nothing_was_sent(token_file: Path) -> None:
    connected = await client.connect(
        config.Explicit(server="http://127.0.0.1:9", token_file=str(token_file))
    )
    with pytest.raises(errors.ApiUnavailable) as caught:
        await connected.request("POST", PODS, body={})
    await connected.close()
    assert caught.value.reason == failures.NO_CONNECTION


async def test_a_stream_gives_chunks_and_ends_with_its_reader(server: Any, api: Any) -> None:
    ended = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"line\n" * 1000)
                await asyncio.sleep(0)
        except (ConnectionError, asyncio.CancelledError):
            ended.set()
            raise

    server.handler = handler
    stream = api.stream(f"{PODS}/web/log")
    async with client.closing(stream):
        first = await anext(stream)
    assert first.startswith(b"line\n")
    await asyncio.wait_for(ended.wait(), 5)


async def test_a_stream_that_falls_silent_is_unavailable(server: Any, api: Any) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"line\n")
        await asyncio.sleep(30)
        return response

    server.handler = handler
    stream = api.stream(f"{PODS}/web/log", idle_seconds=0.2)
    got = [await anext(stream)]
    with pytest.raises(errors.ApiUnavailable, match="no answer in time"):
        await anext(stream)
    assert got == [b"line\n"]


async def test_a_refused_stream_raises_before_its_first_chunk(
    server: Any, api: Any, refusal: Refusal
) -> None:
    server.answer(refusal(400, "BadRequest", 'container "web" is waiting to start'))
    with pytest.raises(errors.ApiInvalid, match="waiting to start"):
        await anext(api.stream(f"{PODS}/web/log"))


async def test_proxies_of_the_environment_are_not_used(
    server: Any, token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    connected = await client.connect(config.Explicit(server=server.url, token_file=str(token_file)))
    server.answer((200, {"direct": True}))
    assert await connected.request("GET", PODS) == {"direct": True}
    await connected.close()


async def test_many_requests_at_once_share_the_client(server: Any, api: Any) -> None:
    server.answer((200, {"ok": 1}))
    replies = await asyncio.gather(*(api.request("GET", PODS) for _ in range(50)))
    assert replies == [{"ok": 1}] * 50
