import asyncio
import socket
from typing import Any

import httpx
import pytest

from alert_messages import alert, body
from fake_alert_store import FakeAlertStore, unavailable
from kubewhy import errors
from kubewhy.adapters.kube import config
from kubewhy.app import webhook
from kubewhy.app.webhook import health


async def probe(running: Any, path: str) -> httpx.Response:
    answer: httpx.Response = await running.client.get(
        f"http://127.0.0.1:{running.server.health_port}{path}"
    )
    return answer


async def test_ready_means_that_investigations_can_be_created(start: Any) -> None:
    async with start() as running:
        assert (await probe(running, "/readyz")).status_code == 200
        assert running.store.checked == ["alerts"]
        assert running.store.objects == {}


async def test_not_ready_says_why_and_stays_alive(start: Any) -> None:
    store = FakeAlertStore()
    store.judge = unavailable
    async with start(store) as running:
        answer = await probe(running, "/readyz")
        assert answer.status_code == 503
        assert "connection refused" in answer.text
        assert (await probe(running, "/healthz")).text == "ok\n"


async def test_readiness_is_asked_once_for_many_probes_and_again_later() -> None:
    now = 100.0
    store = FakeAlertStore()
    store.judge = unavailable
    readiness = health.Readiness(store, "alerts", monotonic=lambda: now)
    assert all(await asyncio.gather(*(readiness.problem() for _ in range(10))))
    assert len(store.checked) == 1
    store.judge = lambda *_: None
    now += health.BAD_FOR
    assert await readiness.problem() == ""
    now += health.GOOD_FOR - 0.1
    assert await readiness.problem() == ""
    assert len(store.checked) == 2


async def test_an_api_server_that_hangs_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.05)
    store = FakeAlertStore()
    store.seconds = 60
    assert "did not answer" in await health.Readiness(store, "alerts").problem()


async def test_probes_metrics_and_webhook_have_ports_of_their_own(running: Any) -> None:
    ports = {running.server.port, running.server.health_port, running.server.metrics_port}
    assert len(ports) == 3
    for port, path in (
        (running.server.health_port, "/metrics"),
        (running.server.metrics_port, "/healthz"),
        (running.server.health_port, "/webhooks/alertmanager"),
    ):
        answer = await running.client.get(f"http://127.0.0.1:{port}{path}")
        assert answer.status_code == 404


async def test_metrics_have_bounded_labels(running: Any) -> None:
    await running.post(body(alert(labels={"alertname": "CANARY-name", "namespace": "CANARY"})))
    text = await running.metrics()
    assert 'kubewhy_webhook_alerts_total{outcome="Created",reason=""} 1.0' in text
    assert 'kubewhy_webhook_requests_total{code="200"} 1.0' in text
    assert "kubewhy_webhook_request_seconds_bucket" in text
    assert "process_resident_memory_bytes" in text
    assert "CANARY" not in text


async def test_servers_can_be_left_out(start: Any) -> None:
    async with start(health_port=None, metrics_port=None) as running:
        assert (running.server.health_port, running.server.metrics_port) == (0, 0)
        assert (await running.post(body(alert()))).status_code == 200


async def test_stopping_lets_open_requests_end_and_takes_no_new_ones(start: Any) -> None:
    async with start(limits={"shutdown_seconds": 10.0}) as running:
        running.store.released.clear()
        post = asyncio.create_task(running.post(body(alert())))
        await running.eventually(lambda: running.store.running)
        stop = asyncio.create_task(running.server.stop())
        await asyncio.sleep(0.1)
        assert not stop.done()
        with pytest.raises(OSError, match="Connect"):
            await asyncio.open_connection("127.0.0.1", running.server.port)
        assert "stopping" in (await probe(running, "/readyz")).text
        running.store.released.set()
        assert (await post).status_code == 200
        async with asyncio.timeout(5):
            await stop
        assert len(running.store.objects) == 1


async def test_stopping_does_not_wait_for_ever(start: Any) -> None:
    async with start(limits={"shutdown_seconds": 0.2}) as running:
        running.store.released.clear()
        post = asyncio.create_task(running.post(body(alert())))
        await running.eventually(lambda: running.store.running)
        async with asyncio.timeout(5):
            await running.server.stop()
        with pytest.raises(httpx.TransportError):
            await post


async def test_a_port_that_is_taken_refuses_the_start(start: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(errors.ConfigError, match="can't listen"):
            await start(health_port=port).__aenter__()


def test_a_port_out_of_range_refuses_the_start() -> None:
    with pytest.raises(errors.ConfigError, match="70000"):
        webhook.Settings(
            access=config.Explicit(server="https://api.invalid"), tokens=("x",), port=70_000
        )


async def test_serve_runs_until_it_is_told_to_stop() -> None:
    stop, ports = asyncio.Event(), list[int]()
    wanted = webhook.Settings(
        access=config.Explicit(server="https://127.0.0.1:1"),
        address="127.0.0.1",
        port=0,
        health_port=None,
        metrics_port=None,
        tokens=("x",),
    )
    serving = asyncio.create_task(
        webhook.serve(wanted, stop=stop, started=lambda server: ports.append(server.port))
    )
    async with asyncio.timeout(10):
        while not ports:  # noqa: ASYNC110 - the callback is the only sign
            await asyncio.sleep(0.01)
        async with httpx.AsyncClient() as client:
            answer = await client.post(
                f"http://127.0.0.1:{ports[0]}/webhooks/alertmanager",
                content=body(alert()),
                headers={"authorization": "Bearer x", "content-type": "application/json"},
            )
        assert answer.status_code == 503  # nothing listens where the API server should be
        stop.set()
        await serving
