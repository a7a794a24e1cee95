"""Every scenario is solved, and with its fault repaired it is found healthy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import incident_run

Runs = Callable[[str, int, bool], incident_run.Outcome]

pytestmark = pytest.mark.timeout(600)


def test_solved(outcome: Runs, scenario: str, seed: int) -> None:
    """Right object, right cause, every claim with a quote that stands in a recorded output."""
    run = outcome(scenario, seed, True)
    assert run.score.faults == ()
    assert run.score.passed
    assert all(
        item["verified"] for item in run.found["status"].get("rootCause", {}).get("evidence", ())
    )


def test_control_is_healthy(outcome: Runs, scenario: str, seed: int) -> None:
    """The same manifests with only the fault repaired, and the same alert."""
    run = outcome(scenario, seed, False)
    assert run.score.faults == ()
    assert run.score.passed
    assert "rootCause" not in run.found["status"]
