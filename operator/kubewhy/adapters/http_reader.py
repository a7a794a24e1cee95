"""HTTP GET with aiohttp, bounded in time and size: implements `core.ports.HttpReader`.

Redirects are not followed, so that headers go to no other host than the one asked. Proxies of the environment are not
used unless asked for, and cookies are not kept. Bodies are asked for uncompressed, so that the size limit is one of
memory too.
"""

from __future__ import annotations

import ssl
import urllib.parse
from collections.abc import Mapping
from typing import Final

import aiohttp

import kubewhy
from kubewhy import errors
from kubewhy.core import ports, untrusted

CONNECTIONS: Final = 32
"""Most connections at once; further requests wait within their time limit."""

_CHUNK: Final = 64 * 1024
_PLAIN: Final = ("", "identity")


class HttpReader:
    """See `core.ports.HttpReader`. Used within one event loop; `close` ends its connections."""

    def __init__(self, *, use_proxies: bool = False, tls: ssl.SSLContext | None = None) -> None:
        """Read without proxies unless `use_proxies`, which takes them from the environment.

        Certificates are always checked; `tls` is for those of a private authority.
        """
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
        """See `core.ports.HttpReader.get`; a longer body is cut and the connection is given up."""
        host = _host(url)
        try:
            async with self._opened().get(
                url,
                params=params,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=timeout_seconds),
                allow_redirects=False,
            ) as response:
                return await _reply(response, host, limit_bytes)
        except TimeoutError:
            text = f"{host} gave no complete answer within {timeout_seconds:g} s"
            raise errors.ToolFailure("TimedOut", text) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise errors.ToolFailure("Error", f"{host} can't be read: {_cause(error)}") from None

    async def close(self) -> None:
        """End all connections; a later `get` opens new ones."""
        session, self._session = self._session, None
        if session:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        # Made at the first use, because a session belongs to the loop it was made in.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={
                    "Accept-Encoding": "identity",
                    "User-Agent": f"kubewhy/{kubewhy.__version__}",
                },
                auto_decompress=False,
                trust_env=self._use_proxies,
            )
        return self._session


def _host(url: str) -> str:
    """Host and port, for messages: the rest of an address may hold credentials.

    Raises:
        errors.ToolFailure: it is no http or https address.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            port = f":{parts.port}" if parts.port else ""
            return f"{parts.scheme}://{parts.hostname}{port}"
    except ValueError:
        pass
    raise errors.ToolFailure("Error", "the address is no http or https URL with a host")


async def _reply(response: aiohttp.ClientResponse, host: str, limit_bytes: int) -> ports.HttpReply:
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _PLAIN:
        text = f"{host} answered in the encoding {encoding[:40]!r}, which was not asked for"
        raise errors.ToolFailure("Error", text)
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > limit_bytes:
            response.close()
            break
    return ports.HttpReply(
        status=response.status,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=bytes(body[:limit_bytes]),
        truncated=len(body) > limit_bytes,
    )


def _cause(error: Exception) -> str:
    if isinstance(error, aiohttp.InvalidURL):
        return "its address is no valid URL"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"[:300]
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.strerror:
        return untrusted.clean_line(f"no connection: {error.os_error.strerror}")[:300]
    return untrusted.clean_line(str(error))[:300] or type(error).__name__
