"""One effect in, one event out: whatever a tool or a model does, what is stored is bounded, readable and redacted."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

import crash_world as world_
from kubewhy import errors
from kubewhy.core import (
    admission,
    call_arguments,
    conclusion,
    effects,
    events,
    loop,
    messages,
    ports,
    redaction,
    state,
    tools,
)
from kubewhy.engine import codec, inbox, ledger, perform
from kubewhy.engine import drive as drive_
from virtual_time import in_virtual_time

MIB = 1024 * 1024
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
"""The shape of a credential; nobody's."""

Behaviour = Callable[[Mapping[str, Any]], Awaitable[Any]]


@dataclasses.dataclass(frozen=True)
class Tool:
    """A tool that does what the test says."""

    behaviour: Behaviour
    spec: tools.ToolSpec = world_.SPEC

    def run(self, _context: ports.ToolContext, arguments: Mapping[str, Any]) -> Awaitable[Any]:
        return self.behaviour(arguments)


@dataclasses.dataclass(frozen=True)
class Model:
    """A model that does what the test says."""

    behaviour: Callable[[messages.ModelRequest], Awaitable[messages.ModelReply]]
    name: str = "test"
    context_tokens: int = 100_000

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        return await self.behaviour(request)


async def _silent(_: Any) -> Any:
    await asyncio.sleep(1e9)


def _performer(
    tool: Behaviour | Tool = _silent, model: Any = _silent, *, parallel: int = 16
) -> perform.Performer:
    found = tool if isinstance(tool, Tool) else Tool(tool)
    return perform.Performer(
        model=Model(model),
        toolbox={found.spec.name: found},
        context=ports.ToolContext(
            namespace="shop", subject=None, kube=world_.NO_KUBE, now=world_.Clock().now
        ),
        clock=world_.Clock(),
        redact=redaction.redact,
        parallel=asyncio.Semaphore(parallel),
    )


def _state(*places: str) -> state.State:
    """A run whose first step asked for `look` at these places; all calls have started."""
    found = loop.apply(state.State(), world_.opened())
    found = loop.apply(found, events.ModelAsked(at=world_.START, step=1))
    reply = world_.reply(*places)
    replied = events.ModelReplied(
        at=world_.START, step=1, text="", calls=reply.calls, usage=reply.usage
    )
    found = loop.apply(found, replied)
    for effect in loop.due(found):
        found = loop.apply(found, loop.begin(effect, world_.START))
    return found


async def _results(
    performer: perform.Performer, current: state.State
) -> tuple[tools.ToolResult, ...]:
    """What becomes of all calls, side by side, in call order."""
    works = [work for work in loop.in_flight(current) if isinstance(work, effects.RunTool)]
    returned = await asyncio.gather(*(performer.run(work, current) for work in works))
    assert [event.call for event in returned] == [work.call.id for work in works]
    return tuple(event.result for event in returned)


async def _result(behaviour: Behaviour | Tool, *, current: state.State | None = None) -> Any:
    (result,) = await _results(_performer(behaviour), current or _state("a"))
    return result


def _raising(error: Exception) -> Callable[[Any], Awaitable[Any]]:
    async def behaviour(_: Any) -> Any:
        raise error

    return behaviour


def _saying(text: str, **more: Any) -> Behaviour:
    async def behaviour(_: Any) -> Any:
        return tools.ToolOutput(text=text, **more)

    return behaviour


# --- how a call ends --------------------------------------------------------------------------------------------------


@in_virtual_time
async def test_a_hanging_tool_times_out_and_leaves_its_siblings_alone() -> None:
    async def behaviour(arguments: Mapping[str, Any]) -> tools.ToolOutput:
        if arguments["at"] == "hangs":
            await asyncio.sleep(1e9)
        return tools.ToolOutput(text=f"seen {arguments['at']}")

    clock = asyncio.get_running_loop()
    began = clock.time()
    results = await _results(_performer(behaviour), _state("a", "hangs", "b"))
    assert clock.time() - began <= world_.SPEC.timeout_seconds + perform.GRACE_SECONDS
    assert [result.text for result in results] == [
        "seen a",
        "look gave no result within 30 s",
        "seen b",
    ]
    assert results[1].status is tools.ToolStatus.TIMED_OUT


@in_virtual_time
async def test_a_tool_that_bounds_itself_has_a_moment_to_hand_back_what_it_has() -> None:
    async def behaviour(_: Any) -> tools.ToolOutput:
        await asyncio.sleep(world_.SPEC.timeout_seconds + perform.GRACE_SECONDS / 2)
        return tools.ToolOutput(text="half of it", truncated=True)

    assert (await _result(behaviour)).text == "half of it"


@in_virtual_time
async def test_results_come_in_the_order_of_the_calls_whatever_ends_first() -> None:
    async def behaviour(arguments: Mapping[str, Any]) -> tools.ToolOutput:
        await asyncio.sleep(float(arguments["at"]))
        return tools.ToolOutput(text=str(arguments["at"]))

    world = world_.World((world_.reply("3", "1", "2"), world_.conclude("1-0", "no such line")))
    performer = dataclasses.replace(_performer(behaviour), model=world_.ScriptedModel(world))
    book = ledger.Ledger(world_.KEY, world, world.clock)
    await book.claim(1, "me", world_.opened())
    await drive_.drive(book, performer, inbox.Inbox(inbox.Wishes()))
    returned = [event for event in world.journaled() if isinstance(event, events.ToolReturned)]
    assert [event.result.text for event in returned] == ["3", "1", "2"]


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (RuntimeError("a bug"), "Error", "look failed: RuntimeError: a bug"),
        (errors.ApiForbidden("may not list pods in shop", status=403), "Forbidden", "may not list pods in shop"),
        (errors.ApiNotFound("no pod x", status=404), "NotFound", "no pod x"),
        (errors.ApiUnavailable("busy", status=503), "Error", "busy"),
        (errors.ToolFailure("NoData", "nothing there"), "NoData", "nothing there"),
        (errors.ToolFailure("Exploded", "odd"), "Error", "look failed: ToolFailure: odd"),
        (KeyError("x"), "Error", "look failed: KeyError: 'x'"),
        (ValueError("\ud800"), "Error", "look failed: ValueError: "),
    ],
)  # fmt: skip
async def test_what_a_tool_raises_becomes_its_result(
    error: Exception, status: str, text: str
) -> None:
    result = await _result(_raising(error))
    assert (result.status.value, result.text) == (status, text)


async def test_a_tool_that_hands_back_something_else_is_an_error() -> None:
    async def behaviour(_: Any) -> Any:
        return None

    result = await _result(behaviour)
    assert result.status is tools.ToolStatus.ERROR
    assert "NoneType" in result.text


async def test_a_tool_that_writes_is_refused_and_not_run() -> None:
    ran: list[Any] = []

    async def behaviour(arguments: Any) -> tools.ToolOutput:
        ran.append(arguments)
        return tools.ToolOutput(text="done")

    spec = dataclasses.replace(world_.SPEC, effect=tools.ToolEffect.WRITE)
    result = await _result(Tool(behaviour, spec))
    assert result.status is tools.ToolStatus.REFUSED
    assert "approval" in result.text
    assert ran == []


async def test_a_tool_that_is_gone_is_refused() -> None:
    performer = dataclasses.replace(_performer(), toolbox={})
    (result,) = await _results(performer, _state("a"))
    assert result.status is tools.ToolStatus.REFUSED


@in_virtual_time
async def test_no_more_tools_than_the_limit_are_at_work_at_once() -> None:
    working, most = 0, 0

    async def behaviour(_: Any) -> tools.ToolOutput:
        nonlocal working, most
        working += 1
        most = max(most, working)
        await asyncio.sleep(1)
        working -= 1
        return tools.ToolOutput(text="x")

    clock = asyncio.get_running_loop()
    results = await _results(_performer(behaviour, parallel=16), _state(*map(str, range(40))))
    assert most == 16
    assert len(results) == 40
    assert clock.time() == pytest.approx(3.0)


@in_virtual_time
async def test_waiting_for_a_turn_does_not_count_as_time_of_the_tool() -> None:
    async def behaviour(_: Any) -> tools.ToolOutput:
        await asyncio.sleep(20)
        return tools.ToolOutput(text="x")

    results = await _results(_performer(behaviour, parallel=1), _state("a", "b", "c"))
    assert {result.status for result in results} == {tools.ToolStatus.SUCCESS}


# --- how much is kept -------------------------------------------------------------------------------------------------


async def test_of_100_mb_the_head_and_the_tail_are_stored() -> None:
    line = "0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789abc\n"
    text = "the first line\n" + line * (100_000_000 // len(line)) + "the last line"
    tracemalloc.start()
    result = await _result(_saying(text))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(result.text.encode()) <= tools.STORED_TEXT_BYTES
    assert len(result.text) > tools.STORED_TEXT_BYTES * 3 // 4
    assert result.text.startswith("the first line\n")
    assert result.text.endswith("the last line")
    assert result.total_bytes == len(text)
    assert result.truncated
    left_out = int(result.text.partition("\n… ")[2].partition(" ")[0])
    assert left_out + len(result.text) == pytest.approx(len(text), abs=200)
    assert peak < len(text) + 64 * MIB, "more copies of the whole output than one"


@pytest.mark.parametrize("character", ["é", "日", "😀"])
async def test_the_bound_is_in_bytes(character: str) -> None:
    result = await _result(_saying((character * 60 + "\n") * 60_000))
    size = len(result.text.encode())
    assert tools.STORED_TEXT_BYTES * 3 // 4 < size <= tools.STORED_TEXT_BYTES


async def test_a_stored_output_fits_a_record_even_if_it_does_not_compress() -> None:
    """etcd takes 1.5 MiB; the schema of InvestigationRecord bounds `data`."""
    chance = random.Random(7)
    text = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(MIB))
    result = await _result(_saying(text))
    returned = events.ToolReturned(at=world_.START, call="1-0", attempt=1, result=result)
    data, outputs = codec.encode([returned])
    assert len(data) < 64 * 1024
    (stored,) = outputs.values()
    assert len(stored.encode()) <= tools.STORED_TEXT_BYTES


async def test_a_run_stores_at_most_8_mib_of_output() -> None:
    """Of 64 calls at once each has its part, and later ones keep what a model is shown."""
    big = "x" * 79 + "\n"
    current = _state(*map(str, range(64)))
    performer = _performer(_saying(big * 3000))
    for result, work in zip(
        await _results(performer, current), loop.in_flight(current), strict=True
    ):
        assert isinstance(work, effects.RunTool)
        returned = events.ToolReturned(at=world_.START, call=work.call.id, attempt=1, result=result)
        current = loop.apply(current, returned)
    stored = sum(len(text) for text in current.outputs().values())
    assert perform.OUTPUT_BUDGET * 3 // 4 < stored <= perform.OUTPUT_BUDGET
    late = await performer.run(
        effects.RunTool(call=tools.ToolCall(id="2-0", tool="look", arguments="{}")), current
    )
    assert 15_000 < len(late.result.text) <= 160_000  # fmt: skip


async def test_an_output_that_was_cut_by_its_tool_stays_marked_as_cut() -> None:
    result = await _result(_saying("short", truncated=True, total_bytes=10**9))
    assert result.truncated
    assert result.total_bytes == 10**9


# --- what is readable -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a\ud800b", "ab"),
        ("a\x00b\x07c", "abc"),
        ("\x1b[31mERROR\x1b[0m: no", "ERROR: no"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("10 %\r50 %\r\ndone\tnow", "10 %\n50 %\ndone\tnow"),
        ("tag\U000e0041\U000e0042s", "tags"),
        ("日本 ünïcode 😀", "日本 ünïcode 😀"),
    ],
)
async def test_what_cannot_be_seen_or_stored_is_removed(text: str, stored: str) -> None:
    result = await _result(_saying(text))
    assert result.text == stored
    returned = events.ToolReturned(at=world_.START, call="1-0", attempt=1, result=result)
    data, outputs = codec.encode([returned])
    assert codec.decode(data, outputs) == [returned]


# --- what is secret ---------------------------------------------------------------------------------------------------


async def test_output_is_redacted_also_where_a_control_character_hides_it() -> None:
    hidden = TOKEN[:20] + "\u200b" + TOKEN[20:]
    result = await _result(_saying(f"one {TOKEN} two {hidden}"))
    assert TOKEN not in result.text
    assert redaction.MASK in result.text


async def test_the_words_of_an_error_are_redacted_before_they_are_cut() -> None:
    filler = "x" * (perform.ERROR_LENGTH - 30) + " "
    result = await _result(_raising(RuntimeError(filler + TOKEN)))
    assert TOKEN[:8] not in result.text
    assert len(result.text) <= perform.ERROR_LENGTH


async def test_a_credential_on_the_line_of_the_cut_is_not_stored_in_half() -> None:
    """The place of the cut moves over the token; no piece of it may stay."""
    for shift in (0, 25, 50, 75):
        text = "y" * (perform.READ_CHARACTERS // 3 * 2 - 60 + shift) + TOKEN + "z" * 4 * MIB
        assert TOKEN[:8] not in (await _result(_saying(text))).text


async def test_what_a_model_says_and_asks_is_redacted() -> None:
    async def behaviour(_: Any) -> messages.ModelReply:
        call = messages.RequestedCall(tool="look", arguments=f'{{"at": "{TOKEN}"}}')
        return messages.ModelReply(text=f"I use {TOKEN}\x00", calls=(call,))

    replied = await _asked(behaviour)
    assert isinstance(replied, events.ModelReplied)
    assert TOKEN not in f"{replied.text} {replied.calls}"
    assert "\x00" not in replied.text


async def test_what_a_model_fails_with_is_redacted_and_bounded() -> None:
    failed = await _asked(_raising(errors.ModelAuthFailed(f"key {TOKEN} is wrong. " + "x" * 5000)))
    assert isinstance(failed, events.ModelFailed)
    assert failed.error == "ModelAuthFailed"
    assert TOKEN not in failed.message
    assert len(failed.message) <= perform.ERROR_LENGTH


# --- asking a model ---------------------------------------------------------------------------------------------------


async def _asked(
    behaviour: Callable[[messages.ModelRequest], Awaitable[Any]],
    *,
    final: bool = False,
    seconds: float = 5.0,
) -> events.Event:
    current = loop.apply(state.State(), world_.opened())
    current = loop.apply(current, events.ModelAsked(at=world_.START, step=1, final=final))
    effect = effects.AskModel(step=1, final=final)
    return await _performer(model=behaviour).ask(effect, current, seconds)


@in_virtual_time
async def test_a_silent_model_is_unavailable_after_the_time_it_had() -> None:
    clock = asyncio.get_running_loop()
    failed = await _asked(_silent, seconds=5.0)
    assert isinstance(failed, events.ModelFailed)
    assert failed.error == "ModelUnavailable"
    assert failed.message == "no reply within 5 s"
    assert clock.time() <= 5.0 + perform.GRACE_SECONDS


@pytest.mark.parametrize("final", [False, True])
async def test_tools_are_offered_but_on_the_concluding_step(final: bool) -> None:
    seen: list[messages.ModelRequest] = []

    async def behaviour(request: messages.ModelRequest) -> messages.ModelReply:
        seen.append(request)
        return messages.ModelReply(text="hm")

    await _asked(behaviour, final=final)
    offered = [spec.name for spec in seen[0].tools]
    assert offered == ([] if final else ["look", conclusion.CONCLUDE.name])
    assert seen[0].final is final
    assert seen[0].timeout_seconds == 5.0


async def test_an_endless_reply_is_bounded() -> None:
    async def behaviour(_: Any) -> messages.ModelReply:
        call = messages.RequestedCall(tool="t" * 10**6, arguments="a" * 10**6)
        return messages.ModelReply(text="x" * 10**7, calls=(call,) * 1000, finish="f" * 10**6)

    replied = await _asked(behaviour)
    assert isinstance(replied, events.ModelReplied)
    assert len(replied.text) <= perform.REPLY_CHARACTERS
    assert {len(call.arguments) for call in replied.calls} == {call_arguments.LONGEST + 1}
    assert len(replied.calls) == perform.ARGUMENTS_CHARACTERS // (call_arguments.LONGEST + 1)
    assert max(len(call.tool) for call in replied.calls) <= 256
    assert len(replied.finish) <= 64


async def test_many_small_calls_are_stored_up_to_their_number() -> None:
    async def behaviour(_: Any) -> messages.ModelReply:
        return messages.ModelReply(
            calls=(messages.RequestedCall(tool="look", arguments="{}"),) * 1000
        )

    replied = await _asked(behaviour)
    assert isinstance(replied, events.ModelReplied)
    assert len(replied.calls) == admission.CALLS_STORED


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        (messages.Usage(input_tokens=-5, output_tokens=7), messages.Usage(output_tokens=7)),
        (messages.Usage(input_tokens=10**30), messages.Usage(input_tokens=perform.MOST_USED)),
    ],
)
async def test_usage_that_cannot_be_is_bounded(
    told: messages.Usage, counted: messages.Usage
) -> None:
    """A status refuses such numbers, and they would give budget back."""

    async def ask(_: messages.ModelRequest) -> messages.ModelReply:
        return messages.ModelReply(text="hello", usage=told)

    found = await _performer(model=ask).ask(effects.AskModel(step=1), _state(), 1.0)
    assert isinstance(found, events.ModelReplied)
    assert found.usage == counted


async def test_what_an_unusable_reply_has_cost_is_journaled() -> None:
    paid = messages.Usage(input_tokens=100, cost_micro_usd=9)

    async def ask(_: messages.ModelRequest) -> messages.ModelReply:
        raise errors.ModelProtocolError("cut off", usage=paid)

    found = await _performer(model=ask).ask(effects.AskModel(step=1), _state(), 1.0)
    assert isinstance(found, events.ModelFailed)
    assert found.usage == paid
