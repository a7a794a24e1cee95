"""A small world in which an engine can die between any two writes, and the checks that must hold whatever happens.

In goes a script (what the model answers at each step, what the tools return) and a schedule of crashes. The real drive
loop, ledger and codec run; journal, model and tools are in memory. The world itself, not the engine, records what was
performed, so an engine that lies to its journal is seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from kubewhy import errors
from kubewhy.core import briefing, conversation, events, limits, loop, messages, ports, state, tools
from kubewhy.engine import codec, drive, inbox, ledger, perform

Result = TypeVar("Result")
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
KEY = ports.RunKey(namespace="shop", name="checkout", uid="0123456789abcdef")
SPEC = tools.ToolSpec(
    name="look",
    description="looks",
    toolset="test",
    parameters={
        "type": "object",
        "properties": {"at": {"type": "string"}},
        "required": ["at"],
    },
)


class Crash(BaseException):
    """kill -9: nothing of the process survives but what the journal holds."""


@dataclasses.dataclass
class Clock:
    """Moves one second forward at each look, so that no two events share a time."""

    moment: datetime.datetime = START
    tick: datetime.timedelta = datetime.timedelta(milliseconds=10)

    def now(self) -> datetime.datetime:
        self.moment += self.tick
        return self.moment


class World:
    """Journal, model and tools that outlive the engine. `schedule` lists at which of the passed points to crash."""

    def __init__(self, script: Sequence[messages.ModelReply], schedule: Sequence[int] = ()) -> None:
        self.script = script
        self.batches: list[ports.Batch] = []
        self.outputs: dict[str, str] = {}
        self.asked: list[int] = []
        self.ran: list[tuple[str, bool]] = []
        self.clock = Clock()
        self._points = 0
        self._schedule = set(schedule)

    def point(self) -> None:
        """A place between two writes at which the process may die."""
        self._points += 1
        if self._points in self._schedule:
            raise Crash

    async def load(self, _key: ports.RunKey) -> Sequence[ports.Batch]:
        return tuple(self.batches)

    async def append(self, _key: ports.RunKey, batch: ports.Batch) -> None:
        self.point()
        if batch.number < len(self.batches):
            raise errors.Fenced("another batch has that number")
        self.batches.append(batch)
        self.point()

    async def store(self, _key: ports.RunKey, digest: str, text: str) -> None:
        self.point()
        self.outputs[digest] = text
        self.point()

    async def fetch(self, _key: ports.RunKey, digest: str) -> str:
        return self.outputs[digest]

    def journaled(self) -> list[events.Event]:
        """Every event that is stored."""
        found: list[events.Event] = []
        for batch in self.batches:
            found += codec.decode(batch.data, self.outputs)
        return found


class ScriptedModel:
    """Answers step n with the script's n-th reply, so that a step asked again gets the same answer."""

    name = "scripted"
    context_tokens = 100_000

    def __init__(self, world: World) -> None:
        self._world = world

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        check_conversation(request.messages)
        step = sum(message.role is messages.Role.ASSISTANT for message in request.messages)
        self._world.asked.append(step + 1)
        await asyncio.sleep(0)
        self._world.point()
        return self._world.script[min(step, len(self._world.script) - 1)]


class Look:
    """A read tool that records each run, and whether the journal knew of it beforehand."""

    spec = SPEC

    def __init__(self, world: World) -> None:
        self._world = world

    async def run(
        self, _context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        where = str(arguments["at"])
        started = [
            event for event in self._world.journaled() if isinstance(event, events.ToolStarted)
        ]
        self._world.ran.append((where, bool(started)))
        await asyncio.sleep(0)
        self._world.point()
        if where.startswith("fail"):
            raise errors.ToolFailure("NotFound", f"{where} does not exist")
        return tools.ToolOutput(text=f"seen at {where}: the decisive line of {where}\n" * 2)


def check_conversation(conversation_: Sequence[messages.Message]) -> None:
    """Every call of an assistant message is followed by exactly one result, before anything else is said."""
    waiting: list[str] = []
    for message in conversation_:
        if message.role is messages.Role.TOOL:
            assert message.call_id in waiting, f"result {message.call_id} answers no open call"
            waiting.remove(message.call_id)
        else:
            assert not waiting, f"calls without a result: {waiting}"
            waiting = [call.id for call in message.calls]
    assert not waiting, f"calls without a result: {waiting}"


def opened() -> events.Opened:
    return events.Opened(
        at=START,
        task=briefing.Briefing(namespace="shop", question="why?"),
        model="scripted",
        limits=limits.Limits(steps=8),
        system="find out why",
        fence="f00d",
        tools=(SPEC,),
    )


async def live_once(world: World, *, engine: type[ledger.Ledger] = ledger.Ledger) -> state.State:
    """One life of a process: load, claim, drive to the end; raises Crash where the schedule says so."""
    book = engine(KEY, world, world.clock)
    await book.load()
    first = () if book.state.opened else (opened(),)
    await book.claim(book.state.epoch + 1, "holder", *first)
    performer = perform.Performer(
        model=ScriptedModel(world),
        toolbox={SPEC.name: Look(world)},
        context=ports.ToolContext(
            namespace="shop", subject=None, kube=NO_KUBE, now=world.clock.now
        ),
        clock=world.clock,
        redact=lambda text: text,
        parallel=asyncio.Semaphore(4),
    )
    await drive.drive(book, performer, inbox.Inbox(inbox.Wishes()))
    return book.state


def live(
    world: World, *, engine: type[ledger.Ledger] = ledger.Ledger, lives: int = 40
) -> state.State:
    """Lives until one reaches the end; checks after each death that nothing stored was changed."""
    for _ in range(lives):
        before = [batch.data for batch in world.batches]
        with contextlib.suppress(Crash):
            return run(live_once(world, engine=engine))
        assert [batch.data for batch in world.batches[: len(before)]] == before
    raise AssertionError(f"no end after {lives} lives")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """As asyncio.run, but the loop that pytest has set for this thread stays as it is."""
    loop_ = asyncio.new_event_loop()
    try:
        return loop_.run_until_complete(work)
    finally:
        for task in asyncio.all_tasks(loop_):
            task.cancel()
        loop_.run_until_complete(asyncio.sleep(0))
        loop_.close()


def check(world: World, final: state.State) -> None:
    """What must hold at the end of any life, whatever crashed."""
    stored = world.journaled()
    assert final.concluded is not None
    assert [event for event in stored if isinstance(event, events.Concluded)] == [final.concluded]
    assert all(known for _, known in world.ran), "a tool ran before ToolStarted was stored"
    returned = [event.call for event in stored if isinstance(event, events.ToolReturned)]
    assert len(returned) == len(set(returned)), "a call has two results"
    replied = [event.step for event in stored if isinstance(event, events.ModelReplied)]
    assert len(replied) == len(set(replied)), "a step has two replies"
    assert all(call.result is not None for call in final.calls()), "a call has no result"
    check_conversation(conversation.messages(final))
    folded = state.State()
    for event in stored:
        folded = loop.apply(folded, event)
    assert folded == final, "the state is not what the journal tells"


def reply(*places: str, text: str = "") -> messages.ModelReply:
    """A reply that calls `look` once per place."""
    calls = tuple(
        messages.RequestedCall(tool="look", arguments=json.dumps({"at": place})) for place in places
    )
    return messages.ModelReply(
        text=text, calls=calls, usage=messages.Usage(input_tokens=10, output_tokens=5)
    )


def conclude(call: str, quote: str) -> messages.ModelReply:
    """A reply that concludes with one quote of the named call."""
    answer = {
        "verdict": "RootCauseFound",
        "summary": "it is broken",
        "rootCause": {"statement": "because", "evidence": [{"call": call, "quote": quote}]},
    }
    call_ = messages.RequestedCall(tool="conclude", arguments=json.dumps(answer))
    return messages.ModelReply(calls=(call_,))


class _NoKube:
    """No tool of this world reads the cluster."""

    namespace = "shop"

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the cluster was read: {name}")


NO_KUBE: Any = _NoKube()
