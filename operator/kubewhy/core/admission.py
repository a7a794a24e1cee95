"""From a model's reply to calls that may run: ids, argument checks, limits, and the refusals that never run.

Every call of the model gets exactly one result (providers reject a history in which a call has no answer), so what may
not run is answered here at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubewhy.core import conclusion, events, messages, replies, state, tools

CALLS_PER_STEP = 64
"""Calls of one reply that are run; further ones are answered as not executed."""

CALLS_STORED = 256
"""Calls of one reply that are kept at all."""

IDENTICAL_CALLS = 5
"""The same call asked this often ends the run as NoProgress (faults.md 56)."""

_UNPROVEN = (
    "The answer was not taken: none of the root cause's quotes stands verbatim in the output of the call it names. "
    "Copy whole lines from tool outputs, name the right call id, and conclude again."
)


def admit(
    current: state.State, step: state.StepState, reply: events.ModelReplied
) -> state.StepState:
    """The step with its reply read: calls with ids, refusals answered, the conclusion found and checked."""
    offered = {} if step.final else {spec.name: spec for spec in current.input.tools}
    known = {*offered, conclusion.CONCLUDE.name}
    reading = replies.read(
        messages.ModelReply(text=reply.text, calls=reply.calls, finish=reply.finish), known
    )
    admitted = dataclasses.replace(
        step,
        in_flight=False,
        replied=True,
        text=reading.text,
        usage=reply.usage,
        error=None,
        fault="",
    )
    requested = reading.calls[:CALLS_STORED]
    room = min(CALLS_PER_STEP, current.input.limits.tool_calls - current.executed_calls)
    calls: list[state.CallState] = []
    for index, request in enumerate(requested):
        call = _call(f"{step.number}-{index}", request, offered)
        if call.result is None:
            room -= 1
            call = (
                call
                if room >= 0
                else _answered(call, "Refused", "not executed: limit of tool calls reached")
            )
        calls.append(call)
    admitted = dataclasses.replace(admitted, calls=tuple(calls))
    return _with_answer(current, admitted, requested, reading)


def _call(
    identity: str, request: messages.RequestedCall, offered: Mapping[str, tools.ToolSpec]
) -> state.CallState:
    values, fault = replies.arguments(request.arguments)
    shown = tools.canonical(values) if values is not None else "{}"
    call = state.CallState(
        call=tools.ToolCall(id=identity, tool=request.tool[:128], arguments=shown)
    )
    if request.tool == conclusion.CONCLUDE.name:
        return call if values is not None else _answered(call, "Error", fault)
    spec = offered.get(request.tool)
    if spec is None:
        return _answered(call, "Refused", _unknown(request.tool, offered))
    if values is None:
        return _answered(call, "Error", fault)
    values, fault = replies.validate(values, spec.parameters)
    if fault:
        return _answered(call, "Error", fault)
    checked = dataclasses.replace(call.call, arguments=tools.canonical(values))
    return dataclasses.replace(call, call=checked)


def _with_answer(
    current: state.State,
    step: state.StepState,
    requested: tuple[messages.RequestedCall, ...],
    reading: replies.Reading,
) -> state.StepState:
    """Find the conclusion: the `conclude` call, else JSON in the text, else, on the final step, the text itself."""
    index = next((i for i, r in enumerate(requested) if r.tool == conclusion.CONCLUDE.name), None)
    if index is not None and step.calls[index].result is None:
        return _concluded_by_call(current, step, index)
    if reading.conclusion is not None and not requested:
        return dataclasses.replace(step, answer=_read(current, reading.conclusion))
    if not requested and not step.text.strip():
        return dataclasses.replace(step, fault="the reply was empty", faults=step.faults + 1)
    if not requested and (step.final or _nudged(current)):
        return dataclasses.replace(step, answer=_from_text(current, step.text))
    return step


def _nudged(current: state.State) -> bool:
    """Whether the step before was text without a call too: then this text is the answer."""
    before = current.steps[-2] if len(current.steps) > 1 else None
    return before is not None and before.replied and not before.calls


def _concluded_by_call(current: state.State, step: state.StepState, index: int) -> state.StepState:
    call = step.calls[index]
    answer = _read(current, call.call.values)
    refusal = "" if answer else "the answer has neither a summary nor a root cause"
    if answer and _unproven(answer) and not step.final and not _asked_for_proof(current):
        refusal = _UNPROVEN
    if refusal:
        return _with_call(dataclasses.replace(step), index, _answered(call, "Error", refusal))
    calls = tuple(
        _answered(other, "Refused", "not executed: the same reply concluded")
        if other.result is None and i != index
        else other
        for i, other in enumerate(step.calls)
    )
    step = dataclasses.replace(step, calls=calls, answer=answer)
    return _with_call(step, index, _answered(call, "Success", "concluded"))


def _read(current: state.State, values: Mapping[str, object]) -> conclusion.Conclusion | None:
    try:
        return conclusion.verify(conclusion.read(values), current.outputs())
    except ValueError:
        return None


def _unproven(answer: conclusion.Conclusion) -> bool:
    cause = answer.root_cause
    return cause is not None and not any(item.verified for item in cause.evidence)


def _asked_for_proof(current: state.State) -> bool:
    return any(
        call.result is not None and call.result.text == _UNPROVEN for call in current.calls()
    )


def _from_text(current: state.State, text: str) -> conclusion.Conclusion:
    """A plain-text answer, read as far as it goes, with the text itself as its finding."""
    found = _read(current, replies.plain(text))
    summary = found or conclusion.Conclusion(
        verdict=conclusion.Verdict.INCONCLUSIVE, summary=" ".join(text.split())[:256]
    )
    whole = conclusion.Finding(statement=text.strip()[: conclusion.STATEMENT_LENGTH])
    return dataclasses.replace(summary, findings=(whole,))


def _with_call(step: state.StepState, index: int, call: state.CallState) -> state.StepState:
    return dataclasses.replace(step, calls=(*step.calls[:index], call, *step.calls[index + 1 :]))


def _answered(call: state.CallState, status: str, text: str) -> state.CallState:
    result = tools.ToolResult(
        status=tools.ToolStatus(status), text=text, total_bytes=len(text.encode())
    )
    return dataclasses.replace(call, result=result)


def _unknown(name: str, offered: Mapping[str, tools.ToolSpec]) -> str:
    if not offered:
        return "no tools are offered on this step: give the answer as JSON"
    return f"there is no tool {name[:128]!r} here; the tools are: {', '.join(sorted(offered))}"
