"""The journal as InvestigationRecord objects: immutable, with deterministic names, owned by their Investigation.

Creating the next name is the compare-and-swap. Records are never updated; the operator's role has no such right.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

from kubewhy import errors
from kubewhy.adapters.kube import client
from kubewhy.api import names, record
from kubewhy.core import ports, records

PAGE = 50
"""Records per page while a journal is loaded."""

DECODED_BYTES = 16 * 1024 * 1024
"""Most bytes that one record's data may decompress to."""


class KubeJournal:
    """Implements `ports.Journal` on one API server."""

    def __init__(self, api: client.KubeClient) -> None:
        self._api = api

    async def load(self, key: ports.RunKey) -> Sequence[ports.Batch]:
        """See `ports.Journal.load`."""
        selector = f"{names.LABEL_INVESTIGATION_UID}={key.uid},{names.LABEL_RECORD_CONTENT}=Events"
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            query: client.Query = {"labelSelector": selector, "limit": PAGE, "continue": token}
            page = await self._read(_collection(key), query)
            found += page["items"]
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                break
        batches = [_batch(item["spec"]) for item in found]
        return sorted(batches, key=lambda batch: batch.number)

    async def append(self, key: ports.RunKey, batch: ports.Batch) -> None:
        """See `ports.Journal.append`."""
        name = records.batch_name(key.name, key.uid, batch.number)
        spec = {
            "content": "Events",
            "number": batch.number,
            "firstEvent": batch.first_event,
            "eventCount": batch.event_count,
            "epoch": batch.epoch,
            **({"previous": batch.previous} if batch.previous else {}),
        }
        if not await self._create(key, name, spec, batch.data):
            raise errors.Fenced(f"{key}: record {name} was written by another holder")

    async def store(self, key: ports.RunKey, digest: str, text: str) -> None:
        """See `ports.Journal.store`."""
        name = records.output_name(key.name, key.uid, digest)
        if not await self._create(key, name, {"content": "Output", "number": 0}, text.encode()):
            raise errors.JournalLost(f"{key}: record {name} holds other content than its name says")

    async def fetch(self, key: ports.RunKey, digest: str) -> str:
        """See `ports.Journal.fetch`."""
        name = records.output_name(key.name, key.uid, digest)
        found = await self._existing(key, name)
        if found is None:
            raise errors.JournalLost(f"{key}: record {name} is missing; it was deleted")
        return _data(found["spec"]).decode()

    async def _create(
        self, key: ports.RunKey, name: str, spec: dict[str, Any], data: bytes
    ) -> bool:
        """Create the record, or find it created with equal content; False where other content has the name."""
        manifest = _manifest(key, name, spec, data)
        try:
            await self._api.request("POST", _collection(key), body=manifest, query=_FIELD_MANAGER)
        except errors.ApiAlreadyExists:
            return await self._same(key, name, manifest)
        except (errors.ApiInvalid, errors.ApiTooLarge) as error:
            raise errors.JournalLost(
                f"{key}: the API server refuses record {name}: {error}"
            ) from error
        except errors.ApiError as error:
            if error.reason == "NoAnswer" and await self._same(key, name, manifest):
                return True
            raise errors.JournalUnavailable(
                f"{key}: record {name} can't be written: {error}"
            ) from error
        return True

    async def _same(self, key: ports.RunKey, name: str, manifest: dict[str, Any]) -> bool:
        """Whether the stored record is the one we meant; a lost answer is told from a lost race by its content."""
        found = await self._existing(key, name)
        if found is None:
            raise errors.JournalUnavailable(f"{key}: record {name} is not there after its creation")
        ours, theirs = manifest["spec"], found["spec"]
        return all(
            theirs.get(field) == ours.get(field) for field in ("sha256", "epoch", "previous")
        )

    async def _existing(self, key: ports.RunKey, name: str) -> dict[str, Any] | None:
        try:
            return await self._read(f"{_collection(key)}/{name}", {})
        except errors.ApiNotFound:
            return None

    async def _read(self, path: str, query: client.Query) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self._api.request(
                "GET", path, query=query, limit_bytes=2 * PAGE * 1024 * 1024
            )
        except errors.ApiNotFound:
            raise
        except errors.ApiError as error:
            raise errors.JournalUnavailable(f"the journal can't be read: {error}") from error
        return found


_FIELD_MANAGER = {"fieldManager": names.OPERATOR_FIELD_MANAGER}


def _collection(key: ports.RunKey) -> str:
    return f"/apis/{names.API_VERSION}/namespaces/{key.namespace}/{names.RECORD.plural}"


def _manifest(key: ports.RunKey, name: str, spec: dict[str, Any], data: bytes) -> dict[str, Any]:
    content = spec["content"]
    owner = {
        "apiVersion": names.API_VERSION,
        "kind": names.INVESTIGATION.kind,
        "name": key.name,
        "uid": key.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {names.LABEL_INVESTIGATION_UID: key.uid, names.LABEL_RECORD_CONTENT: content}
    full = {
        "investigation": key.name,
        "investigationUID": key.uid,
        **spec,
        "encoding": "ZlibBase64",
        "data": base64.b64encode(zlib.compress(data, 6)).decode(),
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.RECORD.kind,
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        "spec": full,
    }


def _batch(spec: dict[str, Any]) -> ports.Batch:
    parsed = record.InvestigationRecordSpec.model_validate(spec)
    return ports.Batch(
        number=parsed.number,
        first_event=parsed.first_event or 0,
        event_count=parsed.event_count or 0,
        epoch=parsed.epoch or 0,
        data=_data(spec),
        previous=parsed.previous or "",
    )


def _data(spec: dict[str, Any]) -> bytes:
    text: str = spec["data"]
    try:
        data = text.encode() if spec["encoding"] == "Json" else _inflate(text)
    except (ValueError, zlib.error) as error:
        raise errors.JournalLost(f"a record's data can't be decoded: {error}") from error
    if hashlib.sha256(data).hexdigest() != spec["sha256"]:
        raise errors.JournalLost("a record's data doesn't fit its sha256: it was damaged")
    return data


def _inflate(text: str) -> bytes:
    engine = zlib.decompressobj()
    data = engine.decompress(base64.b64decode(text, validate=True), DECODED_BYTES)
    if engine.unconsumed_tail:
        raise ValueError(f"more than {DECODED_BYTES} bytes")
    return data
