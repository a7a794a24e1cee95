"""A TCP relay that can refuse connections, or lose what is answered: an API server that goes away, on loopback.

TLS and tokens pass through untouched, so everything behind it stays real.
"""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Self


class TcpGate:
    """Relays to `host:port` while `open`; with `mute`, answers are dropped instead of passed back."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.open = True
        self.mute = False
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Break every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        if not self.open:
            writer.transport.abort()
            return
        back_reader, back_writer = await asyncio.open_connection(*self._target)
        self._writers.add(back_writer)
        for relay in (
            self._relay(reader, back_writer, False),
            self._relay(back_reader, writer, True),
        ):
            task = asyncio.create_task(relay)
            self._tasks.add(task)

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, backwards: bool
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if backwards and self.mute:
                    self.cut()
                    return
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
