"""One Lease per replica of the operator: renewed while it lives, so that others see when it is gone.

A claim names its holder; whether that holder lives is written once per replica here instead of in each Investigation.
"""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

from kubewhy import errors
from kubewhy.adapters.kube import client
from kubewhy.api import names
from kubewhy.core import ports

LABEL = f"{names.GROUP}/holder"
"""Label of the Leases that belong to replicas of the operator."""

PAGE = 500


class KubeLeases:
    """Implements `ports.Holders`, and renews this replica's own Lease."""

    def __init__(
        self,
        api: client.KubeClient,
        clock: ports.Clock,
        *,
        namespace: str,
        holder: str,
        seconds: int,
    ) -> None:
        self._api = api
        self._clock = clock
        self._holder = holder
        self._seconds = seconds
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = f"kubewhy-{hashlib.sha256(holder.encode()).hexdigest()[:16]}"

    async def renew(self) -> None:
        """Write the current time into this replica's Lease, creating it where it is missing.

        Raises:
            errors.ApiError: not renewed.
        """
        spec = {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": self._seconds,
            "renewTime": _micro_time(self._clock.now()),
        }
        path = f"{self._collection}/{self._name}"
        try:
            await self._api.request(
                "PATCH", path, body={"spec": spec}, content_type=client.MERGE_PATCH
            )
        except errors.ApiNotFound:
            meta = {"name": self._name, "labels": {LABEL: "true"}}
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": meta,
                "spec": spec,
            }
            await self._api.request("POST", self._collection, body=body)

    async def release(self) -> None:
        """Delete this replica's Lease, so that its claims are free at once.

        Raises:
            errors.ApiError: not deleted.
        """
        try:
            await self._api.request("DELETE", f"{self._collection}/{self._name}")
        except errors.ApiNotFound:
            return

    async def live(self) -> frozenset[str]:
        """See `ports.Holders.live`."""
        query: client.Query = {"labelSelector": f"{LABEL}=true", "limit": PAGE}
        page = await self._api.request("GET", self._collection, query=query)
        now = self._clock.now()
        return frozenset(
            str(item["spec"].get("holderIdentity"))
            for item in page["items"]
            if _alive(item.get("spec") or {}, now)
        )


def _alive(spec: dict[str, Any], now: datetime.datetime) -> bool:
    """Whether it was renewed just now, by either clock; one far in the future proves nothing (faults.md 34)."""
    try:
        renewed = datetime.datetime.fromisoformat(spec["renewTime"])
        return abs(now - renewed) < datetime.timedelta(seconds=spec["leaseDurationSeconds"])
    except (KeyError, TypeError, ValueError):
        return False


def _micro_time(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
