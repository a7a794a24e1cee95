"""A thin asynchronous client of the Kubernetes API: paths in, JSON or bytes out.

The kubernetes package (`kubernetes.aio`) does configuration, authentication, TLS and transport; its generated models
are not used, which keeps memory low and lets every kind be read alike. Nothing is repeated here except once after a
401, with the token read again: retries are the caller's, who knows whether a repeat is safe.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypedDict, Unpack

import aiohttp
from kubernetes.aio.client import api_client

import kubewhy
from kubewhy import errors
from kubewhy.adapters.kube import config, credentials, discovery, failures

REPLY_BYTES = 16 * 1024 * 1024
"""Most bytes of one reply that are read; a longer one is `ApiTooLarge`."""

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
"""`accept` for the server's Table form of an object or list."""

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_ERROR_BYTES = 64 * 1024
_CONNECT_SECONDS = 10.0
_SERVICE_ACCOUNT = "system:serviceaccount:"
_UNAUTHORIZED = 401
_FIRST_FAILURE = 300
_TRANSPORT_ERRORS = (aiohttp.ClientError, OSError, ssl.SSLError, ValueError)

Query = Mapping[str, str | int | bool]


class RequestOptions(TypedDict, total=False):
    """What a request may carry besides method and path.

    `timeout_seconds` (30) bounds all of one attempt, the body's reading included. `limit_bytes` (16 MiB) bounds the
    reply. `impersonate` is the full user name of the service account to act as, "" for the client's own identity.
    """

    query: Query | None
    body: object
    content_type: str
    accept: str
    timeout_seconds: float
    limit_bytes: int
    impersonate: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    asked: failures.Request
    query: Query
    headers: Mapping[str, str]
    body: object
    limits: aiohttp.ClientTimeout


class KubeClient:
    """Sends requests to one API server; made by `connect`, ended by `close`."""

    def __init__(self, access: credentials.Credentials) -> None:
        self._credentials = access
        self._api = api_client.ApiClient(configuration=access.configuration)
        self._api.user_agent = f"kubewhy/{kubewhy.__version__}"
        self.discovery = discovery.Discovery(self)

    @property
    def server(self) -> str:
        """The API server's address."""
        return str(self._credentials.configuration.host)

    @property
    def ca_file(self) -> str:
        """The CA bundle that the API server's certificate is checked with; "" means the system's."""
        return str(self._credentials.configuration.ssl_ca_cert or "")

    async def close(self) -> None:
        """End all connections."""
        await self._api.close()  # type: ignore[no-untyped-call]

    async def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Any:
        """One request, its reply as parsed JSON; see `RequestOptions`.

        A write that gets no answer may have been carried out: the error's `reason` is then "NoAnswer".

        Raises:
            errors.ApiError: the subclass that says what to do; `status` is 0 where no answer came.
        """
        data = await self.fetch(method, path, **options)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise errors.ApiUnavailable(
                failures.bounded(f"{method} {path}: the reply is no JSON ({type(error).__name__})"),
                reason=failures.NO_ANSWER,
            ) from error

    async def fetch(self, method: str, path: str, **options: Unpack[RequestOptions]) -> bytes:
        """As `request`, but the reply's bytes as they came (after decompression)."""
        asked = failures.Request(method, path)
        headers = _headers(
            accept=options.get("accept", "application/json"),
            content_type=options.get("content_type", "application/json"),
            impersonate=options.get("impersonate", ""),
        )
        limits = aiohttp.ClientTimeout(
            total=options.get("timeout_seconds", 30.0), sock_connect=_CONNECT_SECONDS
        )
        call = _Call(asked, options.get("query") or {}, headers, options.get("body"), limits)
        async with self._reply(call) as reply:
            return await _read(reply, asked, options.get("limit_bytes", REPLY_BYTES))

    async def stream(
        self,
        path: str,
        *,
        query: Query | None = None,
        idle_seconds: float = 30.0,
        impersonate: str = "",
    ) -> AsyncIterator[bytes]:
        """GET a reply as chunks of at most 256 KiB; closing the iterator ends the request.

        Raises:
            errors.ApiError: as `request`; `ApiUnavailable` when no byte comes for `idle_seconds`.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=idle_seconds
        )
        asked = failures.Request("GET", path)
        headers = _headers(accept="*/*", content_type="", impersonate=impersonate)
        async with self._reply(_Call(asked, query or {}, headers, None, limits)) as reply:
            try:
                async for chunk in reply.content.iter_any():
                    yield chunk
            except _TRANSPORT_ERRORS as error:
                raise failures.unreachable(asked, error, sent=True) from error

    @contextlib.asynccontextmanager
    async def _reply(self, call: _Call) -> AsyncIterator[aiohttp.ClientResponse]:
        """The reply once its status is good; the connection is given back or, if unread, closed."""
        reply = await self._send(call)
        try:
            if reply.status == _UNAUTHORIZED:
                reply.close()
                await self._credentials.reload()
                reply = await self._send(call)
            if reply.status >= _FIRST_FAILURE:
                raise await _failure(reply, call.asked)
            yield reply
        finally:
            if reply.content.at_eof():
                reply.release()
            else:
                reply.close()

    async def _send(self, call: _Call) -> aiohttp.ClientResponse:
        serialized = await self._api.param_serialize(
            call.asked.method,
            call.asked.path,
            query_params=dict(call.query),
            header_params=dict(call.headers),
            body=call.body,
            auth_settings=["BearerToken"],
        )
        try:
            reply = await self._api.call_api(*serialized, _request_timeout=call.limits)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise failures.unreachable(call.asked, error, sent=False) from error
        except _TRANSPORT_ERRORS as error:
            raise failures.unreachable(call.asked, error, sent=True) from error
        response: aiohttp.ClientResponse = reply.response
        return response


async def connect(access: config.Access) -> KubeClient:
    """Read the credentials; no request is sent yet.

    Raises:
        errors.ConfigError: the credentials can't be read.
    """
    loaded = await credentials.load(access)
    try:
        return KubeClient(loaded)
    except (OSError, ValueError) as error:  # unreadable CA or client certificate
        raise errors.ConfigError(f"the TLS files of {access} can't be used: {error}") from error


def service_account(namespace: str, name: str) -> str:
    """The full user name of a service account, as `impersonate` wants it."""
    return f"{_SERVICE_ACCOUNT}{namespace}:{name}"


def closing(stream: AsyncIterator[bytes]) -> contextlib.AbstractAsyncContextManager[Any]:
    """End the stream's request when the block ends, also where the stream was not read to its end."""
    generator: Any = stream
    return contextlib.aclosing(generator)


def _headers(*, accept: str, content_type: str, impersonate: str) -> dict[str, str]:
    headers = {"Accept": accept}
    if content_type:
        headers["Content-Type"] = content_type
    if impersonate:
        if not impersonate.startswith(_SERVICE_ACCOUNT):
            raise ValueError(f"only service accounts are impersonated, not {impersonate[:80]!r}")
        headers["Impersonate-User"] = impersonate
    return headers


async def _read(reply: aiohttp.ClientResponse, asked: failures.Request, limit_bytes: int) -> bytes:
    parts = bytearray()
    try:
        async for chunk in reply.content.iter_any():
            parts += chunk
            if len(parts) > limit_bytes:
                raise failures.too_large(asked, limit_bytes)
    except _TRANSPORT_ERRORS as error:
        raise failures.unreachable(asked, error, sent=True) from error
    return bytes(parts)


async def _failure(reply: aiohttp.ClientResponse, asked: failures.Request) -> errors.ApiError:
    body = b""
    with contextlib.suppress(*_TRANSPORT_ERRORS):
        body = await reply.content.read(_ERROR_BYTES)
    return failures.from_reply(
        asked,
        status=reply.status,
        headers=reply.headers,
        body=body,
        now=datetime.datetime.now(datetime.UTC),
    )
