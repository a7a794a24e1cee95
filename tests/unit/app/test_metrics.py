"""The operator's metrics count what the journal tells, and never grow with it."""

from __future__ import annotations

import dataclasses
import datetime

import crash_world as world_
from kubewhy.app import metrics
from kubewhy.core import events, loop, messages, state, tools


def _told(*script: messages.ModelReply) -> tuple[metrics.Metrics, state.State]:
    """The metrics of a whole run, told event by event as the ledger does."""
    world = world_.World(script)
    world_.live(world)
    measured, current = metrics.Metrics(), state.State()
    for event in world.journaled():
        current = loop.apply(current, event)
        measured.on_event(world_.KEY, event, current)
    return measured, current


def _value(measured: metrics.Metrics, name: str, **labels: str) -> float | None:
    return measured.registry.get_sample_value(name, labels)


def test_a_run_is_counted_by_its_events() -> None:
    measured, _ = _told(
        world_.reply("a", "b", "fail-1"), world_.conclude("1-0", "the decisive line of a")
    )
    assert _value(measured, "kubewhy_investigations_finished_total", reason="RootCauseFound") == 1
    assert _value(measured, "kubewhy_investigation_seconds_count") == 1
    assert _value(measured, "kubewhy_model_requests_total", outcome="Replied") == 2
    assert _value(measured, "kubewhy_model_tokens_total", direction="Input") == 10
    assert _value(measured, "kubewhy_model_tokens_total", direction="Output") == 5
    assert _value(measured, "kubewhy_tool_calls_total", tool="look", status="Success") == 2
    assert _value(measured, "kubewhy_tool_calls_total", tool="look", status="NotFound") == 1
    assert _value(measured, "kubewhy_tool_seconds_count") == 3


def test_a_failing_model_is_counted_by_the_kind_of_failure() -> None:
    measured = metrics.Metrics()
    failed = events.ModelFailed(at=world_.START, step=1, error="ModelRateLimited", message="slow")
    measured.on_event(world_.KEY, failed, state.State())
    assert _value(measured, "kubewhy_model_requests_total", outcome="ModelRateLimited") == 1


def test_cost_is_counted_in_whole_millionths() -> None:
    measured = metrics.Metrics()
    replied = events.ModelReplied(
        at=world_.START,
        step=1,
        text="",
        calls=(),
        usage=messages.Usage(cost_micro_usd=1_234_567),
    )
    measured.on_event(world_.KEY, replied, state.State())
    assert _value(measured, "kubewhy_model_cost_micro_usd_total") == 1_234_567


def test_the_time_of_a_run_is_that_from_its_start_to_its_end() -> None:
    measured = metrics.Metrics()
    current = loop.apply(state.State(), world_.opened())
    ended = events.Concluded(
        at=world_.START + datetime.timedelta(seconds=7), reason="Cancelled", message=""
    )
    measured.on_event(world_.KEY, ended, loop.apply(current, ended))
    assert _value(measured, "kubewhy_investigation_seconds_sum") == 7


def test_a_run_that_ended_before_it_was_opened_has_no_time() -> None:
    measured = metrics.Metrics()
    ended = events.Concluded(at=world_.START, reason="InvalidSpec", message="")
    measured.on_event(world_.KEY, ended, state.State())
    assert _value(measured, "kubewhy_investigations_finished_total", reason="InvalidSpec") == 1
    assert _value(measured, "kubewhy_investigation_seconds_count") == 0


def test_names_that_a_model_makes_up_make_no_series() -> None:
    """A call can name anything, and a journal of an older release a tool that is not offered any more."""
    measured, current = _told(world_.reply("a"), world_.conclude("1-0", "the decisive line of a"))
    opened = dataclasses.replace(current.input, tools=())
    current = dataclasses.replace(current, opened=opened)
    result = tools.ToolResult(status=tools.ToolStatus.SUCCESS, text="")
    returned = events.ToolReturned(at=world_.START, call="1-0", attempt=1, result=result)
    measured.on_event(world_.KEY, returned, current)
    measured.on_event(world_.KEY, dataclasses.replace(returned, call="99-9"), current)
    assert _value(measured, "kubewhy_tool_calls_total", tool="other", status="Success") == 2


def test_no_series_names_an_investigation() -> None:
    measured, _ = _told(world_.reply("a"), world_.conclude("1-0", "the decisive line of a"))
    values = {
        value
        for family in measured.registry.collect()
        for sample in family.samples
        for value in sample.labels.values()
    }
    assert "look" in values
    assert not [value for value in values if world_.KEY.name in value or world_.KEY.uid in value]
