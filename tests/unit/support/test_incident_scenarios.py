"""The scorers of the incident suite: the right answer passes, each kind of wrong one fails."""

from __future__ import annotations

import dataclasses
import json

import pytest

import incident_scenarios
from incident_scenarios import Answer

OUTPUT = "## LogTail Pod/x\n> {}: {}\n> limits.memory: 20Mi"


def _right(scenario: incident_scenarios.Scenario) -> Answer:
    values = scenario.values
    quote = f"{values['error']}: {values['message']}"
    return Answer(
        verdict="RootCauseFound",
        summary="x",
        statement=f"Container crashes: {quote}",
        subject=("Deployment", values["app"]),
        claims=[("it crashes", [("1-0", quote)])],
        outputs={"1-0": OUTPUT.format(values["error"], values["message"])},
        steps=2,
    )


@pytest.fixture
def scenario() -> incident_scenarios.Scenario:
    return incident_scenarios.load("R05", seed=5)


def test_the_right_answer_passes(scenario: incident_scenarios.Scenario) -> None:
    assert incident_scenarios.score(scenario, _right(scenario)).passed


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"subject": ("Deployment", "another")}, id="another object"),
        pytest.param({"subject": ("", "")}, id="no object"),
        pytest.param({"verdict": "Inconclusive"}, id="undecided"),
        pytest.param({"statement": "it crashes"}, id="symptom only"),
        pytest.param(
            {"claims": [("it crashes", [("1-0", "quote that nobody said")])]}, id="invented quote"
        ),
        pytest.param({"claims": [("it crashes", [])]}, id="claim without quote"),
        pytest.param(
            {"claims": [("it crashes", [("2-0", "limits.memory: 20Mi")])]},
            id="quote of another call",
        ),
        pytest.param({"steps": 99}, id="too many steps"),
    ],
)
def test_a_wrong_answer_fails(
    scenario: incident_scenarios.Scenario, wrong: dict[str, object]
) -> None:
    answer = dataclasses.replace(_right(scenario), **wrong)  # type: ignore[arg-type]
    score = incident_scenarios.score(scenario, answer)
    assert not score.passed
    assert score.faults


def test_a_forbidden_cause_fails(scenario: incident_scenarios.Scenario) -> None:
    right = _right(scenario)
    answer = dataclasses.replace(right, statement=f"{right.statement} or OOM")
    assert not incident_scenarios.score(scenario, answer).mechanism


def test_the_control_wants_no_cause() -> None:
    control = incident_scenarios.load("R05", seed=5, fault=False)
    assert not incident_scenarios.score(control, _right(control)).passed
    silent = dataclasses.replace(
        _right(control), verdict="NoProblemFound", subject=("", ""), statement=""
    )
    assert incident_scenarios.score(control, silent).passed


def test_seeds_change_every_name_and_text_and_repeat_themselves() -> None:
    one, again, two = (incident_scenarios.load("R05", seed=seed) for seed in (1, 1, 2))
    assert one.objects == again.objects
    assert one.values["app"] != two.values["app"]
    assert one.values["message"] != two.values["message"]
    assert one.values["namespace"] != two.values["namespace"]


@pytest.mark.parametrize("scenario_id", incident_scenarios.ids())
@pytest.mark.parametrize("fault", [True, False])
def test_every_folder_reads_and_differs_only_by_its_fault(scenario_id: str, fault: bool) -> None:
    found = incident_scenarios.load(scenario_id, seed=3, fault=fault)
    assert found.answer["id"] == scenario_id
    assert found.answer["verdict"] in {"fault", "none", "undetermined"}
    assert (found.answer["verdict"] == "fault") == bool(found.answer["entities"]) or found.answer[
        "verdict"
    ] == "undetermined"
    assert found.alert["version"] == "4"
    assert found.alert["alerts"][0]["labels"]["namespace"] == found.namespace
    other = incident_scenarios.load(scenario_id, seed=3, fault=not fault)
    parts = [
        json.dumps([row.objects, row.alert["alerts"][0]["labels"]], default=str)
        for row in (found, other)
    ]
    same = parts[0].replace(found.namespace, "") == parts[1].replace(other.namespace, "")
    assert same == (found.answer["verdict"] == "none")
