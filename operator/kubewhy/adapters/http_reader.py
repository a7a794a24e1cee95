"""HTTP GET for tools, with aiohttp: bounded time and size, no redirects, no cookies, no proxies unless asked for."""

from __future__ import annotations

import ssl
import urllib.parse
from collections.abc import Mapping

import aiohttp

from kubewhy import errors
from kubewhy.core import ports, tools

CONNECTIONS = 32
"""Connections open at once, over all hosts."""

_CHUNK = 64 * 1024
_HEADER = 16 * 1024


class HttpReader:
    """See `ports.HttpReader`. One session for all requests, opened by the first one; `close` ends it."""

    def __init__(self, *, use_proxies: bool = False, tls: ssl.SSLContext | None = None) -> None:
        """Read without proxies unless `use_proxies`, which takes them from the environment."""
        self._use_proxies = use_proxies
        self._tls: ssl.SSLContext | bool = tls or True
        self._session: aiohttp.ClientSession | None = None

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 20.0,
        limit_bytes: int = 8 * 1024 * 1024,
    ) -> ports.HttpReply:
        """See `ports.HttpReader.get`."""
        place = _place(url)
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        try:
            async with self._opened().get(
                url, params=params, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                body, truncated = await _read(response, limit_bytes)
        except TimeoutError as error:
            raise errors.ToolFailure(
                tools.ToolStatus.TIMED_OUT, f"{place} gave no answer within {timeout_seconds:g} s"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise errors.ToolFailure(
                tools.ToolStatus.ERROR, f"{place} can't be read: {_cause(error)}"
            ) from error
        return ports.HttpReply(
            status=response.status,
            headers={name.lower(): value for name, value in response.headers.items()},
            body=body,
            truncated=truncated,
        )

    async def close(self) -> None:
        """End the session and its connections; a later request opens a new one."""
        session, self._session = self._session, None
        if session:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=self._use_proxies,
                # A compressed body would be measured only after it has grown.
                headers={"Accept-Encoding": "identity", "User-Agent": "kubewhy"},
                max_line_size=_HEADER,
                max_field_size=_HEADER,
            )
        return self._session


async def _read(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > limit:
            response.close()
            return bytes(body[:limit]), True
    return bytes(body), False


def _place(url: str) -> str:
    """Host and port: all that an error may show, since the rest can hold credentials."""
    try:
        parsed = urllib.parse.urlsplit(url)
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host, port = None, None
    if not host or not url.startswith(("http://", "https://")):
        raise errors.ToolFailure(
            tools.ToolStatus.ERROR, "the address is no http:// or https:// address with a host"
        )
    return f"{host}:{port}" if port else host


def _cause(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {error.os_error.strerror or error.os_error}"
    return str(error) or type(error).__name__
