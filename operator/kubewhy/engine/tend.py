"""Looks after Investigations that have finished: ends their life in time, notes that their alert resolved."""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Mapping
from typing import Any

from kubewhy import errors
from kubewhy.core import ports, snapshots, tending

log = logging.getLogger(__name__)


async def keep_tending(store: ports.Investigations, clock: ports.Clock, seconds: int) -> None:
    """Tend for ever, once a period; a pass that fails is repeated in the next one."""
    while True:
        try:
            await tend(store, clock.now())
        except errors.ApiError as error:
            log.warning("finished Investigations were not looked at: %s", error)
        await asyncio.sleep(seconds)


async def tend(store: ports.Investigations, now: datetime.datetime) -> None:
    """One pass over all finished Investigations.

    Raises:
        errors.ApiError: the list can't be read; what was due on single objects is only logged when it fails.
    """
    async for document in store.finished():
        due = tending.due(document, now)
        if due is None:
            continue
        try:
            await _act(store, document, due)
        except (errors.ApiConflict, errors.ApiNotFound):
            continue  # somebody was faster; the next pass looks again
        except errors.ApiError as error:
            name = document["metadata"].get("name")
            log.warning("%s was not tended: %s", name, error)


async def _act(
    store: ports.Investigations,
    document: Mapping[str, Any],
    due: tending.Delete | tending.MarkResolved,
) -> None:
    snapshot = snapshots.read(document)
    version = snapshot.resource_version
    if isinstance(due, tending.Delete):
        await store.delete(snapshot.key, resource_version=version)
        log.info("deleted at the end of its life", extra={"investigation": str(snapshot.key)})
        return
    found = [condition.manifest() for condition in due.conditions]
    await store.write_status(snapshot.key, {"conditions": found}, resource_version=version)
