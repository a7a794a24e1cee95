"""Posts Kubernetes Events about Investigations, one per reason and run."""

from __future__ import annotations

import datetime

from kubewhy import errors
from kubewhy.adapters.kube import client
from kubewhy.api import names
from kubewhy.core import ports

NOTE_BYTES = 1024
"""Most bytes of an Event's note; the API server refuses more, though it speaks of characters."""


class KubeEventPoster:
    """Implements `ports.KubeEvents`."""

    def __init__(self, api: client.KubeClient, clock: ports.Clock, *, holder: str) -> None:
        self._api = api
        self._clock = clock
        self._holder = holder

    async def post(self, key: ports.RunKey, *, kind: str, reason: str, message: str) -> None:
        """See `ports.KubeEvents.post`.

        Raises:
            errors.ApiError: not posted.
        """
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": f"{key.name}.{key.uid[:8]}.{reason.lower()}",
                "namespace": key.namespace,
            },
            "eventTime": self._clock.now()
            .astimezone(datetime.UTC)
            .strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": names.REPORTING_CONTROLLER,
            "reportingInstance": self._holder[:128],
            "action": "Investigate",
            "type": kind,
            "reason": reason,
            "note": message.encode("utf-8", "replace")[:NOTE_BYTES].decode("utf-8", "ignore"),
            "regarding": {
                "apiVersion": names.API_VERSION,
                "kind": names.INVESTIGATION.kind,
                "namespace": key.namespace,
                "name": key.name,
                "uid": key.uid,
            },
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{key.namespace}/events"
        try:
            await self._api.request("POST", path, body=body)
        except errors.ApiAlreadyExists:
            return
