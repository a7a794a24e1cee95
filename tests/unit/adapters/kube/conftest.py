"""A small API server over real HTTP on loopback.

Goes in: handlers or canned replies. Observed: the requests that arrive, with their headers, and what the client makes
of the replies. Connection handling, decompression and timeouts are the real ones; only the server's content is made up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kubewhy.adapters.kube import client, config

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclasses.dataclass(kw_only=True)
class ApiServer:
    """Answers each request by `handler`; `seen` keeps the requests in order."""

    url: str = ""
    handler: Handler | None = None
    seen: list[web.Request] = dataclasses.field(default_factory=list)

    def answer(self, *replies: tuple[int, Any] | web.Response) -> None:
        """Answer the next requests with these JSON replies (status, body), the last one for ever."""
        left = list(replies)

        async def handler(_request: web.Request) -> web.StreamResponse:
            reply = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(reply, web.Response):
                return web.Response(
                    status=reply.status, body=reply.body, headers=dict(reply.headers)
                )
            return web.json_response(reply[1], status=reply[0])

        self.handler = handler

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Keep the request and answer it."""
        self.seen.append(request)
        assert self.handler is not None
        return await self.handler(request)


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    api = ApiServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield api
    await runner.cleanup()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first-token\n")
    return path


@pytest.fixture
async def api(server: ApiServer, token_file: Path) -> AsyncIterator[client.KubeClient]:
    connected = await client.connect(config.Explicit(server=server.url, token_file=str(token_file)))
    yield connected
    await connected.close()


def status(code: int, reason: str, message: str, **details: Any) -> tuple[int, dict[str, Any]]:
    """A reply as the API server refuses: a Status object."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason}
    return code, {**body, "message": message, "details": details}


@pytest.fixture
def refusal() -> Callable[..., tuple[int, dict[str, Any]]]:
    return status
