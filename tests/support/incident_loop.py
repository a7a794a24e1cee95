"""The smallest agent loop around the built-in model: for checking tools and rules without the operator.

Reads of a real cluster, the kubernetes toolset, redaction, the triage model, and the engine's own check of quotes; no
journal, no CR. The suite runs through the operator; this loop shows in a second whether the facts carry the answer.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import time
from collections.abc import Sequence

import incident_scenarios
from kubewhy import errors
from kubewhy.adapters.kube import client, reader
from kubewhy.adapters.triage import TriageModel
from kubewhy.core import (
    alerts,
    briefing,
    conclusion,
    messages,
    ports,
    redaction,
    subjects,
    tools,
    transcript,
)
from kubewhy.core.alerting import alert_subjects
from kubewhy.toolsets import kubernetes

FENCE = "0123456789abcdef"
SHOWN_CHARACTERS = 20_000
MOST_STEPS = 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One finished loop."""

    conclusion: conclusion.Conclusion
    outputs: dict[str, str]
    steps: int
    seconds: float
    requests: int
    received_bytes: int
    history: tuple[messages.Message, ...]


async def investigate(
    api: client.KubeClient,
    *,
    namespace: str,
    subject: subjects.Subject | None,
    alert: Sequence[alerts.Alert],
) -> Run:
    """Run the loop to its conclusion, with the quotes checked."""
    kube = reader.KubeReader(api, namespace=namespace, account="", bounded=True)
    context = ports.ToolContext(
        namespace=namespace,
        subject=subject,
        kube=kube,
        now=lambda: datetime.datetime.now(tz=datetime.UTC),
    )
    task = briefing.Briefing(namespace=namespace, subject=subject, alerts=tuple(alert))
    history = [messages.Message(role=messages.Role.USER, text=briefing.render(task, fence=FENCE))]
    offered = kubernetes.toolset().tools
    specs = (*(tool.spec for tool in offered), conclusion.CONCLUDE)
    model, began = TriageModel(), time.monotonic()
    outputs: dict[str, str] = {}
    for step in range(1, MOST_STEPS + 1):
        reply = await model.ask(messages.ModelRequest(messages=tuple(history), tools=specs))
        final = next((call for call in reply.calls if call.tool == conclusion.CONCLUDE.name), None)
        if final:
            read = conclusion.verify(conclusion.read(json.loads(final.arguments)), outputs)
            return Run(
                conclusion=read,
                outputs=outputs,
                steps=step,
                seconds=time.monotonic() - began,
                requests=kube.requests,
                received_bytes=kube.received_bytes,
                history=tuple(history),
            )
        calls = [
            tools.ToolCall(id=f"{step}-{index}", tool=call.tool, arguments=call.arguments)
            for index, call in enumerate(reply.calls)
        ]
        history.append(
            messages.Message(role=messages.Role.ASSISTANT, text=reply.text, calls=tuple(calls))
        )
        for call in calls:
            result = await _result(offered, context, call)
            outputs[call.id] = result.text
            shown = transcript.render(call, result, fence=FENCE, limit=SHOWN_CHARACTERS)
            history.append(messages.Message(role=messages.Role.TOOL, text=shown, call_id=call.id))
    raise AssertionError("the model did not conclude")


async def _result(
    offered: Sequence[ports.Tool], context: ports.ToolContext, call: tools.ToolCall
) -> tools.ToolResult:
    tool = next(tool for tool in offered if tool.spec.name == call.tool)
    try:
        output = await tool.run(context, call.values)
    except errors.ToolFailure as failure:
        output = tools.ToolOutput(text=str(failure), status=tools.ToolStatus(failure.status))
    except errors.ApiForbidden as failure:
        output = tools.ToolOutput(text=str(failure), status=tools.ToolStatus.FORBIDDEN)
    except errors.ApiNotFound as failure:
        output = tools.ToolOutput(text=str(failure), status=tools.ToolStatus.NOT_FOUND)
    text = redaction.redact(output.text)
    return tools.ToolResult(
        status=output.status, text=text, total_bytes=len(text.encode()), truncated=output.truncated
    )


def task_of(
    scenario: incident_scenarios.Scenario,
) -> tuple[subjects.Subject | None, list[alerts.Alert]]:
    """Subject and alerts as the webhook would find them in the scenario's payload."""
    found = [
        alerts.Alert(
            status=item["status"],
            labels=item["labels"],
            annotations=item["annotations"],
            starts_at=item["startsAt"],
            ends_at="" if item["endsAt"].startswith("0001") else item["endsAt"],
            fingerprint=item["fingerprint"],
        )
        for item in scenario.alert["alerts"]
    ]
    target = alert_subjects.find(found[0].labels, found[0].annotations)
    return target.subject, found


def answer_of(run: Run) -> incident_scenarios.Answer:
    """The run's conclusion in the form that is scored."""
    cause = run.conclusion.root_cause
    claims = [(cause.statement, cause.evidence)] if cause else []
    claims += [
        (item.statement, item.evidence)
        for item in (*run.conclusion.findings, *run.conclusion.ruled_out)
    ]
    of = cause.subject if cause else None
    return incident_scenarios.Answer(
        verdict=run.conclusion.verdict.value,
        summary=run.conclusion.summary,
        statement=cause.statement if cause else "",
        subject=(of.kind, of.name) if of else ("", ""),
        claims=[(text, [(item.call, item.quote) for item in proof]) for text, proof in claims],
        outputs=run.outputs,
        steps=run.steps,
    )
