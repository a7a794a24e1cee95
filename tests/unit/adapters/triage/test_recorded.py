"""The rules over looks that were recorded on a real node, one conversation a file (tests/fixtures/first_look)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import incident_scenarios
from kubewhy.adapters.triage import TriageModel, answer
from kubewhy.core import conclusion, messages, tools, transcript

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "first_look"
RECORDED = sorted(path.stem for path in FIXTURES.glob("*.json"))
OFFERED = tuple(
    tools.ToolSpec(name=name, description="", parameters={"type": "object"}, toolset="kubernetes")
    for name in ("kubernetes_first_look", "kubernetes_logs", "kubernetes_events")
)


def _recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _history(record: dict[str, Any]) -> tuple[messages.Message, ...]:
    return tuple(
        messages.Message(
            role=messages.Role(row["role"]),
            text=row["text"],
            call_id=row["call_id"],
            calls=tuple(tools.ToolCall(**call) for call in row["calls"]),
        )
        for row in record["messages"]
    )


async def _conclude(history: tuple[messages.Message, ...]) -> dict[str, Any]:
    request = messages.ModelRequest(messages=history, tools=(*OFFERED, conclusion.CONCLUDE))
    reply = await TriageModel().ask(request)
    assert [call.tool for call in reply.calls] == [conclusion.CONCLUDE.name]
    values: dict[str, Any] = json.loads(reply.calls[0].arguments)
    return values


def _outputs(history: tuple[messages.Message, ...]) -> dict[str, str]:
    shown = [transcript.parse(item.text) for item in history if item.role is messages.Role.TOOL]
    return {item.call_id: item.text for item in shown}


def _scored(
    values: dict[str, Any], outputs: dict[str, str], record: dict[str, Any]
) -> incident_scenarios.Score:
    read = conclusion.verify(conclusion.read(values), outputs)
    cause = read.root_cause
    of = cause.subject if cause else None
    parts = [(cause.statement, cause.evidence)] if cause else []
    parts += [(item.statement, item.evidence) for item in (*read.findings, *read.ruled_out)]
    found = incident_scenarios.Answer(
        verdict=read.verdict.value,
        summary=read.summary,
        statement=cause.statement if cause else "",
        subject=(of.kind, of.name) if of else ("", ""),
        claims=[(text, [(item.call, item.quote) for item in proof]) for text, proof in parts],
        outputs=outputs,
        steps=2,
    )
    scenario = incident_scenarios.load(
        record["scenario"], seed=record["seed"], fault=record["fault"]
    )
    return incident_scenarios.score(scenario, found)


def test_there_are_recordings() -> None:
    assert len(RECORDED) > 50


@pytest.mark.parametrize("name", RECORDED)
async def test_the_answer_is_right(name: str) -> None:
    record = _recorded(name)
    history = _history(record)
    score = _scored(await _conclude(history), _outputs(history), record)
    assert score.faults == ()
    assert score.passed


@pytest.mark.parametrize("name", RECORDED)
async def test_the_answer_fits_the_schema_and_says_once_that_no_language_model_was_used(
    name: str,
) -> None:
    values = await _conclude(_history(_recorded(name)))
    assert set(values) <= set(conclusion.CONCLUDE.parameters["properties"])
    assert len(values["summary"]) <= 256
    assert json.dumps(values, ensure_ascii=False).count(answer.NO_LANGUAGE_MODEL) == 1
    for action in values["actions"]:
        assert not re.search(r"\b(None|unknown)\b", action.get("command", "")), action


@pytest.mark.parametrize("name", RECORDED)
async def test_an_answer_never_outlives_its_facts(name: str) -> None:
    """The same conversation with emptied results: nothing may be claimed any more."""
    emptied = tuple(
        (
            messages.Message(role=item.role, text=_emptied(item.text), call_id=item.call_id)
            if item.role is messages.Role.TOOL
            else item
        )
        for item in _history(_recorded(name))
    )
    values = await _conclude(emptied)
    assert values["verdict"] == "Inconclusive"
    assert "rootCause" not in values


def _emptied(text: str) -> str:
    shown = transcript.parse(text)
    call = tools.ToolCall(id=shown.call_id, tool=shown.tool, arguments="{}")
    return transcript.render(
        call,
        tools.ToolResult(status=tools.ToolStatus.NO_DATA, text="nothing"),
        fence="abc",
        limit=100,
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        pytest.param(
            "R05",
            r"(?m)^(> \w+): .*$",
            r"\1: the flux is out of phase",
            "the flux is out of phase",
            id="log line",
        ),
        pytest.param("R01", r"limits\.memory: \d+Mi|limitMemory=\d+Mi", None, "77Mi", id="limit"),
        pytest.param(
            "P01",
            r"Insufficient cpu",
            "Insufficient example.com/tape",
            "insufficient example.com/tape",
            id="event",
        ),
        pytest.param(
            "R07", r"exitCode=\S+", "exitCode=143", "liveness", id="exit code is not the cause"
        ),
    ],
)
async def test_changing_a_result_changes_the_answer(
    name: str, old: str, new: str | None, said: str
) -> None:
    history = _history(_recorded(name))
    before = await _conclude(history)
    changed = tuple(
        (
            messages.Message(
                role=item.role, text=_changed(item.text, old, new), call_id=item.call_id
            )
            if item.role is messages.Role.TOOL
            else item
        )
        for item in history
    )
    after = await _conclude(changed)
    assert said in after["rootCause"]["statement"]
    if name != "R07":
        assert said not in before["rootCause"]["statement"]


def _changed(text: str, old: str, new: str | None) -> str:
    if new is None:
        return re.sub(r"\d+Mi", "77Mi", text)
    return re.sub(old, new, text)


async def test_the_same_messages_give_the_same_bytes() -> None:
    history = _history(_recorded("R05"))
    assert await _conclude(history) == await _conclude(history)
