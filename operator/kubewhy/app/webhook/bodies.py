"""Reads request bodies under a deadline, a limit of their own and a limit of all together."""

from __future__ import annotations

import asyncio

from aiohttp import web

_READ_BYTES = 64 * 1024


class BodyTooLarge(Exception):
    """The body is over its limit."""


class BodyTooSlow(Exception):
    """The body was not complete in time."""


class NoRoom(Exception):
    """The bodies of all requests together are over the limit: try again later."""


class Bodies:
    """Accounts for what is buffered. Slow senders hold few bytes, so they keep nobody out."""

    def __init__(self, *, body_bytes: int, buffered_bytes: int, body_seconds: float) -> None:
        self._body_bytes = body_bytes
        self._buffered_bytes = buffered_bytes
        self._body_seconds = body_seconds
        self._buffered = 0

    async def read(self, request: web.Request) -> bytes:
        """The whole body; `release` its length when it is no longer needed.

        Raises:
            BodyTooLarge, BodyTooSlow, NoRoom: as they say; nothing is left accounted for.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                while chunk := await request.content.read(_READ_BYTES):
                    self._take(len(body), len(chunk))
                    body += chunk
        except TimeoutError:
            self.release(len(body))
            raise BodyTooSlow(
                f"the body was not complete within {self._body_seconds:.0f} s"
            ) from None
        except BaseException:
            self.release(len(body))
            raise
        return bytes(body)

    def release(self, size: int) -> None:
        """Give the room of a body back."""
        self._buffered -= size

    def _take(self, have: int, more: int) -> None:
        if have + more > self._body_bytes:
            raise BodyTooLarge
        if self._buffered + more > self._buffered_bytes:
            raise NoRoom("too many messages at a time")
        self._buffered += more
