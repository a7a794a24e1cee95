"""The drive loop: while something is due, announce it in the journal, perform it, and note what came back.

One turn of the loop costs one append: the results of the last turn and the announcements of the next one go into the
same batch. Nothing is performed before the batch that announces it is stored.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from typing import Any

from kubewhy.core import effects, events, loop, state, tools
from kubewhy.engine import crashpoints, inbox, ledger, perform

MODEL_SECONDS = 120.0
"""Most seconds one model request may take, retries included."""

LEAST_SECONDS = 1.0
"""A request is given at least this long, also when the time is nearly over."""

_MARKS = {
    events.ModelReplied: "reply-journaled",
    events.ToolStarted: "read-started",
    events.Concluded: "concluded",
}


async def drive(book: ledger.Ledger, performer: perform.Performer, box: inbox.Inbox) -> None:
    """Run until nothing is in flight any more: the run has concluded, or waits for a person.

    Raises:
        errors.Fenced: another holder took over; nothing more may be done or written.
    """
    noted: list[events.Event] = []
    while True:
        await _append_due(book, box, noted)
        works = loop.in_flight(book.state)
        if not works or book.state.concluded:
            return
        noted = await _turn(book, performer, box, works)


async def _append_due(book: ledger.Ledger, box: inbox.Inbox, noted: Sequence[events.Event]) -> None:
    """Store what is noted, what the outside wants, and the announcements of what is due after both."""
    at = book.clock.now()
    box.changed.clear()
    batch = list(noted)
    preview = _fold(book.state, batch)
    wishes = box.wishes.events(preview, at)
    preview = _fold(preview, wishes)
    timers: list[events.Event] = []
    while (timer := loop.timer(preview)) is not None and timer[0] <= at:
        timers.append(timer[1](at=at))
        preview = loop.apply(preview, timers[-1])
    begun = [loop.begin(effect, at) for effect in loop.due(preview)]
    await book.append(*batch, *wishes, *timers, *begun)
    for event in (*batch, *begun):
        if type(event) in _MARKS:
            crashpoints.passing(_MARKS[type(event)])


def _fold(current: state.State, batch: Sequence[events.Event]) -> state.State:
    for event in batch:
        current = loop.apply(current, event)
    return current


async def _turn(
    book: ledger.Ledger,
    performer: perform.Performer,
    box: inbox.Inbox,
    works: Sequence[effects.AskModel | effects.RunTool],
) -> list[events.Event]:
    """Perform everything in flight side by side, until all is done or the outside ends it. Results in call order."""
    tasks = [asyncio.ensure_future(_perform(book, performer, work)) for work in works]
    try:
        await _until_done(book, box, tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    noted: list[events.Event] = []
    for work, task in zip(works, tasks, strict=True):
        if not task.cancelled():
            noted.append(task.result())
        elif isinstance(work, effects.RunTool):
            noted.append(_interrupted(work, box, book.clock.now()))
    return noted


async def _perform(
    book: ledger.Ledger, performer: perform.Performer, work: effects.AskModel | effects.RunTool
) -> events.Event:
    if isinstance(work, effects.RunTool):
        return await performer.run(work, book.state)
    replied = await performer.ask(work, book.state, _model_seconds(book, work))
    crashpoints.passing("model-replied")
    return replied


def _model_seconds(book: ledger.Ledger, work: effects.AskModel) -> float:
    """How long this request may take: a concluding one until the deadline, others until the time kept aside for it."""
    timer = loop.timer(book.state)
    end = loop.deadline(book.state) if work.final else timer and timer[0]
    if end is None:
        return MODEL_SECONDS
    left = (end - book.clock.now()).total_seconds()
    return max(LEAST_SECONDS, min(MODEL_SECONDS, left))


async def _until_done(
    book: ledger.Ledger, box: inbox.Inbox, tasks: Sequence[asyncio.Task[events.Event]]
) -> None:
    """Wait for all tasks; return earlier when a person cancels or the time for them is over."""
    changed = asyncio.ensure_future(box.changed.wait())
    try:
        pending = set(tasks)
        while pending and not box.wishes.cancel:
            left = _seconds_left(book)
            if left is not None and left <= 0:
                return
            waited: list[asyncio.Future[Any]] = [*pending, changed]
            await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            pending = {task for task in pending if not task.done()}
            if changed.done() and pending:
                box.changed.clear()
                changed = asyncio.ensure_future(box.changed.wait())
    finally:
        changed.cancel()  # not awaited: a cancellation of the run at that moment would be lost


def _seconds_left(book: ledger.Ledger) -> float | None:
    """Until tools are stopped (time is short) or a model request is (the deadline); None without a time limit."""
    step = book.state.step
    timer = loop.timer(book.state)
    asking = step is not None and step.in_flight
    end = loop.deadline(book.state) if asking else timer and timer[0]
    return None if end is None else (end - book.clock.now()).total_seconds()


def _interrupted(
    work: effects.RunTool, box: inbox.Inbox, at: datetime.datetime
) -> events.ToolReturned:
    status = tools.ToolStatus.INTERRUPTED if box.wishes.cancel else tools.ToolStatus.TIMED_OUT
    why = "the investigation was cancelled" if box.wishes.cancel else "the time for tools was over"
    text = f"stopped while it ran: {why}"
    result = tools.ToolResult(status=status, text=text, total_bytes=len(text))
    return events.ToolReturned(at=at, call=work.call.id, attempt=work.attempt, result=result)
