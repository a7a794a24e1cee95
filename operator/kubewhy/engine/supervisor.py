"""One supervised task per Investigation, whatever woke us.

Watch events and the periodic LIST both end in `observe`. It looks only at the object as it is: an event that was lost,
came twice or came late makes no difference.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal

from kubewhy import errors
from kubewhy.core import ports, snapshots
from kubewhy.engine import inbox

log = logging.getLogger(__name__)

BACKOFF_SECONDS = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Pauses before a run that failed unexpectedly is tried again; the last one repeats."""

Work = Callable[[snapshots.Snapshot, inbox.Inbox], Awaitable[None]]
"""What a task does with its Investigation: `investigate.investigate` with its desk bound."""

Wait = Callable[[snapshots.Snapshot], Awaitable[None]]
"""Told of an Investigation that has to wait for a slot."""


@dataclasses.dataclass(slots=True)
class _Running:
    snapshot: snapshots.Snapshot
    box: inbox.Inbox
    task: asyncio.Task[None]


class Supervisor:
    """Starts, wakes and ends the tasks; at most `concurrent` of them work at once, the rest wait in order."""

    def __init__(self, work: Work, *, concurrent: int, on_wait: Wait) -> None:
        self._work = work
        self._on_wait = on_wait
        self._slots = asyncio.Semaphore(concurrent)
        self._running: dict[str, _Running] = {}
        self._failures: dict[str, int] = {}
        self._stopping = False
        self.working = 0

    @property
    def known(self) -> int:
        """Investigations that have a task, working or waiting for a slot."""
        return len(self._running)

    def observe(self, snapshot: snapshots.Snapshot) -> None:
        """Look at an Investigation: start its task, pass on its wishes, or end it."""
        running = self._running.get(snapshot.key.uid)
        if snapshot.deleting:
            self.forget(snapshot.key)
        elif running is not None:
            if snapshot.generation < running.snapshot.generation:
                return  # a LIST that is older than what the watch has told
            running.snapshot = snapshot
            running.box.put(_wishes(snapshot))
        elif not snapshot.resting and not self._stopping:
            self._start(snapshot)

    def missing(self, found: Iterable[snapshots.Snapshot]) -> list[ports.RunKey]:
        """Investigations that have a task but are not in a list of the unfinished: finished just now, or gone."""
        listed = {snapshot.key.uid for snapshot in found}
        return [running.snapshot.key for uid, running in self._running.items() if uid not in listed]

    def forget(self, key: ports.RunKey) -> None:
        """The object is gone: cancel its task; nothing more is written."""
        self._failures.pop(key.uid, None)
        running = self._running.get(key.uid)
        if running is not None:
            running.box.gone = True
            running.task.cancel()

    async def stop(self) -> None:
        """Cancel all tasks and wait until they have given back their claims."""
        self._stopping = True
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, snapshot: snapshots.Snapshot) -> None:
        box = inbox.Inbox(_wishes(snapshot))
        task = asyncio.ensure_future(self._supervise(snapshot.key.uid))
        self._running[snapshot.key.uid] = _Running(snapshot, box, task)

    async def _supervise(self, uid: str) -> None:
        running = self._running[uid]
        again = False
        try:
            again = await self._failed(running)
        finally:
            self._running.pop(uid, None)
            again = again or running.box.changed.is_set()  # wishes that came too late for this task
            if again and not running.box.gone and not self._stopping:
                self.observe(running.snapshot)

    async def _failed(self, running: _Running) -> bool:
        """Work; whether that failed unexpectedly. It is told after a pause, which new wishes cut short."""
        key = running.snapshot.key
        try:
            await self._in_slot(running)
        except errors.ApiNotFound:
            log.info("gone", extra={"investigation": str(key)})
        except Exception:  # outer edge: one run must not end the operator
            tries = self._failures[key.uid] = self._failures.get(key.uid, 0) + 1
            log.exception(
                "investigation failed; it is tried again", extra={"investigation": str(key)}
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BACKOFF_SECONDS[min(tries, len(BACKOFF_SECONDS)) - 1]):
                    await running.box.changed.wait()
            return True
        self._failures.pop(key.uid, None)
        return False

    async def _in_slot(self, running: _Running) -> None:
        taken = await self._take_slot(running)
        self.working += taken
        try:
            await self._work(running.snapshot, running.box)
        finally:
            self.working -= taken
            if taken:
                self._slots.release()

    async def _take_slot(self, running: _Running) -> bool:
        """Wait for a slot. False without one where a person cancels: concluding such a run costs nothing."""
        box = running.box
        acquiring = asyncio.ensure_future(self._slots.acquire())
        try:
            await asyncio.sleep(0)  # a free slot is taken within one turn of the loop
            if not acquiring.done():
                await self._on_wait(running.snapshot)
            while not acquiring.done() and not box.wishes.cancel:
                box.changed.clear()
                changed = asyncio.ensure_future(box.changed.wait())
                try:
                    await asyncio.wait({acquiring, changed}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
        except asyncio.CancelledError:
            self._give_up(acquiring)
            raise
        if acquiring.done():
            return True
        self._give_up(acquiring)
        return False

    def _give_up(self, acquiring: asyncio.Task[Literal[True]]) -> None:
        if acquiring.done():
            self._slots.release()
        acquiring.cancel()


def _wishes(snapshot: snapshots.Snapshot) -> inbox.Wishes:
    spec = snapshot.spec
    return inbox.Wishes(
        suspend=spec is not None and spec.suspend,
        cancel=spec is not None and spec.cancel,
        resolved=snapshot.resolved,
    )
