"""The public fakes keep the promises of the ports they stand for."""

import asyncio
import hashlib

import pytest

from kubewhy import errors, testing
from kubewhy.core import ports, tools

KEY = ports.RunKey(namespace="shop", name="checkout", uid="u1")
OTHER = ports.RunKey(namespace="shop", name="checkout", uid="u2")


def batch(number: int, data: bytes = b"x") -> ports.Batch:
    return ports.Batch(number=number, first_event=number, event_count=1, epoch=1, data=data)


def context() -> ports.ToolContext:
    clock = testing.FakeClock()
    return ports.ToolContext(namespace="shop", subject=None, kube=None, now=clock.now)  # type: ignore[arg-type]


async def test_the_journal_compares_and_swaps() -> None:
    journal: ports.Journal = testing.InMemoryJournal()
    await journal.append(KEY, batch(0, b"a"))
    await journal.append(KEY, batch(0, b"a"))
    with pytest.raises(errors.Fenced):
        await journal.append(KEY, batch(0, b"b"))
    with pytest.raises(errors.JournalLost):
        await journal.append(KEY, batch(2))
    await journal.append(KEY, batch(1, b"b"))
    assert [stored.data for stored in await journal.load(KEY)] == [b"a", b"b"]
    assert await journal.load(OTHER) == ()


async def test_the_journal_keeps_outputs_by_digest() -> None:
    journal: ports.Journal = testing.InMemoryJournal()
    digest = hashlib.sha256(b"long").hexdigest()
    await journal.store(KEY, digest, "long")
    assert await journal.fetch(KEY, digest) == "long"
    with pytest.raises(errors.JournalLost):
        await journal.fetch(OTHER, digest)
    with pytest.raises(ValueError, match="not the sha256"):
        await journal.store(KEY, digest, "other")


async def test_an_unavailable_journal_stores_nothing() -> None:
    journal = testing.InMemoryJournal()
    journal.unavailable = True
    with pytest.raises(errors.JournalUnavailable):
        await journal.append(KEY, batch(0))
    journal.unavailable = False
    assert await journal.load(KEY) == ()


def test_the_clock_stands_until_it_is_moved() -> None:
    clock: ports.Clock = testing.FakeClock()
    first = clock.now()
    assert clock.now() == first
    assert first.tzinfo is not None
    moving = testing.FakeClock(first)
    moving.advance(90)
    assert (moving.now() - first).total_seconds() == 90


async def test_a_tool_gives_its_outcome_and_remembers_its_runs() -> None:
    tool: ports.Tool = testing.FakeTool("look", "found")
    assert await tool.run(context(), {"a": 1}) == tools.ToolOutput(text="found")
    empty = tools.ToolOutput(text="", status=tools.ToolStatus.NO_DATA)
    assert await testing.FakeTool(outcome=empty).run(context(), {}) == empty
    echo = testing.FakeTool(outcome=lambda arguments: f"got {arguments['a']}")
    assert (await echo.run(context(), {"a": 2})).text == "got 2"
    assert echo.runs == [{"a": 2}]
    with pytest.raises(errors.ToolFailure):
        await testing.FakeTool(outcome=errors.ToolFailure("Forbidden", "no")).run(context(), {})


async def test_a_held_tool_waits_and_counts_its_cancellation() -> None:
    hold = asyncio.Event()
    tool = testing.FakeTool(hold=hold)
    task = asyncio.ensure_future(tool.run(context(), {}))
    await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tool.cancelled == 1
    hold.set()
    assert (await tool.run(context(), {})).text == "ok"


async def test_programs_are_found_by_name() -> None:
    killed = ports.ProcessResult(exit_code=-9, output="", total_bytes=0)
    runner = testing.FakeProcessRunner({"echo": "hello", "hog": killed})
    port: ports.ProcessRunner = runner
    result = await port.run(["echo", "x"], environment={}, timeout_seconds=1, limit_bytes=4)
    assert (result.output, result.total_bytes, result.truncated) == ("hell", 5, True)
    assert await port.run(["hog"], environment={}, timeout_seconds=1) == killed
    with pytest.raises(errors.ToolFailure, match="absent can't be started"):
        await port.run(["absent"], environment={}, timeout_seconds=1)
    assert runner.runs == [("echo", "x"), ("hog",), ("absent",)]


async def test_http_replies_by_url() -> None:
    missing = ports.HttpReply(status=404, headers={}, body=b"")
    reader = testing.FakeHttpReader({"http://a/": "hello", "http://b/": missing})
    port: ports.HttpReader = reader
    reply = await port.get("http://a/", params={"q": "1"}, limit_bytes=2)
    assert (reply.body, reply.truncated) == (b"he", True)
    assert await port.get("http://b/") == missing
    with pytest.raises(errors.ToolFailure, match="can't be reached"):
        await port.get("http://c/")
    assert reader.requests[0] == ("http://a/", {"q": "1"})
