"""A real Alertmanager sends to the webhook: the form of its messages, its fingerprints, its reaction to our codes."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from alert_messages import LABELS
from fake_alert_store import unavailable
from kubewhy.core.alerting import alert_names

PROGRAM = "prometheus-alertmanager"
ANNOTATIONS = {"summary": "Pod is crash looping.", "description": "ünïcode\nand \u202elines"}

pytestmark = pytest.mark.skipif(
    shutil.which(PROGRAM) is None, reason=f"the Debian package {PROGRAM} is not installed"
)


class Alertmanager:
    """One running Alertmanager."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/api/v2/alerts"

    async def fire(
        self,
        labels: dict[str, str],
        *,
        starts: datetime.datetime,
        ends: datetime.datetime | None = None,
    ) -> None:
        """Report an alert as Prometheus does; with an end it is resolved."""
        alert: dict[str, Any] = {"labels": labels, "annotations": ANNOTATIONS}
        alert["startsAt"] = starts.isoformat()
        if ends is not None:
            alert["endsAt"] = ends.isoformat()
        async with httpx.AsyncClient(trust_env=False) as client:
            (await client.post(self.url, json=[alert])).raise_for_status()

    async def shown(self) -> list[dict[str, Any]]:
        """What it shows of its alerts."""
        async with httpx.AsyncClient(trust_env=False) as client:
            found: list[dict[str, Any]] = (await client.get(self.url)).json()
            return found


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def alertmanager(
    folder: Path, *, webhook_port: int, token: str
) -> AsyncIterator[Alertmanager]:
    """An Alertmanager that sends everything at once to the webhook."""
    (folder / "token").write_text(token + "\n")
    route = {
        "receiver": "kubewhy",
        "group_by": ["namespace"],
        "group_wait": "0s",
        "group_interval": "1s",
    }
    receiver = {
        "url": f"http://127.0.0.1:{webhook_port}/webhooks/alertmanager",
        "http_config": {"authorization": {"credentials_file": str(folder / "token")}},
    }
    config = {"route": route, "receivers": [{"name": "kubewhy", "webhook_configs": [receiver]}]}
    (folder / "config.yml").write_text(json.dumps(config))
    port = free_port()
    with (folder / "log").open("wb") as log:
        program = await asyncio.create_subprocess_exec(
            PROGRAM, f"--config.file={folder / 'config.yml'}", f"--storage.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        await _ready(port)
        yield Alertmanager(port)
    finally:
        program.terminate()
        await program.wait()


async def _ready(port: int) -> None:
    async with asyncio.timeout(30), httpx.AsyncClient(trust_env=False) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"http://127.0.0.1:{port}/-/ready")).is_success:
                    return
            await asyncio.sleep(0.1)


@pytest.fixture
async def source(running: Any, tmp_path: Path) -> AsyncIterator[Alertmanager]:
    """An Alertmanager that sends to `running`, with the token in a file that ends with a line end."""
    token = "CANARY-token-1"
    async with alertmanager(tmp_path, webhook_port=running.server.port, token=token) as found:
        yield found


def stored(running: Any) -> Callable[[], bool]:
    return lambda: bool(running.store.objects)


@pytest.mark.parametrize("moved", [0, 300])
async def test_an_alert_fires_and_resolves(running: Any, source: Alertmanager, moved: int) -> None:
    """Also where another Prometheus reports an earlier start, which Alertmanager then keeps."""
    starts = now()
    await source.fire(LABELS, starts=starts)
    await running.eventually(stored(running), seconds=20)
    ((namespace, _), manifest) = next(iter(running.store.objects.items()))
    kept = manifest["spec"]["alerts"][0]
    (shown,) = await source.shown()
    assert namespace == "shop"
    assert kept["labels"] == LABELS
    assert kept["annotations"]["description"] == "ünïcode\nand lines"
    assert kept["fingerprint"] == shown["fingerprint"] == alert_names.fingerprint(LABELS)
    assert kept["startsAt"][:19] == shown["startsAt"][:19]
    assert running.sample("unknown_versions_total") == 0

    earlier = starts - datetime.timedelta(seconds=moved)
    await source.fire(LABELS, starts=earlier, ends=now())
    await running.eventually(lambda: running.store.resolved, seconds=20)
    assert list(running.store.resolved) == list(running.store.objects)


async def test_what_could_not_be_stored_is_sent_again_soon(
    running: Any, source: Alertmanager
) -> None:
    running.store.judge = unavailable
    await source.fire(LABELS, starts=now())
    await running.eventually(lambda: running.sample("requests_total", code="503") >= 2, seconds=20)
    running.store.judge = lambda *_: None
    await running.eventually(stored(running), seconds=20)
    assert len(running.store.objects) == 1


async def test_labels_of_every_kind_give_alertmanagers_own_fingerprint(
    running: Any, source: Alertmanager
) -> None:
    for labels in ({"alertname": "ü" * 300, "namespace": "shop", "_x": '\n\t\\"'}, {"a": "b"}):
        await source.fire(labels, starts=now())
    await running.eventually(lambda: len(running.store.objects) == 2, seconds=20)
    for alert in await source.shown():
        assert alert["fingerprint"] == alert_names.fingerprint(alert["labels"])
