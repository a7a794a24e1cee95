"""Probes and metrics, on ports of their own: they must answer whatever the webhook's port goes through."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from kubewhy import errors
from kubewhy.app.webhook import metrics
from kubewhy.core.alerting import alert_store

CHECK_SECONDS = 4.0
"""Longest time of one check of the API server; the kubelet waits 5 s for the probe."""

GOOD_FOR = 5.0
BAD_FOR = 1.0
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Readiness:
    """Ready means: an Investigation could be created now. The result is kept for some seconds."""

    def __init__(
        self,
        store: alert_store.InvestigationStore,
        namespace: str,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._problem = ""
        self._until = float("-inf")
        self.stopping = False

    async def problem(self) -> str:
        """Why the webhook is not ready, "" if it is."""
        if self.stopping:
            return "the webhook is stopping"
        async with self._lock:
            if self._monotonic() >= self._until:
                self._problem = await self._check()
                self._until = self._monotonic() + (BAD_FOR if self._problem else GOOD_FOR)
            return self._problem

    async def _check(self) -> str:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._store.check(self._namespace)
        except TimeoutError:
            return f"the API server did not answer within {CHECK_SECONDS:.0f} s"
        except errors.ApiError as error:
            return f"Investigations can't be created: {error}"
        return ""


def probes(readiness: Readiness) -> web.Application:
    """GET /healthz and /readyz."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        problem = await readiness.problem()
        return web.Response(text=f"{problem or 'ok'}\n", status=503 if problem else 200)

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app


def exposition(measured: metrics.Metrics) -> web.Application:
    """GET /metrics."""

    async def text(_: web.Request) -> web.Response:
        return web.Response(body=measured.text(), headers={"Content-Type": _METRICS_TYPE})

    app = web.Application()
    app.router.add_get("/metrics", text)
    return app
