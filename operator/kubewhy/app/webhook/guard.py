"""Bounds what connections can take before a request is complete: aiohttp has neither a header timeout nor a cap.

Every connection gets `header_seconds` for each request's header, from its first byte (of the first request: from the
connection's beginning). At the cap, the connection that has waited longest for its header is closed for the new one,
so slow clients crowd out each other and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from kubewhy.app.webhook import metrics

Factory = Callable[[], asyncio.Protocol]


class Guard:
    """All connections of one listening server."""

    def __init__(
        self, *, connections: int, header_seconds: float, measured: metrics.Metrics
    ) -> None:
        self._limit = connections
        self.header_seconds = header_seconds
        self._measured = measured
        self._open: dict[object, Connection] = {}
        self._waiting: dict[Connection, None] = {}

    def wrap(self, factory: Factory) -> Factory:
        """A protocol factory whose connections are guarded."""
        return lambda: Connection(factory(), self)

    def request_begins(self, inner: object) -> None:
        """A request's header is complete; `inner` is the protocol that the wrapped factory made."""
        if inner in self._open:
            self._open[inner].begin()

    def request_ends(self, inner: object) -> None:
        """The request was answered; the connection is idle until its next byte."""
        if inner in self._open:
            self._open[inner].end()

    def admit(self, inner: object, connection: Connection) -> bool:
        """Take a new connection in; False: there is no room, not even by closing a slow one."""
        if len(self._open) >= self._limit and not self._evict():
            self._measured.closed.labels(reason="Cap").inc()
            return False
        self._open[inner] = connection
        self._measured.connections.set(len(self._open))
        return True

    def forget(self, inner: object, connection: Connection) -> None:
        """The connection is gone."""
        self._waiting.pop(connection, None)
        self._open.pop(inner, None)
        self._measured.connections.set(len(self._open))

    def waits(self, connection: Connection, *, waiting: bool) -> None:
        """Whether the connection has begun a header and not completed it; the longest waiting come first."""
        self._waiting.pop(connection, None)
        if waiting:
            self._waiting[connection] = None

    def too_slow(self, connection: Connection) -> None:
        """The header took too long."""
        self._measured.closed.labels(reason="SlowHeader").inc()
        connection.abort()

    def _evict(self) -> bool:
        if not self._waiting:
            return False
        self._measured.closed.labels(reason="Evicted").inc()
        next(iter(self._waiting)).abort()
        return True


class Connection(asyncio.Protocol):
    """One connection: passes everything on to the HTTP protocol inside and watches the time."""

    def __init__(self, inner: asyncio.Protocol, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._busy = False
        self._admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._admitted = self._guard.admit(self._inner, self)
        if not self._admitted:
            self._transport.abort()
            return
        self._arm()
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self._admitted:
            return
        if not self._busy and self._deadline is None:
            self._arm()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._admitted else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._admitted:
            self._guard.forget(self._inner, self)
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def begin(self) -> None:
        """A request is complete enough to be answered."""
        self._busy = True
        self._disarm()

    def end(self) -> None:
        """It was answered."""
        self._busy = False

    def abort(self) -> None:
        """Close at once, without flushing."""
        self._guard.forget(self._inner, self)
        if self._transport is not None:
            self._transport.abort()

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._guard.header_seconds, self._guard.too_slow, self)
        self._guard.waits(self, waiting=True)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._guard.waits(self, waiting=False)
