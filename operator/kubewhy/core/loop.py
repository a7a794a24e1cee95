"""The agent loop as two pure functions: `apply` folds an event into the state, `due` derives the work that follows.

What is due depends on nothing but the state, so a restart, a lost wake-up and a repeated one take the same path.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

from kubewhy.core import admission, conclusion, effects, events, limits, messages, tools
from kubewhy.core.state import CallState, State, StepState

CLAIMS_WITHOUT_PROGRESS = 5
"""Claims in a row that brought no reply and no result: the run crashes its holders (faults.md 16)."""

PROTOCOL_ERRORS = 3
"""Replies in a row without one usable call: the model does not follow the protocol (faults.md 45)."""

_NO_TIME = datetime.timedelta()

_ENDINGS = {
    "ModelRateLimited": "ModelUnavailable",
    "ModelUnavailable": "ModelUnavailable",
    "ModelAuthFailed": "ModelAuthFailed",
    "ModelNotFound": "ModelNotFound",
    "ModelContextExceeded": "ContextExceeded",
    "ModelRefused": "ModelRefused",
    "ModelProtocolError": "ModelProtocolError",
}


def apply(state: State, event: events.Event) -> State:
    """The state after one more event; one that no longer applies (a stale reply) changes only the count."""
    changed = _APPLY[type(event)](state, event)
    return dataclasses.replace(changed, event_count=state.event_count + 1, last_at=event.at)


def due(state: State) -> tuple[effects.Effect, ...]:
    """The effects to begin now; empty while waiting for something that is in flight, or for good."""
    if state.opened is None or state.concluded is not None:
        return ()
    ending = _ending(state)
    if ending is not None:
        return (ending,)
    if state.suspended or (state.step is not None and state.step.in_flight):
        return ()
    return _due_in(state)


def begin(effect: effects.Effect, at: datetime.datetime) -> events.Event:
    """The event that announces an effect; it is appended before the effect is performed."""
    match effect:
        case effects.AskModel():
            return events.ModelAsked(
                at=at, step=effect.step, final=effect.final, limit=effect.limit
            )
        case effects.RunTool():
            return events.ToolStarted(at=at, call=effect.call.id, attempt=effect.attempt)
        case effects.Finish():
            return events.Concluded(
                at=at, reason=effect.reason, message=effect.message, conclusion=effect.conclusion
            )


def in_flight(state: State) -> tuple[effects.AskModel | effects.RunTool, ...]:
    """The announced effects that have not come back: what a holder performs next, in call order."""
    step = state.step
    if step is None:
        return ()
    if step.in_flight:
        return (effects.AskModel(step=step.number, final=step.final, limit=step.limit),)
    return tuple(
        effects.RunTool(call=call.call, attempt=call.attempt)
        for call in step.calls
        if call.in_flight
    )


def deadline(state: State) -> datetime.datetime | None:
    """When the working time is over; None while it stands still or before the run was opened."""
    if state.opened is None or state.waiting_since is not None:
        return None
    return state.opened.at + state.waited + datetime.timedelta(seconds=state.opened.limits.seconds)


def timer(
    state: State,
) -> tuple[datetime.datetime, type[events.TimeRanShort | events.DeadlineReached]] | None:
    """The next moment at which time itself is an event, and which one."""
    end = deadline(state)
    if end is None or state.opened is None or state.concluded is not None or state.deadline_reached:
        return None
    if state.time_short:
        return end, events.DeadlineReached
    return end - state.opened.limits.reserve, events.TimeRanShort


def _ending(state: State) -> effects.Finish | None:
    """An end that doesn't wait for the step to finish."""
    if state.claims_without_progress >= CLAIMS_WITHOUT_PROGRESS:
        return _finish(
            state, "CrashLoop", f"{CLAIMS_WITHOUT_PROGRESS} claims in a row made no progress"
        )
    if state.cancel_requested:
        return _finish(state, "Cancelled", "cancelled by spec.cancel")
    if state.deadline_reached:
        return _finish(
            state, "DeadlineExceeded", "limits.seconds were over before the model concluded"
        )
    if state.alerts_resolved_at is not None and not state.steps:
        return _finish(state, "AlertResolved", "the alert resolved before anything was spent")
    return None


def _due_in(state: State) -> tuple[effects.Effect, ...]:
    step = state.step
    if step is None:
        return _ask(state, 1)
    if step.error is not None:
        return _after_error(state, step, step.error)
    if not step.replied:
        return _repeat(state, step)
    if any(call.result is None for call in step.calls):
        return tuple(
            effects.RunTool(call=call.call, attempt=call.attempt + 1)
            for call in step.calls
            if call.result is None and not call.in_flight
        )
    return _after_step(state, step)


def _after_step(state: State, step: StepState) -> tuple[effects.Effect, ...]:
    if step.answer is not None:
        return (_conclude(step, step.answer),)
    if step.fault:
        return _again(state, step, step.fault)
    if step.final:
        message = f"{_limit_words(step.limit)}; the last reply was no answer"
        return (_finish(state, "Inconclusive", message),)
    if _malformed_in_a_row(state) >= PROTOCOL_ERRORS:
        text = f"{PROTOCOL_ERRORS} replies in a row had no usable call: {_last_fault(step)}"
        return (_finish(state, "ModelProtocolError", text),)
    repeated = _repeated_call(state)
    if repeated:
        return (_finish(state, "NoProgress", f"the same call was asked {repeated} times"),)
    return _ask(state, step.number + 1)


def _after_error(
    state: State, step: StepState, error: events.ModelFailed
) -> tuple[effects.Effect, ...]:
    if error.error == "ModelProtocolError":
        return _again(state, step, error.message)
    reason = _ENDINGS.get(error.error, "ModelUnavailable")
    if reason == "ModelUnavailable" and state.time_short and not step.final:
        return _repeat(state, step)
    return (_finish(state, reason, error.message),)


def _again(state: State, step: StepState, fault: str) -> tuple[effects.Effect, ...]:
    """An unusable reply is asked for once more, then ends the run (faults.md 48)."""
    if step.faults > 1:
        return (_finish(state, "ModelProtocolError", fault),)
    return _repeat(state, step)


def _repeat(state: State, step: StepState) -> tuple[effects.Effect, ...]:
    """The step's request once more; the concluding one where time has run short since."""
    if state.time_short and not step.final:
        return _ask(state, step.number + 1)
    return (effects.AskModel(step=step.number, final=step.final, limit=step.limit),)


def _ask(state: State, number: int) -> tuple[effects.Effect, ...]:
    out = limits.exhausted(state.input.limits, usage=state.usage)
    if out:
        return (
            _finish(state, "BudgetExhausted", f"limits.{out} left nothing for the concluding step"),
        )
    last = state.step.usage if state.step else messages.Usage()
    limit = (
        "seconds"
        if state.time_short
        else limits.spent(
            state.input.limits,
            steps=number - 1,
            tool_calls=state.executed_calls,
            usage=state.usage,
            last=last,
        )
    )
    return (effects.AskModel(step=number, final=bool(limit), limit=limit),)


def _conclude(step: StepState, answer: conclusion.Conclusion) -> effects.Finish:
    message = answer.summary
    if step.final:
        message = f"{message} ({_limit_words(step.limit)})"
    return effects.Finish(reason=answer.verdict.value, message=message, conclusion=answer)


def _finish(state: State, reason: str, message: str) -> effects.Finish:
    return effects.Finish(reason=reason, message=message, conclusion=_draft(state))


def _draft(state: State) -> conclusion.Conclusion | None:
    """The newest conclusion that the model offered, also one that was not taken: partial is better than nothing."""
    if state.step is not None and state.step.answer is not None:
        return state.step.answer
    for call in reversed(tuple(state.calls())):
        if call.call.tool == conclusion.CONCLUDE.name:
            try:
                return conclusion.verify(conclusion.read(call.call.values), state.outputs())
            except ValueError:
                continue
    return None


def _limit_words(limit: str) -> str:
    return f"limits.{limit} was reached" if limit else "no limit was reached"


def _malformed_in_a_row(state: State) -> int:
    return _in_a_row(
        state,
        lambda step: (
            bool(step.calls)
            and all(
                call.result is not None
                and not call.executed
                and call.result.status is tools.ToolStatus.ERROR
                for call in step.calls
            )
        ),
    )


def _in_a_row(state: State, bad: Callable[[StepState], bool]) -> int:
    count = 0
    for step in reversed(state.steps):
        if not bad(step):
            break
        count += 1
    return count


def _last_fault(step: StepState) -> str:
    return next((call.result.text for call in step.calls if call.result), "")[:256]


def _repeated_call(state: State) -> int:
    counts: dict[tuple[str, str], int] = {}
    for call in state.calls():
        if call.executed:
            key = (call.call.tool, call.call.arguments)
            counts[key] = counts.get(key, 0) + 1
    most = max(counts.values(), default=0)
    return most if most >= admission.IDENTICAL_CALLS else 0


def _opened(state: State, event: events.Opened) -> State:
    return state if state.opened else dataclasses.replace(state, opened=event)


def _claimed(state: State, event: events.Claimed) -> State:
    """Whatever was in flight has no owner any more: an unanswered request is unaccounted for, reads are due again."""
    step = state.step
    unaccounted = state.unaccounted_calls
    if step is not None:
        unaccounted += step.in_flight
        calls = tuple(dataclasses.replace(call, in_flight=False) for call in step.calls)
        step = dataclasses.replace(step, in_flight=False, calls=calls)
        state = _with_step(state, step)
    return dataclasses.replace(
        state,
        epoch=event.epoch,
        holder=event.holder,
        unaccounted_calls=unaccounted,
        claims_without_progress=state.claims_without_progress + 1,
    )


def _asked(state: State, event: events.ModelAsked) -> State:
    step = state.step
    if step is not None and step.number == event.step:
        again = StepState(
            number=step.number, final=step.final, limit=step.limit, faults=step.faults
        )
        return _with_step(state, again)
    new = StepState(number=event.step, final=event.final, limit=event.limit)
    return dataclasses.replace(state, steps=(*state.steps, new))


def _replied(state: State, event: events.ModelReplied) -> State:
    step = state.step
    if step is None or step.number != event.step or not step.in_flight:
        return state
    state = _progressed(dataclasses.replace(state, usage=state.usage + event.usage))
    return _with_step(state, admission.admit(state, step, event))


def _failed(state: State, event: events.ModelFailed) -> State:
    step = state.step
    if step is None or step.number != event.step or not step.in_flight:
        return state
    faults = step.faults + (event.error == "ModelProtocolError")
    state = dataclasses.replace(state, usage=state.usage + event.usage)
    failed = dataclasses.replace(step, in_flight=False, error=event, faults=faults)
    return _with_step(_progressed(state), failed)


def _started(state: State, event: events.ToolStarted) -> State:
    def start(call: CallState) -> CallState:
        return dataclasses.replace(call, in_flight=True, attempt=event.attempt, started_at=event.at)

    return _with_call(state, event.call, start)


def _returned(state: State, event: events.ToolReturned) -> State:
    def end(call: CallState) -> CallState:
        if not call.in_flight or call.attempt != event.attempt:
            return call
        return dataclasses.replace(call, in_flight=False, result=event.result)

    return _with_call(_progressed(state), event.call, end)


def _time_ran_short(state: State, _event: events.TimeRanShort) -> State:
    """Calls that have not started are answered as not run, so that the concluding step can be asked."""
    text = "not run: the time for this investigation was over"
    result = tools.ToolResult(status=tools.ToolStatus.TIMED_OUT, text=text, total_bytes=len(text))
    state = dataclasses.replace(state, time_short=True)
    if state.step is None:
        return state
    calls = tuple(
        call if call.result or call.in_flight else dataclasses.replace(call, result=result)
        for call in state.step.calls
    )
    return _with_step(state, dataclasses.replace(state.step, calls=calls))


def _deadline_reached(state: State, _event: events.DeadlineReached) -> State:
    return dataclasses.replace(state, time_short=True, deadline_reached=True)


def _suspended(state: State, event: events.Suspended) -> State:
    if state.suspended:
        return state
    return dataclasses.replace(_progressed(state), suspended=True, waiting_since=event.at)


def _resumed(state: State, event: events.Resumed) -> State:
    if not state.suspended or state.waiting_since is None:
        return state
    waited = state.waited + max(_NO_TIME, event.at - state.waiting_since)
    return dataclasses.replace(
        _progressed(state), suspended=False, waiting_since=None, waited=waited
    )


def _cancel_requested(state: State, _event: events.CancelRequested) -> State:
    return dataclasses.replace(state, cancel_requested=True)


def _alerts_resolved(state: State, event: events.AlertsResolved) -> State:
    return dataclasses.replace(state, alerts_resolved_at=state.alerts_resolved_at or event.at)


def _concluded(state: State, event: events.Concluded) -> State:
    return state if state.concluded else dataclasses.replace(state, concluded=event)


def _progressed(state: State) -> State:
    return dataclasses.replace(state, claims_without_progress=0)


def _with_step(state: State, step: StepState) -> State:
    return dataclasses.replace(state, steps=(*state.steps[:-1], step))


def _with_call(state: State, identity: str, change: Callable[[CallState], CallState]) -> State:
    if state.step is None:
        return state
    calls = tuple(change(call) if call.call.id == identity else call for call in state.step.calls)
    return _with_step(state, dataclasses.replace(state.step, calls=calls))


_APPLY: dict[type[events.Event], Callable[[State, Any], State]] = {
    events.Opened: _opened,
    events.Claimed: _claimed,
    events.ModelAsked: _asked,
    events.ModelReplied: _replied,
    events.ModelFailed: _failed,
    events.ToolStarted: _started,
    events.ToolReturned: _returned,
    events.TimeRanShort: _time_ran_short,
    events.DeadlineReached: _deadline_reached,
    events.Suspended: _suspended,
    events.Resumed: _resumed,
    events.CancelRequested: _cancel_requested,
    events.AlertsResolved: _alerts_resolved,
    events.Concluded: _concluded,
}
