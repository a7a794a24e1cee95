import asyncio
import contextlib
import time
from typing import Any

import pytest

from alert_messages import alert, body

HEAD = (
    b"POST /webhooks/alertmanager HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Authorization: Bearer CANARY-token-1\r\nContent-Length: 1000\r\n\r\n"
)
SLOW = 1000


async def end_of(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the connection ends, in whatever way."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(4096):
            received += data
    return received


class Dripper:
    """A client that sends one byte per interval and notes when it was cut off."""

    def __init__(self, port: int, data: bytes, *, interval: float = 1.0) -> None:
        self._port = port
        self._data = data
        self._interval = interval
        self.connected = asyncio.Event()
        self.seconds = 0.0

    async def run(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        began = time.monotonic()
        drip = asyncio.create_task(self._drip(writer))
        self.connected.set()
        try:
            await end_of(reader)
            self.seconds = time.monotonic() - began
        finally:
            drip.cancel()
            writer.transport.abort()

    async def _drip(self, writer: asyncio.StreamWriter) -> None:
        for index in range(len(self._data)):
            writer.write(self._data[index : index + 1])
            await asyncio.sleep(self._interval)


@pytest.mark.parametrize("phase", ["header", "body"])
async def test_a_thousand_slow_senders_keep_nobody_out_and_are_closed(
    start: Any, phase: str
) -> None:
    """Fault test 80, with a shorter timeout."""
    limits = {"header_seconds": 4.0, "body_seconds": 4.0}
    async with start(limits=limits) as running:
        slow = [Dripper(running.server.port, HEAD + b"[" * 100) for _ in range(SLOW)]
        if phase == "body":
            slow = [BodyDripper(running.server.port, b"[" * 100) for _ in range(SLOW)]
        tasks = [asyncio.create_task(client.run()) for client in slow]
        await asyncio.gather(*(client.connected.wait() for client in slow))
        for _ in range(3):
            began = time.monotonic()
            answer = await running.post(body(alert()))
            assert answer.status_code == 200
            assert time.monotonic() - began < 2
        async with asyncio.timeout(20):
            await asyncio.gather(*tasks)
        assert all(2 < client.seconds < 10 for client in slow)
        reason = running.sample("connections_closed_total", reason="SlowHeader")
        late = running.sample("requests_total", code="503")
        assert (reason, late) == ((SLOW, 0) if phase == "header" else (0, SLOW))


class BodyDripper(Dripper):
    """Sends the header at once and then drips the body."""

    async def _drip(self, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await super()._drip(writer)


async def test_at_the_cap_the_longest_waiting_connection_makes_room(start: Any) -> None:
    async with start(limits={"connections": 3, "header_seconds": 30.0}) as running:
        slow = [Dripper(running.server.port, HEAD, interval=0.2) for _ in range(3)]
        tasks = []
        for client in slow:
            tasks.append(asyncio.create_task(client.run()))
            await client.connected.wait()
        await running.eventually(lambda: running.sample("connections") == 3)
        answer = await running.post(body(alert()))
        assert answer.status_code == 200
        assert running.sample("connections_closed_total", reason="Evicted") == 1
        async with asyncio.timeout(5):
            await tasks[0]
        assert not tasks[1].done()
        assert not tasks[2].done()
        for task in tasks[1:]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_at_the_cap_open_requests_are_never_closed(start: Any) -> None:
    async with start(limits={"connections": 2}) as running:
        running.store.released.clear()
        posts = [asyncio.create_task(running.post(body(alert()))) for _ in range(2)]
        await running.eventually(lambda: running.store.running == 2)
        reader, writer = await asyncio.open_connection("127.0.0.1", running.server.port)
        async with asyncio.timeout(5):
            assert await end_of(reader) == b""
        writer.close()
        assert running.sample("connections_closed_total", reason="Cap") == 1
        running.store.released.set()
        assert [answer.status_code for answer in await asyncio.gather(*posts)] == [200, 200]


async def test_a_connection_serves_many_requests_and_may_pause_between_them(start: Any) -> None:
    async with start(limits={"header_seconds": 0.5}) as running:
        for _ in range(3):
            assert (await running.post(body(alert()))).status_code == 200
            await asyncio.sleep(0.8)
        assert running.sample("connections") == 1
        assert running.sample("connections_closed_total", reason="SlowHeader") == 0


async def test_an_idle_connection_is_closed_after_the_keep_alive_time(start: Any) -> None:
    async with start(limits={"keepalive_seconds": 0.5}) as running:
        await running.post(body(alert()))
        await running.eventually(lambda: running.sample("connections") == 0)


async def test_a_slow_header_on_a_used_connection_is_cut_off_too(start: Any) -> None:
    async with start(limits={"header_seconds": 0.5}) as running:
        message = body(alert())
        reader, writer = await asyncio.open_connection("127.0.0.1", running.server.port)
        writer.write(HEAD.replace(b"1000", str(len(message)).encode()) + message)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        await asyncio.sleep(0.7)
        writer.write(b"POST /webhooks")
        async with asyncio.timeout(5):
            await end_of(reader)
        writer.close()
        assert running.sample("connections_closed_total", reason="SlowHeader") == 1
