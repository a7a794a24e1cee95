"""The model: messages in, the next calls or the answer out."""

from __future__ import annotations

import json

from kubewhy.adapters.triage import answer, asking, case
from kubewhy.core import conclusion, messages, tools


class TriageModel:
    """Implements `core.ports.Model`. Deterministic, free of charge, keeps nothing between requests."""

    def __init__(self, *, name: str = "triage") -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The name in the operator's model list."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """Rules have no window; the number keeps the engine from cutting results early."""
        return 200_000

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        """Ask for tools while they can help, then conclude."""
        return reply(request)


def reply(request: messages.ModelRequest) -> messages.ModelReply:
    """The reply to a request; a function of its messages and tools alone."""
    found = case.read(request)
    if found is None:
        return _answer(request, _no_task())
    steps = sum(message.role is messages.Role.ASSISTANT for message in request.messages)
    if request.tools and not request.final:
        calls = asking.next_calls(found, (spec.name for spec in request.tools), steps)
        if calls:
            return messages.ModelReply(calls=calls, finish="tool_calls")
    return _answer(request, answer.conclude(found))


def _answer(request: messages.ModelRequest, values: dict[str, object]) -> messages.ModelReply:
    offered = {spec.name for spec in request.tools}
    if request.final or conclusion.CONCLUDE.name not in offered:
        return messages.ModelReply(text=json.dumps(values, ensure_ascii=False), finish="stop")
    call = messages.RequestedCall(tool=conclusion.CONCLUDE.name, arguments=tools.canonical(values))
    return messages.ModelReply(calls=(call,), finish="tool_calls")


def _no_task() -> dict[str, object]:
    return {
        "verdict": conclusion.Verdict.INCONCLUSIVE.value,
        "summary": "The task could not be read: no message holds a briefing.",
        "blindSpots": [answer.NO_LANGUAGE_MODEL],
    }
