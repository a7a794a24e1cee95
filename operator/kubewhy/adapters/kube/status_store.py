"""Investigations on the API server: reads, lists, and status writes under compare-and-swap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.adapters.kube import client
from kubewhy.api import names
from kubewhy.core import ports, snapshots

PAGE = 100
"""Investigations per page of a list."""

UNFINISHED = "status.finished!=true"
"""Field selector that also matches objects without a status (measured; kubernetes-api.md §1.4)."""


FINISHED = "status.finished=true"


class KubeInvestigations:
    """Implements `ports.Investigations`."""

    def __init__(self, api: client.KubeClient) -> None:
        self._api = api

    async def read(self, key: ports.RunKey) -> snapshots.Snapshot:
        """See `ports.Investigations.read`."""
        found = snapshots.read(await self._api.request("GET", _path(key)))
        if found.key.uid != key.uid:
            raise errors.ApiNotFound(f"{key} was deleted; another object has its name now")
        return found

    async def unfinished(self) -> Sequence[snapshots.Snapshot]:
        """See `ports.Investigations.unfinished`."""
        found: list[snapshots.Snapshot] = []
        async for page in self._pages(UNFINISHED):
            found += [snapshots.read(item) for item in page]
        return sorted(found, key=lambda each: (each.created, each.key.name))

    async def _pages(self, selector: str) -> AsyncIterator[list[Mapping[str, Any]]]:
        token = ""
        while True:
            query: client.Query = {"fieldSelector": selector, "limit": PAGE, "continue": token}
            page = await self._api.request("GET", _ALL, query=query)
            yield page["items"]
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    async def finished(self) -> AsyncIterator[Mapping[str, Any]]:
        """See `ports.Investigations.finished`."""
        async for page in self._pages(FINISHED):
            for item in page:
                yield item

    async def delete(self, key: ports.RunKey, *, resource_version: str) -> None:
        """See `ports.Investigations.delete`."""
        conditions = {"uid": key.uid, "resourceVersion": resource_version}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": conditions,
            "propagationPolicy": "Background",
        }
        await self._api.request("DELETE", _path(key), body=options)

    async def write_status(
        self, key: ports.RunKey, status: Mapping[str, Any], *, resource_version: str
    ) -> str:
        """See `ports.Investigations.write_status`."""
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        written = await self._api.request(
            "PATCH",
            f"{_path(key)}/status",
            body=body,
            query={"fieldManager": names.OPERATOR_FIELD_MANAGER},
            content_type=client.MERGE_PATCH,
        )
        version: str = written["metadata"]["resourceVersion"]
        return version


_ALL = f"/apis/{names.API_VERSION}/{names.INVESTIGATION.plural}"


def _path(key: ports.RunKey) -> str:
    return f"/apis/{names.API_VERSION}/namespaces/{key.namespace}/{names.INVESTIGATION.plural}/{key.name}"
