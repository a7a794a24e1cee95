"""The messages a model sees, derived from the state alone, with a prefix that only grows (providers cache prefixes)."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.core import briefing, conclusion, transcript
from kubewhy.core.messages import Message, Role
from kubewhy.core.state import State, StepState
from kubewhy.core.tools import canonical

SHOWN_CHARACTERS = 20_000
"""Most characters of one tool output that a model is shown; the journal keeps more."""

_NUDGE = "Your last reply had neither a tool call nor an answer. Call a tool, or end with the tool `conclude`."


def messages(state: State) -> tuple[Message, ...]:
    """The whole conversation up to the step that is asked now. Every call is followed by exactly one result."""
    first = Message(role=Role.SYSTEM, text=state.input.system)
    task = Message(role=Role.USER, text=briefing.render(state.input.task, fence=state.input.fence))
    return (first, task, *_steps(state))


def _steps(state: State) -> Iterator[Message]:
    for step in state.steps:
        if step.final:
            yield Message(role=Role.USER, text=_last_words(step.limit))
        if not step.replied:
            continue
        if step.text or step.calls:
            calls = tuple(call.call for call in step.calls)
            yield Message(role=Role.ASSISTANT, text=step.text, calls=calls)
        yield from _results(step, state.input.fence)
        if not step.calls and not step.answer:
            yield Message(role=Role.USER, text=_NUDGE)


def _results(step: StepState, fence: str) -> Iterator[Message]:
    for call in step.calls:
        if call.result is not None:
            text = transcript.render(call.call, call.result, fence=fence, limit=SHOWN_CHARACTERS)
            yield Message(role=Role.TOOL, text=text, call_id=call.call.id)


def _last_words(limit: str) -> str:
    schema = canonical(conclusion.CONCLUDE.parameters)
    return (
        f"limits.{limit} is reached: no more tools can be called. Give your answer now, from what you have seen, "
        f"as one JSON object of this schema and nothing else. Say what is missing in blindSpots.\n{schema}"
    )
