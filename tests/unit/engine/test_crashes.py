"""The engine dies between any two writes and goes on as if nothing had happened; broken engines are caught."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crash_world as world_
from kubewhy import errors
from kubewhy.core import events, loop, state
from kubewhy.engine import drive, ledger

SCRIPT = (
    world_.reply("a", "b", "fail-1"),
    world_.reply("c"),
    world_.conclude("2-0", "the decisive line of c"),
)
PLACES = st.sampled_from(["a", "b", "c", "d", "fail-1", "fail-2"])
STEPS = st.lists(st.lists(PLACES, min_size=1, max_size=4), min_size=0, max_size=4)
SCHEDULES = st.lists(st.integers(1, 40), max_size=3, unique=True)
"""Fewer than the claims without progress that are a crash loop."""


def _uncrashed(script: Any) -> state.State:
    world = world_.World(script)
    final = world_.live(world)
    world_.check(world, final)
    return final


def test_the_script_ends_in_a_proven_root_cause() -> None:
    final = _uncrashed(SCRIPT)
    assert final.concluded is not None
    assert final.concluded.reason == "RootCauseFound"


@pytest.mark.parametrize("point", range(1, 30))
def test_one_crash_at_any_point_changes_nothing(point: int) -> None:
    world = world_.World(SCRIPT, [point])
    final = world_.live(world)
    world_.check(world, final)
    assert final.concluded is not None
    assert final.concluded.reason == "RootCauseFound"
    assert len(world.asked) <= 4, "more than one model request was repeated"


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, schedule=SCHEDULES)
def test_any_crashes_in_any_script(steps: list[list[str]], schedule: list[int]) -> None:
    script = (
        *(world_.reply(*places) for places in steps),
        world_.conclude("1-0", "the decisive line of a"),
    )
    expected = _uncrashed(script)
    world = world_.World(script, schedule)
    final = world_.live(world)
    world_.check(world, final)
    assert final.concluded is not None
    assert expected.concluded is not None
    assert final.concluded.reason == expected.concluded.reason
    assert final.concluded.conclusion == expected.concluded.conclusion
    assert len(world.asked) <= len(final.steps) + len(schedule)


class _Late(ledger.Ledger):
    """Broken: applies the announcements at once and stores them only with the next batch."""

    _held: tuple[events.Event, ...] = ()

    async def append(self, *batch: events.Event) -> None:
        started = tuple(event for event in batch if isinstance(event, events.ToolStarted))
        rest = tuple(event for event in batch if event not in started)
        held, self._held = self._held, started
        await super().append(*held, *rest)
        for event in started:
            self.state = loop.apply(self.state, event)


def _fails(script: Any, schedules: Any, **world_options: Any) -> bool:
    """Whether the checks catch the engine under at least one of the schedules."""
    for schedule in schedules:
        world = world_.World(script, schedule)
        try:
            world_.check(world, world_.live(world, **world_options))
        except (AssertionError, ValueError):
            return True
    return False


EVERY_POINT = [[], *([point] for point in range(1, 30))]


def test_a_tool_that_runs_before_its_start_is_stored_is_caught() -> None:
    assert _fails(SCRIPT, EVERY_POINT, engine=_Late)


def test_a_repeated_call_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: a restart forgets an unanswered request, and the results that were stored with it."""
    claimed = loop._APPLY[events.Claimed]

    def forgetful(current: state.State, event: Any) -> state.State:
        current = claimed(current, event)
        if len(current.steps) < 2 or current.step is None or current.step.replied:
            return current
        current = dataclasses.replace(current, steps=current.steps[:-1])
        assert current.step is not None
        calls = tuple(
            dataclasses.replace(call, result=None, in_flight=False) if call.executed else call
            for call in current.step.calls
        )
        step = dataclasses.replace(current.step, calls=calls, answer=None)
        return dataclasses.replace(current, steps=(*current.steps[:-1], step))

    monkeypatch.setitem(loop._APPLY, events.Claimed, forgetful)
    assert _fails(SCRIPT, EVERY_POINT)


def test_a_stale_reply_that_is_accepted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: each reply is noted twice, and the second one overwrites the step it no longer belongs to."""
    turn = drive._turn

    async def doubled(*arguments: Any) -> list[events.Event]:
        noted = await turn(*arguments)
        return [event for event in noted for _ in range(2)]

    monkeypatch.setattr(drive, "_turn", doubled)
    accepting = loop._replied

    def accept(current: state.State, event: Any) -> state.State:
        assert current.step is not None
        step = dataclasses.replace(current.step, in_flight=True)
        return accepting(dataclasses.replace(current, steps=(*current.steps[:-1], step)), event)

    monkeypatch.setitem(loop._APPLY, events.ModelReplied, accept)
    assert _fails(SCRIPT, EVERY_POINT)


def test_a_second_holder_is_fenced() -> None:
    """The one who appends last finds its number taken and stops."""
    world = world_.World(SCRIPT)

    async def race() -> None:
        first, second = (ledger.Ledger(world_.KEY, world, world.clock) for _ in range(2))
        await first.load()
        await second.load()
        await second.claim(2, "second", world_.opened())
        with pytest.raises(errors.Fenced):
            await first.claim(1, "first", world_.opened())

    world_.run(race())
