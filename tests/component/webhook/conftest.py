"""A real webhook on loopback with a store in memory.

Goes in: HTTP requests. Observed: answers, what the store holds, metrics and log. Only the API server is replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from fake_alert_store import FakeAlertStore
from kubewhy.adapters.kube import config
from kubewhy.app import webhook
from kubewhy.core.alerting import alert_plan

TOKEN = "CANARY-token-1"
START = "https://api.invalid"


class Running:
    """One started webhook, its store, and a client with the right token."""

    def __init__(self, server: webhook.Webhook, store: FakeAlertStore, client: httpx.AsyncClient):
        self.server = server
        self.store = store
        self.client = client

    async def post(self, content: bytes, **headers: str) -> httpx.Response:
        """POST a body as Alertmanager does; headers with `_` for `-`, "" leaves one out."""
        sent = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in sent.items() if value}
        return await self.client.post("/webhooks/alertmanager", content=content, headers=sent)

    async def metrics(self) -> str:
        """The exposition."""
        answer = await self.client.get(f"http://127.0.0.1:{self.server.metrics_port}/metrics")
        return answer.text

    async def eventually(self, holds: Callable[[], object], *, seconds: float = 5.0) -> None:
        """Wait until it holds."""
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - what holds is outside the loop's reach
                await asyncio.sleep(0.01)

    def sample(self, name: str, **labels: str) -> float:
        """One value of the webhook's own metrics."""
        value = self.server.metrics.registry.get_sample_value(f"kubewhy_webhook_{name}", labels)
        return value or 0.0


Start = Callable[..., contextlib.AbstractAsyncContextManager[Running]]


def settings(**changes: Any) -> webhook.Settings:
    """Settings for loopback and free ports; `limits` is a dict of changed limits."""
    limits = webhook.Limits(**({"shutdown_seconds": 2.0} | changes.pop("limits", {})))
    defaults: dict[str, Any] = {
        "access": config.Explicit(server=START),
        "policy": alert_plan.Policy(fallback_namespace="alerts", cluster="test"),
        "address": "127.0.0.1",
        "port": 0,
        "health_port": 0,
        "metrics_port": 0,
        "tokens": (TOKEN,),
    }
    return webhook.Settings(limits=limits, **(defaults | changes))


@contextlib.asynccontextmanager
async def started(store: FakeAlertStore | None = None, **changes: Any) -> AsyncIterator[Running]:
    """A running webhook; keywords change its settings."""
    kept = store or FakeAlertStore()
    server = webhook.Webhook(settings(**changes), kept)
    await server.start()
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{server.port}", timeout=20
        ) as client:
            yield Running(server, kept, client)
    finally:
        await server.stop()


@pytest.fixture
def start() -> Start:
    """Starts webhooks with changed settings."""
    return started


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    """A webhook with the usual settings."""
    async with started() as one:
        yield one
