"""The loop's rules one by one: what is due after which events, and how each kind of run ends."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

import pytest

import crash_world as world_
from kubewhy.core import (
    conclusion,
    conversation,
    effects,
    events,
    limits,
    loop,
    messages,
    state,
    tools,
)

AT = world_.START


def _opened(**changes: Any) -> events.Opened:
    return dataclasses.replace(world_.opened(), **changes)


def _fold(*batch: events.Event, current: state.State | None = None) -> state.State:
    current = current or state.State()
    for event in batch:
        current = loop.apply(current, event)
    return current


def _start(**changes: Any) -> state.State:
    return _fold(events.Claimed(at=AT, epoch=1, holder="me"), _opened(**changes))


def _turn(current: state.State, reply: messages.ModelReply, **result: Any) -> state.State:
    """Ask, reply, and answer every call that becomes due."""
    (ask,) = loop.due(current)
    assert isinstance(ask, effects.AskModel)
    current = loop.apply(current, loop.begin(ask, AT))
    current = loop.apply(current, _replied(ask.step, reply))
    return _answer(current, **result)


def _answer(
    current: state.State, text: str = "the decisive line", status: str = "Success"
) -> state.State:
    for effect in loop.due(current):
        if isinstance(effect, effects.RunTool):
            current = loop.apply(current, loop.begin(effect, AT))
            result = tools.ToolResult(status=tools.ToolStatus(status), text=text)
            current = loop.apply(
                current,
                events.ToolReturned(
                    at=AT, call=effect.call.id, attempt=effect.attempt, result=result
                ),
            )
    return current


def _replied(step: int, reply: messages.ModelReply) -> events.ModelReplied:
    return events.ModelReplied(
        at=AT, step=step, text=reply.text, calls=reply.calls, usage=reply.usage, finish=reply.finish
    )


def _failed(current: state.State, error: str, message: str = "down") -> state.State:
    (ask,) = loop.due(current)
    assert isinstance(ask, effects.AskModel)
    current = loop.apply(current, loop.begin(ask, AT))
    return loop.apply(
        current, events.ModelFailed(at=AT, step=ask.step, error=error, message=message)
    )


def _raw(tool: str, arguments: str) -> messages.ModelReply:
    return messages.ModelReply(calls=(messages.RequestedCall(tool=tool, arguments=arguments),))


def _end(current: state.State) -> effects.Finish:
    (found,) = loop.due(current)
    assert isinstance(found, effects.Finish), found
    return found


def test_nothing_is_due_before_the_run_is_opened() -> None:
    assert loop.due(state.State()) == ()


def test_the_first_step_asks_the_model_and_is_not_due_twice() -> None:
    current = _start()
    (ask,) = loop.due(current)
    assert ask == effects.AskModel(step=1)
    current = loop.apply(current, loop.begin(ask, AT))
    assert loop.due(current) == ()
    assert loop.in_flight(current) == (ask,)


def test_a_restart_asks_again_and_counts_the_unanswered_request() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    current = loop.apply(current, events.Claimed(at=AT, epoch=2, holder="other"))
    assert loop.due(current) == (ask,)
    assert current.unaccounted_calls == 1


def test_a_read_that_was_running_runs_again_as_the_second_attempt() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    current = loop.apply(current, _replied(1, world_.reply("a")))
    (run,) = loop.due(current)
    current = loop.apply(current, loop.begin(run, AT))
    current = loop.apply(current, events.Claimed(at=AT, epoch=2, holder="other"))
    (again,) = loop.due(current)
    assert isinstance(again, effects.RunTool)
    assert again.attempt == 2


def test_a_result_of_an_earlier_attempt_changes_nothing() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    current = loop.apply(current, _replied(1, world_.reply("a")))
    current = loop.apply(current, events.ToolStarted(at=AT, call="1-0", attempt=2))
    stale = tools.ToolResult(status=tools.ToolStatus.SUCCESS, text="stale")
    current = loop.apply(current, events.ToolReturned(at=AT, call="1-0", attempt=1, result=stale))
    assert next(current.calls()).result is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("ModelUnavailable", "ModelUnavailable"),
        ("ModelRateLimited", "ModelUnavailable"),
        ("ModelAuthFailed", "ModelAuthFailed"),
        ("ModelNotFound", "ModelNotFound"),
        ("ModelContextExceeded", "ContextExceeded"),
        ("ModelRefused", "ModelRefused"),
    ],
)
def test_a_failed_model_ends_the_run_with_its_reason(error: str, reason: str) -> None:
    end = _end(_failed(_start(), error))
    assert (end.reason, end.message) == (reason, "down")


def test_an_unreadable_reply_is_asked_for_once_more() -> None:
    current = _failed(_start(), "ModelProtocolError", "no JSON")
    assert loop.due(current) == (effects.AskModel(step=1),)
    current = _failed(current, "ModelProtocolError", "no JSON")
    assert _end(current).reason == "ModelProtocolError"


def test_an_empty_reply_is_asked_for_once_more() -> None:
    current = _turn(_start(), messages.ModelReply())
    assert loop.due(current) == (effects.AskModel(step=1),)
    current = _turn(current, messages.ModelReply())
    assert _end(current).reason == "ModelProtocolError"


def test_a_restart_between_two_empty_replies_does_not_end_the_run_early() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    current = loop.apply(current, events.Claimed(at=AT, epoch=2, holder="other"))
    current = _turn(current, messages.ModelReply())
    assert loop.due(current) == (effects.AskModel(step=1),)


@pytest.mark.parametrize("arguments", ['{"at": 1', "", "null", "[]", "nonsense"])
def test_malformed_arguments_never_run_and_are_answered_as_error(arguments: str) -> None:
    current = _turn(_start(), _raw("look", arguments))
    call = next(current.calls())
    assert call.result is not None
    assert call.result.status is tools.ToolStatus.ERROR
    assert not call.executed


def test_three_malformed_replies_in_a_row_end_the_run() -> None:
    current = _start()
    for _ in range(3):
        assert isinstance(loop.due(current)[0], effects.AskModel)
        current = _turn(current, _raw("look", '{"at": '))
    assert _end(current).reason == "ModelProtocolError"


def test_a_good_call_in_between_resets_the_count() -> None:
    current = _start()
    for reply in (_raw("look", "["), _raw("look", "["), world_.reply("a"), _raw("look", "[")):
        current = _turn(current, reply)
    assert isinstance(loop.due(current)[0], effects.AskModel)


@pytest.mark.parametrize("name", ["delete_everything", "Look", "look "])
def test_an_unknown_tool_is_refused_with_the_list(name: str) -> None:
    current = _turn(_start(), _raw(name, '{"at": "a"}'))
    call = next(current.calls())
    assert call.result is not None
    assert call.result.status is tools.ToolStatus.REFUSED
    assert "look" in call.result.text
    assert not call.executed


def test_a_missing_required_argument_is_an_error_that_names_it() -> None:
    current = _turn(_start(), _raw("look", "{}"))
    call = next(current.calls())
    assert call.result is not None
    assert call.result.status is tools.ToolStatus.ERROR
    assert "at" in call.result.text


def test_two_hundred_calls_in_one_reply_each_have_one_answer() -> None:
    current = _turn(
        _start(limits=limits.Limits(tool_calls=1000)), world_.reply(*(f"p{i}" for i in range(200)))
    )
    found = list(current.calls())
    assert len(found) == 200
    assert len({call.call.id for call in found}) == 200
    assert sum(call.executed for call in found) == 64
    assert all(call.result is not None for call in found)
    world_.check_conversation(conversation.messages(current))


def test_the_limit_of_tool_calls_refuses_the_rest_and_asks_for_the_answer() -> None:
    current = _turn(_start(limits=limits.Limits(tool_calls=2)), world_.reply("a", "b", "c"))
    refused = [call for call in current.calls() if not call.executed]
    assert len(refused) == 1
    (ask,) = loop.due(current)
    assert ask == effects.AskModel(step=2, final=True, limit="toolCalls")


def test_the_last_step_offers_no_tools_and_names_the_limit() -> None:
    current = _start(limits=limits.Limits(steps=2))
    current = _turn(current, world_.reply("a"))
    (ask,) = loop.due(current)
    assert ask == effects.AskModel(step=2, final=True, limit="steps")
    current = loop.apply(current, loop.begin(ask, AT))
    assert "limits.steps" in conversation.messages(current)[-1].text


def test_one_step_is_the_concluding_one() -> None:
    (ask,) = loop.due(_start(limits=limits.Limits(steps=1)))
    assert ask == effects.AskModel(step=1, final=True, limit="steps")


def test_the_answer_on_the_last_step_names_the_limit() -> None:
    current = _turn(_start(limits=limits.Limits(steps=2)), world_.reply("a"))
    answer = {
        "verdict": "RootCauseFound",
        "summary": "it broke",
        "rootCause": {
            "statement": "x",
            "evidence": [{"call": "1-0", "quote": "the decisive line"}],
        },
    }
    current = _turn(current, messages.ModelReply(text=json.dumps(answer)))
    end = _end(current)
    assert end.reason == "RootCauseFound"
    assert "limits.steps" in end.message


def test_a_model_that_never_answers_ends_inconclusive() -> None:
    current = _turn(_start(limits=limits.Limits(steps=2)), world_.reply("a"))
    current = _turn(current, messages.ModelReply(text="I am not sure what it is."))
    end = _end(current)
    assert end.reason == "Inconclusive"
    assert end.conclusion is not None
    assert "not sure" in end.conclusion.summary


def test_a_call_on_the_last_step_is_refused_and_ends_inconclusive() -> None:
    current = _turn(_start(limits=limits.Limits(steps=2)), world_.reply("a"))
    current = _turn(current, world_.reply("b"))
    assert _end(current).reason == "Inconclusive"
    assert sum(call.executed for call in current.calls()) == 1


def test_tokens_are_kept_aside_for_the_last_step() -> None:
    current = _start(limits=limits.Limits(tokens=20_000))
    reply = dataclasses.replace(
        world_.reply("a"), usage=messages.Usage(input_tokens=6_000, output_tokens=100)
    )
    current = _turn(current, reply)
    (ask,) = loop.due(current)
    assert ask == effects.AskModel(step=2, final=True, limit="tokens")


def test_tokens_that_are_gone_end_the_run() -> None:
    current = _start(limits=limits.Limits(tokens=1_000))
    reply = dataclasses.replace(world_.reply("a"), usage=messages.Usage(input_tokens=2_000))
    assert _end(_turn(current, reply)).reason == "BudgetExhausted"


def test_the_same_call_five_times_is_no_progress() -> None:
    current = _start()
    for _ in range(5):
        assert isinstance(loop.due(current)[0], effects.AskModel)
        current = _turn(current, world_.reply("a"))
    assert _end(current).reason == "NoProgress"


def test_five_claims_without_progress_are_a_crash_loop() -> None:
    current = _start()
    for epoch in range(2, 6):
        current = loop.apply(current, events.Claimed(at=AT, epoch=epoch, holder="me"))
    assert _end(current).reason == "CrashLoop"


def test_cancel_ends_the_run_also_while_the_model_is_asked() -> None:
    current = _start()
    current = loop.apply(current, loop.begin(loop.due(current)[0], AT))
    current = loop.apply(current, events.CancelRequested(at=AT))
    assert _end(current).reason == "Cancelled"


def test_suspend_starts_nothing_and_stops_the_clock() -> None:
    current = loop.apply(_start(), events.Suspended(at=AT + datetime.timedelta(seconds=100)))
    assert loop.due(current) == ()
    assert loop.timer(current) is None
    current = loop.apply(current, events.Resumed(at=AT + datetime.timedelta(seconds=1100)))
    assert loop.deadline(current) == AT + datetime.timedelta(seconds=1600)


def test_time_that_runs_short_leaves_the_concluding_step() -> None:
    current = _start()
    timer = loop.timer(current)
    assert timer == (AT + datetime.timedelta(seconds=570), events.TimeRanShort)
    current = _turn(current, world_.reply("a"))
    current = loop.apply(current, events.TimeRanShort(at=AT))
    (ask,) = loop.due(current)
    assert ask == effects.AskModel(step=2, final=True, limit="seconds")
    assert loop.timer(current) == (AT + datetime.timedelta(seconds=600), events.DeadlineReached)
    current = loop.apply(current, events.DeadlineReached(at=AT))
    assert _end(current).reason == "DeadlineExceeded"


def test_a_model_that_is_too_slow_is_asked_for_the_answer_once_time_is_short() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    current = loop.apply(current, events.TimeRanShort(at=AT))
    current = loop.apply(
        current, events.ModelFailed(at=AT, step=1, error="ModelUnavailable", message="slow")
    )
    assert loop.due(current) == (effects.AskModel(step=2, final=True, limit="seconds"),)


def test_an_alert_that_resolved_before_anything_was_spent_ends_the_run() -> None:
    current = loop.apply(_start(), events.AlertsResolved(at=AT))
    assert _end(current).reason == "AlertResolved"


def test_an_alert_that_resolves_later_is_only_noted() -> None:
    current = _turn(_start(), world_.reply("a"))
    current = loop.apply(current, events.AlertsResolved(at=AT))
    assert isinstance(loop.due(current)[0], effects.AskModel)


def test_an_answer_without_proof_is_sent_back_once_then_taken_as_inconclusive() -> None:
    current = _turn(_start(), world_.reply("a"))
    current = _turn(current, world_.conclude("1-0", "words that nobody printed"))
    assert isinstance(loop.due(current)[0], effects.AskModel)
    current = _turn(current, world_.conclude("1-0", "words that nobody printed"))
    end = _end(current)
    assert end.reason == "Inconclusive"
    assert end.conclusion is not None
    assert end.conclusion.root_cause is not None
    assert not end.conclusion.root_cause.evidence[0].verified


def test_one_changed_character_in_a_quote_is_caught() -> None:
    good, bad = "the decisive line", "the decisive lime"
    for quote, reason in ((good, "RootCauseFound"), (bad, "Inconclusive")):
        current = _turn(_start(limits=limits.Limits(steps=2)), world_.reply("a"))
        (ask,) = loop.due(current)
        assert isinstance(ask, effects.AskModel)
        assert ask.final
        values = json.loads(world_.conclude("1-0", quote).calls[0].arguments)
        current = _turn(current, messages.ModelReply(text=json.dumps(values)))
        assert _end(current).reason == reason


def test_the_words_of_a_refusal_prove_nothing() -> None:
    """Only outputs of tools that really ran can be quoted, not the engine's own answers."""
    current = _turn(_start(), _raw("nothing", '{"at": "a"}'))
    text = next(current.calls()).result
    assert text is not None
    checked = conclusion.verify(
        conclusion.read(json.loads(world_.conclude("1-0", text.text[:40]).calls[0].arguments)),
        current.outputs(),
    )
    assert checked.verdict is conclusion.Verdict.INCONCLUSIVE


def test_conclude_beside_other_calls_leaves_no_call_without_an_answer() -> None:
    current = _turn(_start(), world_.reply("a"))
    both = messages.ModelReply(
        calls=(*world_.reply("b").calls, *world_.conclude("1-0", "the decisive line").calls)
    )
    current = _turn(current, both)
    assert _end(current).reason == "RootCauseFound"
    assert all(call.result is not None for call in current.calls())
    world_.check_conversation(conversation.messages(current))


def test_plain_text_without_a_call_is_nudged_once_then_taken() -> None:
    current = _turn(_start(), messages.ModelReply(text="Let me look at the logs."))
    assert isinstance(loop.due(current)[0], effects.AskModel)
    current = _turn(current, messages.ModelReply(text="It is the database."))
    end = _end(current)
    assert end.reason == "Inconclusive"
    assert end.conclusion is not None
    assert end.conclusion.summary == "It is the database."


def test_a_prefix_of_the_conversation_never_changes() -> None:
    current = _turn(_start(), world_.reply("a", "b"))
    before = conversation.messages(current)
    current = _turn(current, world_.reply("c"))
    assert conversation.messages(current)[: len(before)] == before


def test_nothing_is_due_after_the_end() -> None:
    current = _turn(_start(), world_.reply("a"))
    current = _turn(current, world_.conclude("1-0", "the decisive line"))
    current = loop.apply(current, loop.begin(loop.due(current)[0], AT))
    assert loop.due(current) == ()
    assert loop.timer(current) is None


def test_a_plain_answer_with_a_true_quote_counts_as_proven() -> None:
    current = _turn(_start(limits=limits.Limits(steps=2)), world_.reply("a"))
    text = 'Root cause: the setting is missing.\nCall 1-0 shows "the decisive line".'
    current = _turn(current, messages.ModelReply(text=text))
    end = _end(current)
    assert end.reason == "RootCauseFound"
    assert end.conclusion is not None
    assert end.conclusion.root_cause is not None
    assert end.conclusion.root_cause.evidence[0].verified


def test_what_an_unusable_reply_cost_is_counted() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    paid = messages.Usage(input_tokens=100, cost_micro_usd=7)
    failed = events.ModelFailed(
        at=AT, step=1, error="ModelProtocolError", message="cut", usage=paid
    )
    assert loop.apply(current, failed).usage == paid


def test_a_request_that_a_restart_repeats_in_short_time_asks_for_the_answer() -> None:
    current = _start()
    (ask,) = loop.due(current)
    current = loop.apply(current, loop.begin(ask, AT))
    current = _fold(
        events.Claimed(at=AT, epoch=2, holder="other"),
        events.TimeRanShort(at=AT),
        current=current,
    )
    (last,) = loop.due(current)
    assert last == effects.AskModel(step=2, final=True, limit="seconds")


def test_an_unreadable_reply_in_short_time_is_followed_by_the_concluding_step() -> None:
    current = loop.apply(_failed(_start(), "ModelProtocolError"), events.TimeRanShort(at=AT))
    (last,) = loop.due(current)
    assert last == effects.AskModel(step=2, final=True, limit="seconds")


def test_an_answer_given_as_text_is_kept_when_the_run_is_cancelled() -> None:
    current = _turn(_start(), world_.reply("a"), text="the decisive line of a")
    answer = json.dumps({"verdict": "NoProblemFound", "summary": "all is well"})
    current = _turn(current, messages.ModelReply(text=answer))
    end = _end(loop.apply(current, events.CancelRequested(at=AT)))
    assert end.reason == "Cancelled"
    assert end.conclusion is not None
    assert end.conclusion.summary == "all is well"


def test_a_clock_that_goes_back_while_suspended_shortens_no_time() -> None:
    current = _start()
    before = loop.deadline(current)
    later, earlier = AT + datetime.timedelta(hours=1), AT
    current = _fold(events.Suspended(at=later), events.Resumed(at=earlier), current=current)
    assert loop.deadline(current) == before
