"""The one writer of an Investigation's status: compare-and-swap, at most once a second, the end before its details."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import random
from collections.abc import Callable, Mapping
from typing import Any

from kubewhy import errors
from kubewhy.api import conditions, status
from kubewhy.core import ports, projection, snapshots
from kubewhy.engine import crashpoints, ledger

INTERVAL_SECONDS = 1.0
"""Least time between two intermediate projections (design.md §6)."""

TRIES = 10
"""Most tries of a write that must not be lost (kubernetes-api.md §2.3)."""

HARD_STOP_BYTES = 512 * 1024
"""No status is ever sent that is larger (design.md §5)."""


class Publisher:
    """Projects one run's state into the status of its object.

    Raises from every write:
        errors.Fenced: the object carries the claim of a newer holder.
        errors.ApiNotFound: the object is gone.
    """

    def __init__(
        self,
        store: ports.Investigations,
        snapshot: snapshots.Snapshot,
        *,
        on_conflict: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._version = snapshot.resource_version
        self._epoch = snapshot.epoch
        self._on_conflict = on_conflict
        self._dirty = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def key(self) -> ports.RunKey:
        """The Investigation whose status this writes."""
        return self._snapshot.key

    @property
    def snapshot(self) -> snapshots.Snapshot:
        """The object as it was last read."""
        return self._snapshot

    @property
    def epoch(self) -> int:
        """The epoch of the claim that this writes under."""
        return self._epoch

    async def claim(self, holder: str) -> None:
        """Write the claim with the next epoch and, on the first visit, all conditions.

        Raises:
            errors.ApiConflict: the object has changed since it was read, perhaps by another holder.
        """
        epoch = self._snapshot.epoch + 1
        first = {} if self._snapshot.reason else self._pending()
        manifest = first | {"claim": {"holder": holder, "epoch": epoch}}
        self._version = await self._store.write_status(
            self.key, manifest, resource_version=self._version
        )
        self._epoch = epoch

    async def show_pending(self) -> None:
        """Write the conditions of an Investigation that nobody works on yet.

        Raises:
            errors.ApiConflict: the object has changed since it was read.
        """
        await self._store.write_status(self.key, self._pending(), resource_version=self._version)

    def _pending(self) -> dict[str, Any]:
        return projection.pending(self._source(0)).manifest()

    def watch(self, book: ledger.Ledger) -> None:
        """Start to project in the background; `changed` says when there is something new."""
        self._epoch = max(self._epoch, book.state.epoch)
        self._task = asyncio.ensure_future(self._project_changes(book))

    def changed(self) -> None:
        """The state has changed."""
        self._dirty.set()

    async def finish(self, book: ledger.Ledger, *, held: bool = False) -> None:
        """Write the status at a wait or at the end: it is tried until it is there. `held` keeps the claim."""
        await self.stop()
        source = self._source(book.batches, held=held)
        whole = projection.project(book.state, source)
        try:
            if book.state.concluded is not None:
                await self._must(projection.ending(book.state, source))
                crashpoints.passing("terminal-written")
                await self._finish(whole)
            else:
                await self._must(whole)
        except errors.ApiInvalid as error:
            await self.end_without_journal(
                conditions.SucceededReason.STATUS_REJECTED, str(error), book.clock.now()
            )

    async def end_without_journal(
        self, reason: conditions.SucceededReason, message: str, now: datetime.datetime
    ) -> None:
        """The least status that ends a run whose journal or full status can't be used. An end that is told stays."""
        await self.stop()
        if self._snapshot.ended:
            await self._persist({"finished": True, "claim": {"holder": "", "epoch": self._epoch}})
            return
        first = conditions.condition(
            reason, now=now, message=message, generation=self._snapshot.generation
        )
        known = conditions.initial(now=self._snapshot.created, generation=self._snapshot.generation)
        found = conditions.with_condition(known, first)
        ended = status.InvestigationStatus(
            observed_generation=self._snapshot.generation,
            conditions=found,
            completion_time=now,
            summary=message[:256],
            finished=True,
            claim=status.Claim(holder="", epoch=self._epoch),
        )
        await self._must(ended)

    async def stop(self) -> None:
        """End the background projection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _project_changes(self, book: ledger.Ledger) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            whole = projection.project(book.state, self._source(book.batches))
            with contextlib.suppress(errors.ApiError):
                await self._write(whole.manifest())
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _finish(self, whole: status.InvestigationStatus) -> None:
        """The rest of an ended run's status; without its large parts where they are refused."""
        try:
            await self._must(whole)
        except errors.ApiInvalid:
            await self._must(projection.small(whole))

    async def _write(self, manifest: Mapping[str, Any]) -> None:
        """One try; after a conflict the next one starts from the new version."""
        try:
            self._version = await self._store.write_status(
                self.key, manifest, resource_version=self._version
            )
        except errors.ApiConflict:
            self._on_conflict()
            await self._reread()
            raise

    async def _must(self, projected: status.InvestigationStatus) -> None:
        """Write until it is there, without its large parts where it is too large."""
        smaller = projection.small(projected)
        if len(projected.model_dump_json().encode()) > HARD_STOP_BYTES:
            projected = smaller
        try:
            await self._persist(projected.manifest())
        except errors.ApiTooLarge:
            if smaller == projected:
                raise
            await self._persist(smaller.manifest())

    async def _persist(self, manifest: Mapping[str, Any]) -> None:
        """Write until it is there: conflicts up to `TRIES`, an absent API server without limit."""
        conflicts = failures = 0
        while True:
            try:
                await self._write(manifest)
            except errors.ApiConflict:
                conflicts += 1
                if conflicts >= TRIES:
                    raise
                await asyncio.sleep(random.uniform(0, 0.05 * 2**conflicts))  # noqa: S311 - jitter
            except (errors.ApiUnavailable, errors.ApiForbidden, errors.ApiUnauthorized) as error:
                failures += 1
                await asyncio.sleep(error.retry_after or min(10.0, 0.2 * 2 ** min(failures, 6)))
            else:
                return

    async def _reread(self) -> None:
        fresh = await self._store.read(self.key)
        if fresh.epoch > self._epoch:
            raise errors.Fenced(f"{self.key}: holder {fresh.holder} has epoch {fresh.epoch}")
        self._snapshot = fresh
        self._version = fresh.resource_version

    def _source(self, batches: int, *, held: bool = True) -> projection.Source:
        return projection.Source(
            name=self.key.name,
            uid=self.key.uid,
            generation=self._snapshot.generation,
            created=self._snapshot.created,
            batches=batches,
            epoch=self._epoch,
            held=held,
        )
