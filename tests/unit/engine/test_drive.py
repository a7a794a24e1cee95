"""The drive loop under everything that happens beside it: people, time, the journal, another holder.

Sleeps take no time: the run's clock is the loop's, and tools and models take as long as the test says.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import crash_world as world_
from kubewhy import errors
from kubewhy.core import alerts, briefing, events, limits, loop, messages, ports
from kubewhy.engine import drive, inbox, ledger, perform
from virtual_time import in_virtual_time

SPEC = dataclasses.replace(world_.SPEC, timeout_seconds=10_000)
FOREVER = 1e6


class LoopClock(world_.Clock):
    """The time of the running loop."""

    def now(self) -> datetime.datetime:
        seconds = asyncio.get_running_loop().time()
        return world_.START + datetime.timedelta(seconds=seconds)


class Model(world_.ScriptedModel):
    """The script's replies, each after as many seconds as `delays` says for its step."""

    def __init__(self, world: world_.World, delays: Mapping[int, float]) -> None:
        super().__init__(world)
        self._delays = delays
        self.requests: list[messages.ModelRequest] = []

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        self.requests.append(request)
        await asyncio.sleep(self._delays.get(len(self.requests), 0))
        return await super().ask(request)


class Look(world_.Look):
    """Takes as many seconds as the place's name says after a dash, such as `b-5`."""

    spec = SPEC

    async def run(self, context: ports.ToolContext, arguments: Mapping[str, Any]) -> Any:
        output = await super().run(context, arguments)
        await asyncio.sleep(float(str(arguments["at"]).partition("-")[2] or 0))
        return output


class Run:
    """One run with everything that a test may look at."""

    def __init__(
        self,
        *script: messages.ModelReply,
        seconds: int = 100,
        delays: Mapping[int, float] | None = None,
        world: world_.World | None = None,
    ) -> None:
        self.world = world or world_.World(script)
        self.world.clock = LoopClock()
        self.model = Model(self.world, delays or {})
        self.box = inbox.Inbox(inbox.Wishes())
        self.opened = dataclasses.replace(
            world_.opened(), limits=limits.Limits(steps=8, seconds=seconds), tools=(SPEC,)
        )
        self.book = ledger.Ledger(world_.KEY, self.world, self.world.clock)
        self.performer = perform.Performer(
            model=self.model,
            toolbox={SPEC.name: Look(self.world)},
            context=ports.ToolContext(
                namespace="shop", subject=None, kube=world_.NO_KUBE, now=self.world.clock.now
            ),
            clock=self.world.clock,
            redact=lambda text: text,
            parallel=asyncio.Semaphore(4),
        )

    async def drive(self) -> None:
        """Load, claim, drive until nothing is in flight."""
        await self.book.load()
        first = () if self.book.state.opened else (self.opened,)
        await self.book.claim(self.book.state.epoch + 1, "me", *first)
        await drive.drive(self.book, self.performer, self.box)

    async def drive_and(self, after: float, act: Callable[[], None]) -> None:
        """Drive, and let something happen after so many seconds."""
        asyncio.get_running_loop().call_later(after, act)
        await self.drive()

    def wish(self, **wishes: bool) -> Callable[[], None]:
        """Something a person does to the object."""
        return lambda: self.box.put(inbox.Wishes(**wishes))

    @property
    def reason(self) -> str:
        """How it ended; "" while it has not."""
        end = self.book.state.concluded
        return end.reason if end else ""

    def results(self) -> list[tuple[str, str]]:
        """Status and text of each call, in call order."""
        found = [call.result for call in self.book.state.calls()]
        return [(each.status.value, each.text) for each in found if each]

    def batches(self) -> list[list[str]]:
        """The types of the stored events, batch by batch."""
        sizes = [batch.event_count for batch in self.world.batches]
        names = [type(event).__name__ for event in self.world.journaled()]
        return [[names.pop(0) for _ in range(size)] for size in sizes]


END = world_.conclude("1-0", "the decisive line of a")


def now() -> float:
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_results_and_the_next_announcements_share_a_batch() -> None:
    run = Run(world_.reply("a", "b"), END)
    await run.drive()
    assert run.reason == "RootCauseFound"
    assert run.batches() == [
        ["Claimed", "Opened"],
        ["ModelAsked"],
        ["ModelReplied", "ToolStarted", "ToolStarted"],
        ["ToolReturned", "ToolReturned", "ModelAsked"],
        ["ModelReplied", "Concluded"],
    ]


# --- cancel -----------------------------------------------------------------------------------------------------------


@in_virtual_time
async def test_cancel_during_a_model_call_ends_it_at_once() -> None:
    run = Run(END, delays={1: FOREVER})
    await run.drive_and(3, run.wish(cancel=True))
    assert run.reason == "Cancelled"
    assert now() == pytest.approx(3)
    assert run.batches()[-1] == ["CancelRequested", "Concluded"]


@in_virtual_time
async def test_cancel_during_tools_keeps_what_has_come_and_answers_the_rest() -> None:
    run = Run(world_.reply("a", f"b-{FOREVER}"), END)
    await run.drive_and(3, run.wish(cancel=True))
    assert run.reason == "Cancelled"
    assert now() == pytest.approx(3)
    (first, _), (second, words) = run.results()
    assert (first, second) == ("Success", "Interrupted")
    assert "cancelled" in words
    assert len(run.model.requests) == 1


@in_virtual_time
async def test_cancel_before_the_first_step_asks_nothing() -> None:
    run = Run(END)
    run.box.put(inbox.Wishes(cancel=True, suspend=True))
    await run.drive()
    assert run.reason == "Cancelled"
    assert run.world.asked == []


# --- time -------------------------------------------------------------------------------------------------------------


@in_virtual_time
async def test_tools_are_stopped_when_time_is_short_and_the_answer_is_asked_for() -> None:
    """Of 100 s a fifth is kept aside."""
    run = Run(world_.reply("a", f"b-{FOREVER}"), END)
    await run.drive()
    assert now() == pytest.approx(80)
    assert run.reason == "RootCauseFound"
    assert [status for status, _ in run.results()][:2] == ["Success", "TimedOut"]
    assert [request.final for request in run.model.requests] == [False, True]
    assert "limits.seconds" in run.model.requests[-1].messages[-1].text


@in_virtual_time
async def test_a_model_that_is_slow_until_time_is_short_is_asked_for_the_answer() -> None:
    run = Run(END, delays={1: FOREVER})
    await run.drive()
    assert now() <= 80 + perform.GRACE_SECONDS + 0.1
    assert [request.final for request in run.model.requests] == [False, True]
    assert run.book.state.concluded is not None
    assert "limits.seconds" in run.book.state.concluded.message


@in_virtual_time
async def test_at_the_deadline_the_run_ends_whatever_the_model_does() -> None:
    run = Run(world_.reply(f"a-{FOREVER}"), END, delays={2: FOREVER})
    await run.drive()
    assert run.reason == "DeadlineExceeded"
    assert now() <= 100 + perform.GRACE_SECONDS + 0.1
    assert "limits.seconds" in run.book.state.concluded.message  # type: ignore[union-attr]


@in_virtual_time
async def test_a_model_has_no_more_than_its_own_time() -> None:
    run = Run(END, seconds=10_000, delays={1: FOREVER})
    await run.drive()
    assert run.reason == "ModelUnavailable"
    assert now() <= drive.MODEL_SECONDS + perform.GRACE_SECONDS


# --- suspend ----------------------------------------------------------------------------------------------------------


@in_virtual_time
async def test_suspend_lets_the_turn_end_and_starts_nothing_more() -> None:
    run = Run(world_.reply("a-5", "b-9"), END)
    await run.drive_and(3, run.wish(suspend=True))
    assert run.reason == ""
    assert now() == pytest.approx(9)
    assert [status for status, _ in run.results()] == ["Success", "Success"]
    assert run.batches()[-1] == ["ToolReturned", "ToolReturned", "Suspended"]
    assert len(run.model.requests) == 1


@in_virtual_time
async def test_time_that_was_suspended_does_not_count() -> None:
    run = Run(world_.reply("a-5"), END)
    await run.drive_and(3, run.wish(suspend=True))
    await asyncio.sleep(5000)
    again = Run(world=run.world)
    await again.drive()
    assert again.reason == "RootCauseFound"
    assert again.book.state.waited == datetime.timedelta(seconds=5000)
    assert again.model.requests[-1].final is False


@in_virtual_time
async def test_an_alert_that_resolves_before_anything_was_spent_ends_the_run() -> None:
    run = Run(END)
    run.opened = dataclasses.replace(
        run.opened,
        task=briefing.Briefing(
            namespace="shop",
            alerts=(alerts.Alert(status="firing", labels={}, annotations={}, starts_at=""),),
        ),
    )
    run.box.put(inbox.Wishes(resolved=True))
    await run.drive()
    assert run.reason == "AlertResolved"
    assert run.world.asked == []


@in_virtual_time
async def test_an_alert_that_resolves_later_is_noted_and_the_run_goes_on() -> None:
    run = Run(world_.reply("a-5"), END)
    await run.drive_and(3, run.wish(resolved=True))
    assert run.reason == "RootCauseFound"
    assert run.book.state.alerts_resolved_at is not None


# --- the journal ------------------------------------------------------------------------------------------------------


class Outage(world_.World):
    """A journal that can't be written from its n-th append on, for so many tries."""

    def __init__(
        self, script: Sequence[messages.ModelReply], *, at: int, tries: int, error: Exception
    ) -> None:
        super().__init__(script)
        self._at, self._tries, self._error = at, tries, error
        self.refused: list[tuple[int, int]] = []

    async def append(self, key: ports.RunKey, batch: ports.Batch) -> None:
        if batch.number == self._at and self._tries:
            self._tries -= 1
            self.refused.append((len(self.asked), len(self.ran)))
            raise self._error
        await super().append(key, batch)


@in_virtual_time
@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_while_the_journal_is_away_nothing_starts_and_then_it_goes_on(at: int) -> None:
    world = Outage(
        (world_.reply("a", "b"), END), at=at, tries=9, error=errors.JournalUnavailable("away")
    )
    run = Run(world=world)
    await run.drive()
    assert run.reason == "RootCauseFound"
    assert len(set(world.refused)) == 1, "something started during the outage"
    assert now() >= 30
    world_.check(world, run.book.state)
    assert run.book.unavailable_since is None


@in_virtual_time
@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_a_fenced_holder_stops_at_once(at: int) -> None:
    world = Outage((world_.reply("a", "b"), END), at=at, tries=1, error=errors.Fenced("other"))
    run = Run(world=world)
    with pytest.raises(errors.Fenced):
        await run.drive()
    assert (len(world.asked), len(world.ran)) == world.refused[0]
    assert len(world.batches) == at
    assert run.reason == ""


@in_virtual_time
async def test_a_holder_that_is_cancelled_leaves_no_task_behind() -> None:
    run = Run(world_.reply(f"a-{FOREVER}", f"b-{FOREVER}"), END)
    task = asyncio.ensure_future(run.drive())
    await asyncio.sleep(5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert run.batches()[-1] == ["ModelReplied", "ToolStarted", "ToolStarted"]


@in_virtual_time
async def test_a_model_with_a_bug_fails_the_run_and_not_silently() -> None:
    run = Run(END)

    async def broken(_: messages.ModelRequest) -> messages.ModelReply:
        raise RuntimeError("a bug")

    run.model.ask = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(RuntimeError, match="a bug"):
        await run.drive()


@in_virtual_time
async def test_holders_that_die_again_and_again_end_as_crash_loop() -> None:
    world = world_.World((END,))
    for _ in range(loop.CLAIMS_WITHOUT_PROGRESS - 1):
        dying = Run(world=world, delays={1: FOREVER})
        task = asyncio.ensure_future(dying.drive())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    last = Run(world=world)
    await last.drive()
    assert last.reason == "CrashLoop"
    assert [type(event) for event in world.journaled()].count(events.Claimed) == 5


@in_virtual_time
@pytest.mark.parametrize("ticks", range(12))
async def test_no_cancellation_is_lost_as_a_turn_ends(ticks: int) -> None:
    """A holder that stops cancels the run at any moment, also between two turns."""
    run = Run(world_.reply("a-1000"), delays={1: 5})
    task = asyncio.ensure_future(run.drive())
    await asyncio.sleep(5)
    for _ in range(ticks):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=1)
    assert done
    assert task.cancelled()
