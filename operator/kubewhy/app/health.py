"""Serves /healthz, /readyz and /metrics.

Alive means: the watch runs, the last LIST is recent, and the event loop keeps up (kopf.md §4). Ready means: the watch
has started and the API server answered the first LIST.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import prometheus_client
from aiohttp import web

from kubewhy.app import settings

LAG_SECONDS = 5.0
"""A loop that wakes up later than this is not alive."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[], str]
"""Says what is wrong; "" when nothing is."""


async def serve(
    *,
    health: str,
    metrics: str,
    alive: Check,
    ready: Check,
    registry: prometheus_client.CollectorRegistry,
) -> list[web.AppRunner]:
    """Start both servers; the runners end with `cleanup`."""
    probes = web.Application()
    probes.router.add_get("/healthz", _answering(alive))
    probes.router.add_get("/readyz", _answering(ready))
    numbers = web.Application()
    numbers.router.add_get("/metrics", _metrics(registry))
    return [await _start(probes, health), await _start(numbers, metrics)]


async def watch_lag(gauge: prometheus_client.Gauge, on_lag: Callable[[float], None]) -> None:
    """Measure for ever how late the loop wakes up, once a second."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + 1.0
        await asyncio.sleep(1.0)
        late = max(0.0, loop.time() - due)
        gauge.set(late)
        on_lag(late)


async def _start(app: web.Application, where: str) -> web.AppRunner:
    host, port = settings.address(where)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner


def _answering(check: Check) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        problem = check()
        return web.Response(text=problem or "ok", status=503 if problem else 200)

    return answer


def _metrics(registry: prometheus_client.CollectorRegistry) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        body = prometheus_client.generate_latest(registry)
        return web.Response(
            body=body, headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST}
        )

    return answer
