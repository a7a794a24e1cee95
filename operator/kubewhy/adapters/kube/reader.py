"""Reads of one Investigation: `core.ports.KubeReader` under the Investigation's identity and within its bounds.

One reader serves one run. It counts what it sends and receives, so a tool can keep to a budget, and it repeats a read
that the API server could not serve at that moment: reads are safe to repeat.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from kubewhy import errors
from kubewhy.adapters.kube import bounds, client, paths
from kubewhy.core import ports

PAGE_LIMIT = 500
"""Most objects of one page."""

LOG_IDLE_SECONDS = 15.0
"""A log that sends no byte for so long is given up: nothing is followed, so nothing has to be waited for."""

LOG_REMOVED = "LogRemoved"
"""`reason` of ApiInvalid: the kubelet knows the container but its log is gone."""

_REMOVED = re.compile(
    rb"unable to retrieve container logs for [a-z-]+://[0-9a-f]+\s*"
    rb'|failed to try resolving symlinks in path "[^"\n]*": [^\n]*\s*'
)
"""All that the kubelet answers then, as the log's text and with status 200."""

_ATTEMPTS = 3
_PATIENCE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.2
_PASSING = frozenset({0, 429, 502, 503, 504})
_POD = ports.Resource(group="", version="v1", name="pods", kind="Pod", namespaced=True)


class KubeReader:
    """See `core.ports.KubeReader`.

    `account` is the full user name that is impersonated; `bounded` says that it is the shared reader's.
    """

    def __init__(
        self, api: client.KubeClient, *, namespace: str, account: str, bounded: bool
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._account = account
        self._bounded = bounded
        self.requests = 0
        self.received_bytes = 0

    @property
    def namespace(self) -> str:
        """The Investigation's namespace."""
        return self._namespace

    @property
    def account(self) -> str:
        """The user name under which the API server sees the reads."""
        return self._account

    async def resource(self, name: str) -> ports.Resource:
        """See the port."""
        return await self._api.discovery.find(name, impersonate=self._account)

    async def get(
        self, resource: ports.Resource, name: str, *, namespace: str = ""
    ) -> Mapping[str, Any]:
        """See the port."""
        path = self._path(resource, verb="get", namespace=namespace, name=name)
        return _mapping(await self._json(path, {}))

    async def list(
        self,
        resource: ports.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = PAGE_LIMIT,
        continue_token: str = "",
    ) -> ports.ObjectPage:
        """See the port; `namespace` "*" means all. The items carry apiVersion and kind."""
        path = self._path(resource, verb="list", namespace=namespace, field_selector=field_selector)
        query = _query(label_selector, field_selector, limit)
        if continue_token:
            query["continue"] = continue_token
        return _page(resource, _mapping(await self._json(path, query)))

    async def table(
        self,
        resource: ports.Resource,
        *,
        name: str = "",
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = PAGE_LIMIT,
    ) -> Mapping[str, Any]:
        """See the port; `namespace` "*" means all, and then each row's object tells its namespace."""
        path = self._path(
            resource,
            verb="get" if name else "list",
            namespace=namespace,
            name=name,
            field_selector=field_selector,
        )
        query = {} if name else _query(label_selector, field_selector, limit)
        everywhere = namespace == bounds.ALL_NAMESPACES
        query["includeObject"] = "Metadata" if everywhere else "None"
        return _mapping(await self._json(path, query, accept=client.TABLE))

    async def logs(  # noqa: PLR0913 - as the port has it
        self,
        pod: str,
        *,
        namespace: str = "",
        container: str = "",
        previous: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[bytes]:
        """See the port."""
        path = self._path(_POD, verb="get", namespace=namespace, name=pod, subresource="log")
        query: dict[str, str | int | bool] = {"previous": previous, "timestamps": timestamps}
        if container:
            query["container"] = container
        if tail_lines is not None:
            query["tailLines"] = tail_lines
        if since_seconds is not None:
            query["sinceSeconds"] = since_seconds
        self.requests += 1
        stream = self._api.stream(
            path, query=query, idle_seconds=LOG_IDLE_SECONDS, impersonate=self._account
        )
        first = True
        async with client.closing(stream):
            async for chunk in stream:
                self.received_bytes += len(chunk)
                if first and _REMOVED.fullmatch(chunk):
                    text = chunk.decode("ascii", "replace")
                    raise errors.ApiInvalid(f"GET {path}: {text}", reason=LOG_REMOVED)
                first = False
                yield chunk

    def _path(
        self,
        resource: ports.Resource,
        *,
        verb: str,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        field_selector: str = "",
    ) -> str:
        """The checked path; every read passes here, so none can miss the bounds."""
        where = (namespace or self._namespace) if resource.namespaced else ""
        read = bounds.Read(
            verb=verb, resource=resource, namespace=where, name=name, field_selector=field_selector
        )
        bounds.check(read, own=self._namespace, bounded=self._bounded)
        if where == bounds.ALL_NAMESPACES:
            if name:
                raise errors.ApiInvalid(
                    f"{resource.kind} {name!a} needs one namespace, not all of them"
                )
            where = ""
        return paths.of(resource, namespace=where, name=name, subresource=subresource)

    async def _json(
        self, path: str, query: client.Query, *, accept: str = "application/json"
    ) -> Any:
        data = await self._fetch(path, query, accept)
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise errors.ApiUnavailable(f"GET {path}: the reply is no JSON") from error

    async def _fetch(self, path: str, query: client.Query, accept: str) -> bytes:
        started = time.monotonic()
        pause = _FIRST_PAUSE_SECONDS
        for attempt in range(1, _ATTEMPTS + 1):
            self.requests += 1
            try:
                data = await self._api.fetch(
                    "GET", path, query=query, accept=accept, impersonate=self._account
                )
            except errors.ApiUnavailable as error:
                wait = error.retry_after or pause * random.uniform(0.5, 1.5)  # noqa: S311
                spent = time.monotonic() - started + wait
                if (
                    attempt == _ATTEMPTS
                    or spent > _PATIENCE_SECONDS
                    or error.status not in _PASSING
                ):
                    raise
                await asyncio.sleep(wait)
                pause *= 4
            else:
                self.received_bytes += len(data)
                return data
        raise AssertionError("unreachable: the last attempt returns or raises")


def _query(label_selector: str, field_selector: str, limit: int) -> dict[str, str | int | bool]:
    query: dict[str, str | int | bool] = {"limit": max(1, min(limit, PAGE_LIMIT))}
    if label_selector:
        query["labelSelector"] = paths.check_selector(label_selector)
    if field_selector:
        query["fieldSelector"] = paths.check_selector(field_selector)
    return query


def _page(resource: ports.Resource, reply: Mapping[str, Any]) -> ports.ObjectPage:
    meta = reply.get("metadata") or {}
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    token = str(meta.get("continue") or "")
    remaining = meta.get("remainingItemCount")
    return ports.ObjectPage(
        items=tuple(
            {**head, **item} for item in reply.get("items") or () if isinstance(item, dict)
        ),
        continue_token=token,
        remaining=remaining if isinstance(remaining, int) or token else 0,
        resource_version=str(meta.get("resourceVersion") or ""),
    )


def _mapping(reply: Any) -> Mapping[str, Any]:
    if not isinstance(reply, dict):
        raise errors.ApiUnavailable("the API server's reply is no JSON object")
    return reply
