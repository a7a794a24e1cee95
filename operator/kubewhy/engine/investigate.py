"""One Investigation from claim to rest: claim, load, open, drive, publish, release."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from kubewhy import errors
from kubewhy.api import conditions
from kubewhy.core import announcements, claims, events, ports, snapshots, state
from kubewhy.engine import crashpoints, drive, inbox, ledger, perform, publish

log = logging.getLogger(__name__)

RELEASE_SECONDS = 3.0
"""Most seconds that giving back a claim may take while the process stops."""

POST_SECONDS = 3.0
"""Most seconds that a run that is over waits for its last Kubernetes Events."""


class Workbench(Protocol):
    """Makes what a run works with; implemented by `app`."""

    async def open(self, snapshot: snapshots.Snapshot) -> events.Opened:
        """The frozen input of a new run.

        Raises:
            errors.ConfigError: the spec names a model, toolset or account that is not there.
        """

    def unusable(self, snapshot: snapshots.Snapshot) -> events.Opened:
        """The input of a run that can't start, for its record."""

    async def performer(
        self, snapshot: snapshots.Snapshot, opened: events.Opened
    ) -> perform.Performer:
        """What performs the run's effects.

        Raises:
            errors.ConfigError: the model that the run was opened with is not there any more.
        """


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The engine's connections to the world, the same for all runs of this process."""

    holder: str
    clock: ports.Clock
    investigations: ports.Investigations
    journal: ports.Journal
    holders: ports.Holders
    kube_events: ports.KubeEvents
    workbench: Workbench
    listeners: tuple[ledger.Listener, ...] = ()
    on_conflict: Callable[[], None] = lambda: None


CLAIM_TRIES = 5
"""Most tries to claim an object that others keep writing."""


async def investigate(snapshot: snapshots.Snapshot, box: inbox.Inbox, desk: Desk) -> None:
    """Work on one Investigation until it has finished, waits for a person, or belongs to somebody else."""
    crashpoints.passing("observed")
    publisher = await _claimed(snapshot, desk)
    if publisher is None:
        return
    posts = _Posts(desk)
    book = ledger.Ledger(
        snapshot.key,
        desk.journal,
        desk.clock,
        listeners=(*desk.listeners, posts.on_event, lambda *_: publisher.changed()),
    )
    try:
        await _run(box, desk, book, publisher)
    except errors.Fenced as error:
        log.warning("fenced: %s", error, extra={"investigation": str(snapshot.key)})
    except asyncio.CancelledError:
        if not box.gone:
            await _release(book, publisher)
        raise
    finally:
        await publisher.stop()
        await posts.done()


async def show_pending(snapshot: snapshots.Snapshot, desk: Desk) -> None:
    """Let an Investigation that waits for a slot say so; losing this write is no fault."""
    if snapshot.reason:
        return
    with contextlib.suppress(errors.ApiError):
        await publish.Publisher(desk.investigations, snapshot).show_pending()


async def _claimed(snapshot: snapshots.Snapshot, desk: Desk) -> publish.Publisher | None:
    """Take the claim by compare-and-swap; None where there is nothing to do or a live holder has it."""
    for _ in range(CLAIM_TRIES):
        others = snapshot.holder not in {"", desk.holder}
        live = await desk.holders.live() if others else frozenset()
        if snapshot.resting or not claims.may_claim(snapshot, me=desk.holder, live=live):
            return None
        publisher = publish.Publisher(desk.investigations, snapshot, on_conflict=desk.on_conflict)
        try:
            await publisher.claim(desk.holder)
        except errors.ApiConflict:
            desk.on_conflict()
            snapshot = await desk.investigations.read(snapshot.key)
        else:
            return publisher
    return None


async def _run(
    box: inbox.Inbox, desk: Desk, book: ledger.Ledger, publisher: publish.Publisher
) -> None:
    try:
        await _run_journaled(box, desk, book, publisher)
    except errors.JournalLost as error:
        await publisher.end_without_journal(
            conditions.SucceededReason.JOURNAL_LOST, str(error), desk.clock.now()
        )


async def _run_journaled(
    box: inbox.Inbox, desk: Desk, book: ledger.Ledger, publisher: publish.Publisher
) -> None:
    snapshot = publisher.snapshot
    await _load(snapshot, book)
    if snapshot.ended and book.state.concluded is None:
        raise errors.JournalLost(f"{snapshot.key}: status tells an end, the journal does not")
    performer = await _open(snapshot, desk, book, publisher.epoch)
    crashpoints.passing("claimed")
    publisher.watch(book)
    if performer is not None:
        await drive.drive(book, performer, box)
    await publisher.finish(book)


async def _load(snapshot: snapshots.Snapshot, book: ledger.Ledger) -> None:
    await _patiently(book.load)
    if book.batches < snapshot.batches:
        raise errors.JournalLost(
            f"{snapshot.key}: status knows {snapshot.batches} records, {book.batches} are there; "
            "they were deleted. Apply the Investigation again under a new name"
        )


async def _open(
    snapshot: snapshots.Snapshot, desk: Desk, book: ledger.Ledger, epoch: int
) -> perform.Performer | None:
    """Append the claim, with the frozen input before the first step; None where there is nothing to work on."""
    opened = book.state.opened
    if book.state.concluded is not None:
        await book.claim(epoch, desk.holder)
        return None
    try:
        if snapshot.spec is None and opened is None:
            raise errors.ConfigError(snapshot.problem)
        first = opened or await desk.workbench.open(snapshot)
        performer = await desk.workbench.performer(snapshot, first)
    except errors.ConfigError as error:
        ended = events.Concluded(at=desk.clock.now(), reason="InvalidSpec", message=str(error))
        start = () if opened else (desk.workbench.unusable(snapshot),)
        await book.claim(epoch, desk.holder, *start, ended)
        return None
    await book.claim(epoch, desk.holder, *(() if opened else (first,)))
    return performer


async def _patiently(read: Callable[[], Awaitable[None]]) -> None:
    """Repeat a read of the journal for as long as it is unavailable."""
    tries = 0
    while True:
        try:
            await read()
        except errors.JournalUnavailable:
            await asyncio.sleep(ledger.pause_seconds(tries))
            tries += 1
        else:
            return


async def _release(book: ledger.Ledger, publisher: publish.Publisher) -> None:
    """Give the claim back while the process stops, so that the next holder needn't wait for the Lease to run out."""
    if book.state.opened is None:
        return
    with contextlib.suppress(TimeoutError, errors.KubewhyError):
        async with asyncio.timeout(RELEASE_SECONDS):
            await publisher.finish(book)


class _Posts:
    """Logs a run's announcements and posts them beside the run, which neither waits for them nor fails with them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, key: ports.RunKey, event: events.Event, current: state.State) -> None:
        """A `ledger.Listener`."""
        found = announcements.of(event, current)
        if found is not None:
            extra = {"investigation": str(key), "reason": found.reason}
            log.info("%s", found.message, extra=extra)
            task = asyncio.ensure_future(self._post(key, found))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def done(self) -> None:
        """Wait a moment for the posts under way; losing one is no fault."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=POST_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _post(self, key: ports.RunKey, found: announcements.Announcement) -> None:
        try:
            await self._desk.kube_events.post(
                key, kind=found.kind, reason=found.reason, message=found.message
            )
        except errors.ApiError as error:
            log.info(
                "Event %s not posted: %s", found.reason, error, extra={"investigation": str(key)}
            )
