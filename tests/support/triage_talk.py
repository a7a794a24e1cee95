"""Conversations with the triage model, made of facts in their text form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kubewhy.adapters.triage import TriageModel
from kubewhy.core import alerts, briefing, conclusion, messages, subjects, tools, transcript

FENCE = "abc123"
LOOK = "kubernetes_first_look"
TOOLS = tuple(
    tools.ToolSpec(name=name, description="", parameters={"type": "object"}, toolset="kubernetes")
    for name in (LOOK, "kubernetes_logs", "kubernetes_events", "kubernetes_describe")
)


def firing(name: str, *, status: str = "firing", **labels: str) -> alerts.Alert:
    """An alert."""
    return alerts.Alert(
        status=status,
        labels={"alertname": name, "namespace": "shop", **labels},
        annotations={},
        starts_at="2026-11-30T20:55:00Z",
    )


def opening(
    subject: str = "Deployment/checkout", *, question: str = "", alert: Sequence[alerts.Alert] = ()
) -> messages.Message:
    """The briefing; `subject` is Kind/name or ""."""
    kind, _, name = subject.partition("/")
    of = subjects.Subject(kind=kind, name=name, namespace="shop") if name else None
    task = briefing.Briefing(namespace="shop", subject=of, question=question, alerts=tuple(alert))
    return messages.Message(role=messages.Role.USER, text=briefing.render(task, fence=FENCE))


def step(
    number: int,
    text: str,
    *,
    tool: str = LOOK,
    status: tools.ToolStatus = tools.ToolStatus.SUCCESS,
    **arguments: Any,
) -> tuple[messages.Message, messages.Message]:
    """One call and its result."""
    call = tools.ToolCall(id=f"{number}-0", tool=tool, arguments=json.dumps(arguments))
    shown = transcript.render(
        call, tools.ToolResult(status=status, text=text), fence=FENCE, limit=20_000
    )
    return (
        messages.Message(role=messages.Role.ASSISTANT, text="", calls=(call,)),
        messages.Message(role=messages.Role.TOOL, text=shown, call_id=call.id),
    )


async def ask(
    *history: messages.Message, offered: Sequence[tools.ToolSpec] = TOOLS, final: bool = False
) -> messages.ModelReply:
    """One request."""
    request = messages.ModelRequest(
        messages=history, tools=() if final else (*offered, conclusion.CONCLUDE), final=final
    )
    return await TriageModel().ask(request)


async def concluded(*history: messages.Message) -> dict[str, Any]:
    """The answer of the concluding step."""
    values: dict[str, Any] = json.loads((await ask(*history, final=True)).text)
    return values


async def verdict_on(
    facts: str, *, subject: str = "Deployment/checkout", **task: Any
) -> dict[str, Any]:
    """The answer to one look's facts."""
    return await concluded(opening(subject, **task), *step(1, facts))
