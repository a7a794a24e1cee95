"""A real server on loopback answers; nothing is faked."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import aiohttp.web
import pytest

from kubewhy import errors
from kubewhy.adapters import http_reader


class Server:
    """Answers by path and remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[aiohttp.web.BaseRequest] = []
        self.sent = 0
        self.url = ""

    async def answer(self, request: aiohttp.web.BaseRequest) -> aiohttp.web.StreamResponse:
        self.requests.append(request)
        if request.path == "/hang":
            await asyncio.sleep(30)
        if request.path == "/redirect":
            return aiohttp.web.Response(status=302, headers={"Location": f"{self.url}/elsewhere"})
        if request.path == "/gzip":
            return aiohttp.web.Response(
                body=gzip.compress(b"0" * 1000), headers={"Content-Encoding": "gzip"}
            )
        if request.path == "/endless":
            return await self.endless(request)
        if request.path == "/drop":
            assert request.transport
            request.transport.close()
        headers = {"X-Kind": "Plain", "Set-Cookie": "a=b"}
        return aiohttp.web.Response(status=418, body=b"\xffbody", headers=headers)

    async def endless(self, request: aiohttp.web.BaseRequest) -> aiohttp.web.StreamResponse:
        response = aiohttp.web.StreamResponse()
        await response.prepare(request)
        while self.sent < 100 * 1024**2:
            await response.write(b"x" * 65536)
            self.sent += 65536
        return response


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    served = Server()
    runner = aiohttp.web.ServerRunner(aiohttp.web.Server(served.answer), shutdown_timeout=0.1)
    await runner.setup()
    site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    served.url = f"http://{host}:{port}"
    yield served
    await runner.cleanup()


@pytest.fixture
async def reader() -> AsyncIterator[http_reader.HttpReader]:
    made = http_reader.HttpReader()
    yield made
    await made.close()


async def test_status_headers_and_body_come_back(
    server: Server, reader: http_reader.HttpReader
) -> None:
    reply = await reader.get(
        f"{server.url}/a/b",
        params={"q": "a b&c=+", "n": "ü"},
        headers={"Authorization": "Bearer t"},
    )
    assert (reply.status, reply.body, reply.truncated) == (418, b"\xffbody", False)
    assert reply.headers["x-kind"] == "Plain"
    (request,) = server.requests
    assert dict(request.query) == {"q": "a b&c=+", "n": "ü"}
    assert request.headers["Authorization"] == "Bearer t"


async def test_cookies_are_not_kept(server: Server, reader: http_reader.HttpReader) -> None:
    await reader.get(server.url)
    await reader.get(server.url)
    assert "Cookie" not in server.requests[1].headers


async def test_redirects_are_not_followed(server: Server, reader: http_reader.HttpReader) -> None:
    reply = await reader.get(f"{server.url}/redirect")
    assert (reply.status, len(server.requests)) == (302, 1)
    assert reply.headers["location"].endswith("/elsewhere")


async def test_proxies_of_the_environment_are_not_used(
    server: Server, reader: http_reader.HttpReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert (await reader.get(server.url)).status == 418


async def test_proxies_are_used_when_asked_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("http_proxy", server.url)
    reader = http_reader.HttpReader(use_proxies=True)
    try:
        assert (await reader.get("http://prometheus.invalid/metrics")).status == 418
    finally:
        await reader.close()


async def test_a_long_body_is_cut_while_it_comes(
    server: Server, reader: http_reader.HttpReader
) -> None:
    reply = await reader.get(f"{server.url}/endless", limit_bytes=100_000)
    assert (len(reply.body), reply.truncated) == (100_000, True)
    assert server.sent < 50 * 1024**2
    assert (await reader.get(server.url)).status == 418


async def test_compressed_bodies_are_refused(
    server: Server, reader: http_reader.HttpReader
) -> None:
    with pytest.raises(errors.ToolFailure, match="encoding 'gzip'"):
        await reader.get(f"{server.url}/gzip")
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


async def test_a_hanging_server_is_timed_out(
    server: Server, reader: http_reader.HttpReader
) -> None:
    with pytest.raises(errors.ToolFailure, match=r"no complete answer within 0\.2 s") as caught:
        await reader.get(f"{server.url}/hang", timeout_seconds=0.2)
    assert caught.value.status == "TimedOut"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "http://user:hunter2@127.0.0.1:1/x",
            "http://127.0.0.1:1 can't be read: no connection: Connect",
        ),
        ("{server}/drop", "can't be read: Server disconnected"),
        ("file:///etc/passwd", "no http or https URL"),
        ("http://[::1", "no http or https URL"),
        ("http://", "no http or https URL"),
        ("", "no http or https URL"),
    ],
)
async def test_failures_name_host_and_cause_only(
    server: Server, reader: http_reader.HttpReader, url: str, said: str
) -> None:
    with pytest.raises(errors.ToolFailure) as caught:
        await reader.get(url.replace("{server}", server.url))
    assert caught.value.status == "Error"
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_a_header_cant_hold_a_line_end(
    server: Server, reader: http_reader.HttpReader
) -> None:
    with pytest.raises(errors.ToolFailure):
        await reader.get(server.url, headers={"X-A": "1\r\nX-B: 2"})
    assert not server.requests


async def test_closing_twice_is_fine() -> None:
    reader = http_reader.HttpReader()
    await reader.close()
    await reader.close()
