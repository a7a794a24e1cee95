import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from alert_messages import alert, body, encode

PATH = "/webhooks/alertmanager"
TOKEN = "CANARY-token-1"
LIMIT = 4 * 1024 * 1024


async def raw(port: int, data: bytes, *, wait: float = 5.0) -> bytes:
    """Send bytes as they are; all that comes back until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        await writer.drain()
        async with asyncio.timeout(wait):
            return await reader.read()
    finally:
        writer.close()


def head(*lines: str, method: str = "POST", version: str = "1.1", token: str = TOKEN) -> bytes:
    first = f"{method} {PATH} HTTP/{version}"
    usual = ("Host: x", "Content-Type: application/json", f"Authorization: Bearer {token}")
    return "\r\n".join([first, *usual, "Connection: close", *lines, "", ""]).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"alert=1&b=2",
        "\ufeff".encode() + body(),
        b'{"alerts": [], "a": "\xff"}',
        b'{"alerts": [NaN]}',
        b'{"alerts": [], "alerts": []}',
        b"[" * 100_000,
        b'{"alerts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"alerts": [' + b"1" * 5000 + b"]}",
        b'{"alerts": ["\\ud800"]}',
        b'{"alerts": {}}',
        b'{"text": "a custom payload"}',
        b"[]",
        b"null",
    ],
)
async def test_what_can_never_succeed_is_400_with_a_reason(running: Any, content: bytes) -> None:
    answer = await running.post(content)
    assert answer.status_code == 400
    assert 0 < len(answer.text) < 200
    assert running.store.objects == {}
    assert (await running.post(body(alert()))).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"]
)
async def test_only_json_is_read(running: Any, kind: str) -> None:
    assert (await running.post(body(alert()), content_type=kind)).status_code == 415


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
async def test_json_may_be_declared_in_any_way(running: Any, kind: str) -> None:
    assert (await running.post(body(alert()), content_type=kind)).status_code == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP", "identity, gzip"])
async def test_no_body_is_decompressed(running: Any, encoding: str) -> None:
    answer = await running.post(gzip.compress(body(alert())), content_encoding=encoding)
    assert answer.status_code == 415


async def test_a_declared_length_over_the_limit_is_refused_unread(running: Any) -> None:
    answer = await raw(running.server.port, head(f"Content-Length: {LIMIT + 1}"))
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_chunked_body_over_the_limit_is_refused(running: Any) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 4 * LIMIT:
            sent += 65536
            yield b" " * 65536

    try:
        answer = await running.client.post(
            PATH,
            content=endless(),
            headers={
                "authorization": "Bearer CANARY-token-1",
                "content-type": "application/json",
            },
        )
        assert answer.status_code == 413
    except httpx.WriteError:  # the connection was closed while we were still sending
        assert sent > LIMIT
    assert running.sample("requests_total", code="413") == 1


async def test_a_body_at_the_limit_is_read(running: Any) -> None:
    message = body(alert())
    assert (await running.post(message + b" " * (LIMIT - len(message)))).status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
async def test_only_post_is_allowed(running: Any, method: str) -> None:
    answer = await running.client.request(
        method, PATH, headers={"authorization": "Bearer CANARY-token-1"}
    )
    assert answer.status_code == 405
    assert running.sample("requests_total", code="405") == 1


@pytest.mark.parametrize(
    "path", ["/", PATH + "/", "/webhooks", "//webhooks/alertmanager", "/metrics", "/healthz"]
)
async def test_nothing_else_is_served_and_nothing_is_redirected(running: Any, path: str) -> None:
    answer = await running.client.post(f"http://127.0.0.1:{running.server.port}{path}")
    assert answer.status_code == 404


async def test_http_1_0_is_served(running: Any) -> None:
    message = body(alert())
    answer = await raw(
        running.server.port, head(f"Content-Length: {len(message)}", version="1.0") + message
    )
    assert answer.startswith(b"HTTP/1.0 200 ")


async def test_chunks_are_read(running: Any) -> None:
    message = body(alert())
    half = len(message) // 2
    chunks = b"".join(
        f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (message[:half], message[half:])
    )
    sent = head("Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n"
    assert (await raw(running.server.port, sent)).startswith(b"HTTP/1.1 200 ")


async def test_expect_100_continue_gets_its_go_ahead(running: Any) -> None:
    message = body(alert())
    reader, writer = await asyncio.open_connection("127.0.0.1", running.server.port)
    writer.write(head(f"Content-Length: {len(message)}", "Expect: 100-continue"))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(message)
    assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    writer.close()


async def test_expect_gets_no_go_ahead_without_a_token(running: Any) -> None:
    sent = head("Content-Length: 10", "Expect: 100-continue", token="wrong")
    assert (await raw(running.server.port, sent)).startswith(b"HTTP/1.1 401 ")


async def test_an_unknown_expectation_fails(running: Any) -> None:
    sent = head("Content-Length: 0", "Expect: tea")
    assert (await raw(running.server.port, sent)).startswith(b"HTTP/1.1 417 ")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST\r\n\r\n",
        b"POST " + PATH.encode() + b" HTTP/1.1\r\nbad header\r\n\r\n",
        b"POST /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        head("X: " + "y" * 20_000),
        head("Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
        head("Content-Length: -1"),
        head("Content-Length: 1", "Content-Length: 2") + b"{}",
        head("Transfer-Encoding: chunked") + b"zz\r\nhello\r\n",
    ],
)
async def test_broken_http_is_a_400_and_the_token_stays_out_of_the_log(
    running: Any, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await raw(running.server.port, data)
    assert answer == b"" or answer.split(b" ")[1] == b"400"
    assert "CANARY" not in caplog.text
    assert (await running.post(body(alert()))).status_code == 200


async def test_a_broken_authorization_header_stays_out_of_the_log(
    running: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    data = head().replace(b"Bearer CANARY-token-1", b"Bearer CANARY\x00-token-1")
    assert b" 400 " in await raw(running.server.port, data)
    assert "CANARY" not in caplog.text


async def test_a_sender_that_goes_away_leaves_nothing(running: Any) -> None:
    for _ in range(20):
        _, writer = await asyncio.open_connection("127.0.0.1", running.server.port)
        writer.write(head("Content-Length: 1000") + b'{"alerts": [')
        await writer.drain()
        writer.transport.abort()
    assert (await running.post(body(alert()))).status_code == 200
    await running.eventually(lambda: not running.sample("requests_in_flight"))
    await running.eventually(lambda: running.sample("connections") <= 1)
    assert len(running.store.objects) == 1


async def test_bodies_of_all_requests_together_are_bounded(start: Any) -> None:
    async with start(limits={"buffered_bytes": 100_000}) as running:
        padded = body(alert()) + b" " * 60_000
        running.store.released.clear()
        first = asyncio.create_task(running.post(padded))
        await running.eventually(lambda: running.store.running)
        assert (await running.post(padded)).status_code == 503
        running.store.released.set()
        assert (await first).status_code == 200
        assert (await running.post(padded)).status_code == 200


async def test_the_body_of_an_error_is_short_and_holds_no_data(running: Any) -> None:
    answer = await running.post(encode({"alerts": "CANARY-data"}))
    assert answer.status_code == 400
    assert "CANARY" not in answer.text
    assert answer.headers["content-type"].startswith("text/plain")


async def test_the_answer_says_what_became_of_the_alerts(running: Any) -> None:
    answer = await running.post(body(alert()))
    assert json.loads(answer.text) == {"Created": 1}
