"""What is due on finished Investigations, and what never is."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from kubewhy.api import conditions
from kubewhy.core import tending

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
ENDED = NOW - datetime.timedelta(hours=1)


def _document(
    *,
    ttl: int = 604_800,
    finished: bool = True,
    annotations: dict[str, str] | None = None,
    resolved: bool = False,
) -> dict[str, Any]:
    reason = (
        conditions.AlertResolvedReason.RESOLVED
        if resolved
        else conditions.AlertResolvedReason.FIRING
    )
    found = (
        conditions.condition(conditions.SucceededReason.ROOT_CAUSE_FOUND, now=ENDED),
        conditions.condition(reason, now=ENDED),
    )
    return {
        "metadata": {
            "name": "a",
            "namespace": "shop",
            "uid": "u",
            "generation": 1,
            "annotations": annotations or {},
        },
        "spec": {"question": "why?", "ttlSecondsAfterFinished": ttl},
        "status": {
            "finished": finished,
            "completionTime": ENDED.isoformat(),
            "conditions": [each.manifest() for each in found],
        },
    }


def test_one_whose_time_is_over_is_deleted() -> None:
    assert tending.due(_document(ttl=3600), NOW) == tending.Delete()
    assert tending.due(_document(ttl=0), NOW) == tending.Delete()


@pytest.mark.parametrize(
    "document",
    [_document(ttl=3601), _document(ttl=0, finished=False), {}, {"spec": 1, "metadata": {}}],
)
def test_nothing_is_due_on_others(document: dict[str, Any]) -> None:
    assert tending.due(document, NOW) is None


def test_an_alert_that_resolved_after_the_end_is_noted_and_the_end_stays() -> None:
    due = tending.due(
        _document(annotations={"alert.kubewhy.internal/resolved-at": "2026-01-01T23:30:00Z"}), NOW
    )
    assert isinstance(due, tending.MarkResolved)
    by_type = {each.type: each for each in due.conditions}
    assert by_type["AlertResolved"].status.value == "True"
    assert by_type["Succeeded"].reason == "RootCauseFound"
    assert by_type["Succeeded"].last_transition_time == ENDED


@pytest.mark.parametrize("told", ["nonsense", "", "9999-99-99T00:00:00Z"])
def test_a_note_that_is_no_time_changes_nothing(told: str) -> None:
    assert (
        tending.due(_document(annotations={"alert.kubewhy.internal/resolved-at": told}), NOW)
        is None
    )


def test_what_is_already_noted_is_not_written_again() -> None:
    document = _document(
        resolved=True, annotations={"alert.kubewhy.internal/resolved-at": "2026-01-01T23:30:00Z"}
    )
    assert tending.due(document, NOW) is None
