"""One Investigation from claim to rest: claim, load, open, drive, publish, release."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable
from typing import Protocol

from kubewhy import errors
from kubewhy.api import conditions
from kubewhy.core import announcements, claims, events, ports, snapshots, state
from kubewhy.engine import crashpoints, drive, inbox, ledger, perform, publish

log = logging.getLogger(__name__)

RELEASE_SECONDS = 3.0
"""Most seconds that giving back a claim may take while the process stops."""


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


async def investigate(snapshot: snapshots.Snapshot, box: inbox.Inbox, desk: Desk) -> None:
    """Work on one Investigation until it has finished, waits for a person, or belongs to somebody else."""
    crashpoints.passing("observed")
    publisher = publish.Publisher(desk.investigations, snapshot, on_conflict=desk.on_conflict)
    if not await _claimed(snapshot, publisher, desk):
        return
    posts = _Posts(desk)
    book = ledger.Ledger(
        snapshot.key,
        desk.journal,
        desk.clock,
        listeners=(*desk.listeners, posts.on_event, lambda *_: publisher.changed()),
    )
    try:
        await _run(snapshot, box, desk, book, publisher)
    except errors.Fenced as error:
        log.warning("fenced: %s", error, extra={"investigation": str(snapshot.key)})
    except errors.JournalLost as error:
        await publisher.end_without_journal(
            conditions.SucceededReason.JOURNAL_LOST, str(error), desk.clock.now()
        )
    except asyncio.CancelledError:
        await _release(book, publisher)
        raise
    finally:
        await publisher.stop()
        await posts.done()


async def _claimed(snapshot: snapshots.Snapshot, publisher: publish.Publisher, desk: Desk) -> bool:
    """Take the claim by compare-and-swap; False where a live holder has it or was faster."""
    live = await desk.holders.live() if snapshot.holder not in {"", desk.holder} else frozenset()
    if not claims.may_claim(snapshot, me=desk.holder, live=live):
        return False
    try:
        await publisher.claim(desk.holder, epoch=snapshot.epoch + 1)
    except errors.ApiConflict:
        desk.on_conflict()
        return False
    return True


async def _run(
    snapshot: snapshots.Snapshot,
    box: inbox.Inbox,
    desk: Desk,
    book: ledger.Ledger,
    publisher: publish.Publisher,
) -> None:
    await _load(snapshot, book)
    performer = await _open(snapshot, desk, book)
    crashpoints.passing("claimed")
    publisher.watch(book)
    if performer is not None and book.state.concluded is None:
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
    snapshot: snapshots.Snapshot, desk: Desk, book: ledger.Ledger
) -> perform.Performer | None:
    """Append the claim, with the frozen input before the first step; None where the run can't be worked on."""
    epoch = snapshot.epoch + 1
    opened = book.state.opened
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


async def _patiently(read: Callable[[], object]) -> None:
    """Repeat a read of the journal for as long as it is unavailable."""
    tries = 0
    while True:
        try:
            await read()  # type: ignore[misc]
        except errors.JournalUnavailable:
            await asyncio.sleep(ledger.RETRY_SECONDS[min(tries, len(ledger.RETRY_SECONDS) - 1)])
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
    """Posts a run's announcements beside the run: it neither waits for them nor fails with them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, key: ports.RunKey, event: events.Event, current: state.State) -> None:
        """A `ledger.Listener`."""
        found = announcements.of(event, current)
        if found is not None:
            task = asyncio.ensure_future(self._post(key, found))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def done(self) -> None:
        """Wait for the posts under way; each is bounded by the client's time-out."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _post(self, key: ports.RunKey, found: announcements.Announcement) -> None:
        try:
            await self._desk.kube_events.post(
                key, kind=found.kind, reason=found.reason, message=found.message
            )
        except errors.ApiError as error:
            log.info(
                "Event %s not posted: %s", found.reason, error, extra={"investigation": str(key)}
            )
