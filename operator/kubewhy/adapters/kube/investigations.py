"""The webhook's writes: creating Investigations, and noting on them what became of their alerts.

Only this kind is touched, and after the creation only three annotations: that is all the webhook's role and the
admission policy allow. Implements `core.alert_store.InvestigationStore`.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewhy import errors
from kubewhy.adapters.kube import client, paths
from kubewhy.api import names
from kubewhy.core import ports, timestamps
from kubewhy.core.alerting import alert_store

WRITE_SECONDS: Final = 5.0
"""Longest time of one request: Alertmanager's next replica sends too when an answer takes 15 s."""

SEEN_EVERY: Final = datetime.timedelta(minutes=1)
"""Repeated deliveries are noted at most this often."""

_RESOURCE = ports.Resource(
    group=names.GROUP,
    version=names.VERSION,
    name=names.INVESTIGATION.plural,
    kind=names.INVESTIGATION.kind,
    namespaced=True,
)
_QUERY: Final = {"fieldManager": names.WEBHOOK_FIELD_MANAGER}
_MOST_EPISODES: Final = 100
_PROBE_NAME: Final = "kubewhy-webhook-readiness"


class KubeInvestigationStore:
    """Investigations on the API server, written as the client's own account."""

    def __init__(self, api: client.KubeClient) -> None:
        self._api = api

    async def create(self, manifest: Mapping[str, Any]) -> alert_store.Stored:
        """See the port. A create without an answer is an `ApiUnavailable`: repeating it is harmless."""
        try:
            await self._post(manifest, _QUERY)
        except errors.ApiAlreadyExists:
            return alert_store.Stored.DUPLICATE
        return alert_store.Stored.CREATED

    async def note_seen(self, namespace: str, name: str, *, at: datetime.datetime) -> None:
        """See the port."""
        path = paths.of(_RESOURCE, namespace=namespace, name=name)
        found = await self._api.request("GET", path, timeout_seconds=WRITE_SECONDS)
        metadata = found.get("metadata") or {}
        annotations = metadata.get("annotations") or {}
        if not _due(annotations.get(names.ALERT_LAST_SEEN, ""), at):
            return
        noted = {
            names.ALERT_LAST_SEEN: timestamps.seconds(at),
            names.ALERT_COUNT: str(_count(annotations.get(names.ALERT_COUNT, "")) + 1),
        }
        try:
            await self._annotate(path, noted, resource_version=metadata.get("resourceVersion"))
        except errors.ApiConflict:
            return

    async def note_resolved(self, namespace: str, name: str, *, at: str) -> bool:
        """See the port."""
        path = paths.of(_RESOURCE, namespace=namespace, name=name)
        try:
            await self._annotate(path, {names.ALERT_RESOLVED_AT: at})
        except errors.ApiNotFound as error:
            _raise_unless_served(error)
            return False
        return True

    async def unresolved(self, namespace: str, series: str) -> Sequence[alert_store.Episode]:
        """See the port."""
        path = paths.of(_RESOURCE, namespace=namespace)
        query: client.Query = {
            "labelSelector": f"{names.LABEL_ALERT_SERIES}={series}",
            "limit": _MOST_EPISODES,
        }
        try:
            page = await self._api.request("GET", path, query=query, timeout_seconds=WRITE_SECONDS)
        except errors.ApiNotFound as error:
            _raise_unless_served(error)
            return ()
        return tuple(filter(None, map(_episode, page["items"])))

    async def check(self, namespace: str) -> None:
        """See the port: a dry run of a create goes through authentication, RBAC, admission and schema."""
        manifest = {
            "apiVersion": names.API_VERSION,
            "kind": names.INVESTIGATION.kind,
            "metadata": {"name": _PROBE_NAME, "namespace": namespace},
            "spec": {"question": "Can Investigations be created?"},
        }
        try:
            await self._post(manifest, _QUERY | {"dryRun": "All"})
        except errors.ApiAlreadyExists:
            return

    async def _post(self, manifest: Mapping[str, Any], query: client.Query) -> None:
        path = paths.of(_RESOURCE, namespace=manifest["metadata"]["namespace"])
        try:
            await self._api.request(
                "POST", path, query=query, body=manifest, timeout_seconds=WRITE_SECONDS
            )
        except errors.ApiNotFound as error:
            _raise_unless_served(error)
            raise

    async def _annotate(
        self, path: str, annotations: Mapping[str, str], *, resource_version: str | None = None
    ) -> None:
        metadata: dict[str, Any] = {"annotations": dict(annotations)}
        if resource_version:
            metadata["resourceVersion"] = resource_version
        await self._api.request(
            "PATCH",
            path,
            query=_QUERY,
            body={"metadata": metadata},
            content_type=client.MERGE_PATCH,
            timeout_seconds=WRITE_SECONDS,
        )


def _raise_unless_served(error: errors.ApiNotFound) -> None:
    """A 404 without the API's own reason is about the URL: the kind is not served, which no alert is to blame for."""
    if not error.reason:
        raise errors.ApiUnavailable(
            f"{error}: the API server does not serve {_RESOURCE.name}.{names.GROUP}; apply crds/ first",
            status=error.status,
        ) from error


def _episode(item: Mapping[str, Any]) -> alert_store.Episode | None:
    if names.ALERT_RESOLVED_AT in (item["metadata"].get("annotations") or {}):
        return None
    alerts = item["spec"].get("alerts") or [{}]
    try:
        starts_at = timestamps.read(alerts[0].get("startsAt", ""))
    except ValueError:
        return None
    if starts_at is None:
        return None
    return alert_store.Episode(name=item["metadata"]["name"], starts_at=starts_at)


def _due(last_seen: str, at: datetime.datetime) -> bool:
    try:
        last = timestamps.read(last_seen)
    except ValueError:
        return True
    return last is None or at - last >= SEEN_EVERY


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0  # noqa: PLR2004
