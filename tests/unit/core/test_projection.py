"""Status from state: right columns, honest blind spots, bounded size, rebuilt the same from the journal."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

import crash_world as world_
from kubewhy.api import conditions, status
from kubewhy.core import conclusion, events, loop, projection, state, subjects, tools

AT = world_.START
SOURCE = projection.Source(
    name="checkout", uid="0123456789abcdef", generation=3, created=AT, batches=4
)


def _succeeded(projected: status.InvestigationStatus) -> conditions.Condition:
    found = conditions.find(projected.conditions, conditions.ConditionType.SUCCEEDED)
    assert found is not None
    return found


def _final(script: tuple[object, ...] = ()) -> state.State:
    world = world_.World(
        script or (world_.reply("a", "fail-1"), world_.conclude("1-0", "the decisive line of a"))  # type: ignore[arg-type]
    )
    return world_.live(world)


def _with_output(text: str, calls: int) -> state.State:
    """A concluded run with `calls` answered calls of that output."""
    current = loop.apply(state.State(), world_.opened())
    result = tools.ToolResult(status=tools.ToolStatus.SUCCESS, text=text, total_bytes=len(text))
    answered = tuple(
        state.CallState(
            call=tools.ToolCall(
                id=f"1-{index}", tool="look", arguments='{"at":"' + "x" * 3000 + '"}'
            ),
            attempt=1,
            result=result,
        )
        for index in range(calls)
    )
    step = state.StepState(number=1, in_flight=False, replied=True, calls=answered)
    ended = events.Concluded(at=AT, reason="Inconclusive", message="nothing proven")
    return dataclasses.replace(current, steps=(step,), concluded=ended)


def test_a_finished_run_says_everything() -> None:
    projected = projection.project(_final(), SOURCE)
    assert projected.finished is True
    assert _succeeded(projected).reason == "RootCauseFound"
    assert projected.root_cause is not None
    assert projected.root_cause.evidence[0].verified
    assert projected.summary == "it is broken"
    assert (projected.steps, projected.tool_calls) == (2, 2)
    assert projected.cost == "$0"
    assert projected.report is not None
    assert "the decisive line of a" in projected.report


def test_a_failed_call_is_a_blind_spot_only_when_it_hid_something() -> None:
    projected = projection.project(_final(), SOURCE)
    assert projected.blind_spots == (), "NotFound is an observation"
    forbidden = _with_output("pods is forbidden", 1)
    call = next(forbidden.calls())
    assert call.result is not None
    hidden = dataclasses.replace(call.result, status=tools.ToolStatus.FORBIDDEN)
    step = dataclasses.replace(
        forbidden.steps[0], calls=(dataclasses.replace(call, result=hidden),)
    )
    projected = projection.project(dataclasses.replace(forbidden, steps=(step,)), SOURCE)
    assert [(spot.call, spot.message) for spot in projected.blind_spots] == [
        ("1-0", "pods is forbidden")
    ]


def test_a_running_run_is_unknown_and_not_finished() -> None:
    current = loop.apply(state.State(), world_.opened())
    projected = projection.project(current, SOURCE)
    assert projected.finished is None
    assert _succeeded(projected).reason == "Running"
    assert projected.completion_time is None


def test_a_suspended_run_says_so() -> None:
    current = loop.apply(state.State(), world_.opened())
    current = loop.apply(current, events.Suspended(at=AT))
    assert _succeeded(projection.project(current, SOURCE)).reason == "Suspended"


def test_every_condition_is_there_from_the_first_visit_on() -> None:
    every = {each.value for each in conditions.ConditionType}
    first = projection.pending(SOURCE)
    last = projection.project(_final(), SOURCE)
    for projected in (first, last):
        assert {each.type for each in projected.conditions} == every
        assert all(each.observed_generation == 3 for each in projected.conditions)


@pytest.mark.parametrize(
    ("text", "calls"), [("x" * 1_000_000, 100), ("é\n" * 5_000, 200), ("\x00\u202e" * 500, 256)]
)
def test_the_status_stays_under_its_target_whatever_the_outputs(text: str, calls: int) -> None:
    projected = projection.project(_with_output(text, calls), SOURCE)
    size = len(projected.model_dump_json(by_alias=True, exclude_none=True).encode())
    assert size <= projection.TARGET_BYTES
    assert projected.finished is True


def test_a_shortened_trace_says_that_it_is() -> None:
    projected = projection.project(_with_output("x" * 100_000, 256), SOURCE)
    complete = conditions.find(projected.conditions, conditions.ConditionType.TRACE_COMPLETE)
    assert complete is not None
    assert (complete.status.value, complete.reason) == ("False", "Truncated")


def test_a_long_output_names_its_record() -> None:
    projected = projection.project(_with_output("x" * 50_000, 1), SOURCE)
    (entry,) = projected.trace
    assert entry.record is not None
    assert entry.record.startswith("checkout-01234567-o-")
    assert entry.truncated is True
    assert entry.bytes == 50_000


def test_the_small_status_keeps_the_end_and_drops_the_bulk() -> None:
    whole = projection.project(_with_output("x" * 50_000, 100), SOURCE)
    small = projection.small(whole)
    assert small.finished is True
    assert small.conditions == whole.conditions
    assert small.trace == ()
    assert len(small.model_dump_json().encode()) < 8_000


@pytest.mark.parametrize(
    ("micro", "shown"),
    [(0, "$0"), (1, "$0.001"), (21_000, "$0.021"), (21_001, "$0.022"), (2_500_000, "$2.500")],
)
def test_cost_is_shown_in_dollars(micro: int, shown: str) -> None:
    current = loop.apply(state.State(), world_.opened())
    usage = dataclasses.replace(current.usage, cost_micro_usd=micro)
    projected = projection.project(dataclasses.replace(current, usage=usage), SOURCE)
    assert projected.cost == shown


def test_the_same_journal_gives_the_same_status() -> None:
    world = world_.World((world_.reply("a"), world_.conclude("1-0", "the decisive line of a")))
    final = world_.live(world)
    again = state.State()
    for event in world.journaled():
        again = loop.apply(again, event)
    assert projection.project(again, SOURCE) == projection.project(final, SOURCE)


def test_hostile_text_cannot_open_a_tag_in_the_report() -> None:
    current = _with_output("x", 1)
    answer = conclusion.Conclusion(
        verdict=conclusion.Verdict.INCONCLUSIVE,
        summary="<script>alert(1)</script>",
        findings=(conclusion.Finding(statement="<img src=x>"),),
    )
    ended = events.Concluded(
        at=AT, reason="Inconclusive", message=answer.summary, conclusion=answer
    )
    projected = projection.project(dataclasses.replace(current, concluded=ended), SOURCE)
    assert projected.report is not None
    assert "<script" not in projected.report
    assert "<img" not in projected.report


def test_times_come_from_the_journal() -> None:
    final = _final()
    projected = projection.project(final, SOURCE)
    assert final.opened is not None
    assert final.concluded is not None
    assert projected.start_time == final.opened.at
    assert projected.completion_time == final.concluded.at
    assert _succeeded(projected).last_transition_time == final.concluded.at
    assert projected.completion_time is not None
    assert projected.completion_time - AT < datetime.timedelta(seconds=5)


def test_a_subject_never_widens_the_table() -> None:
    task = dataclasses.replace(
        world_.opened().task, subject=subjects.Subject(kind="Deployment", name="x" * 253)
    )
    current = loop.apply(state.State(), dataclasses.replace(world_.opened(), task=task))
    shown = projection.project(current, SOURCE).subject
    assert shown is not None
    assert len(shown) == projection.COLUMN_WIDTH
