from datetime import UTC, datetime, timedelta

import pytest

from kubewhy.api import bounds, conditions
from kubewhy.api.conditions import ConditionStatus, ConditionType, SucceededReason

NOON = datetime(2026, 8, 3, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)
EARLIER = NOON - timedelta(hours=2)


def succeeded(reason: SucceededReason, now: datetime, message: str = "") -> conditions.Condition:
    return conditions.condition(reason, now=now, message=message, generation=1)


def test_a_reason_brings_its_condition_and_status() -> None:
    made = succeeded(SucceededReason.ROOT_CAUSE_FOUND, NOON)
    assert made.manifest() == {
        "type": "Succeeded",
        "status": "True",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-08-03T12:00:00Z",
        "reason": "RootCauseFound",
        "message": SucceededReason.ROOT_CAUSE_FOUND.doc,
    }


def test_a_message_is_cut_to_its_bound() -> None:
    assert len(succeeded(SucceededReason.RUNNING, NOON, "x" * 9999).message) == 1024
    assert bounds.CONDITION_MESSAGE == 1024


def test_the_transition_time_stays_while_the_status_stays() -> None:
    before = (succeeded(SucceededReason.PENDING, NOON),)
    after = conditions.with_condition(before, succeeded(SucceededReason.RUNNING, LATER))
    assert [(each.reason, each.last_transition_time) for each in after] == [("Running", NOON)]


def test_the_transition_time_moves_with_the_status() -> None:
    before = (succeeded(SucceededReason.RUNNING, NOON),)
    after = conditions.with_condition(before, succeeded(SucceededReason.INCONCLUSIVE, LATER))
    assert after[0].last_transition_time == LATER


def test_the_transition_time_never_goes_back() -> None:
    before = (succeeded(SucceededReason.RUNNING, NOON),)
    after = conditions.with_condition(before, succeeded(SucceededReason.CANCELLED, EARLIER))
    assert after[0].status is ConditionStatus.FALSE
    assert after[0].last_transition_time == NOON


def test_other_conditions_keep_their_place() -> None:
    before = conditions.initial(now=NOON)
    new = conditions.condition(conditions.AlertResolvedReason.RESOLVED, now=LATER)
    after = conditions.with_condition(before, new)
    assert [each.type for each in after] == [each.type for each in before]
    assert [each for each in after if each.type != "AlertResolved"] == [
        each for each in before if each.type != "AlertResolved"
    ]


def test_a_condition_of_a_newer_version_is_kept() -> None:
    foreign = conditions.Condition(
        type="Novel", status=ConditionStatus.TRUE, last_transition_time=NOON, reason="Unheard"
    )
    after = conditions.with_condition((foreign,), succeeded(SucceededReason.RUNNING, NOON))
    assert after[0] == foreign
    assert after[1].type == "Succeeded"


def test_the_first_visit_sets_every_condition_to_unknown() -> None:
    first = conditions.initial(now=NOON, generation=3)
    assert [each.type for each in first] == [each.value for each in ConditionType]
    assert {each.status for each in first} == {ConditionStatus.UNKNOWN}
    assert {each.observed_generation for each in first} == {3}


def test_terminal_means_succeeded_is_decided() -> None:
    assert not conditions.is_terminal(())
    assert not conditions.is_terminal(conditions.initial(now=NOON))
    for reason in SucceededReason:
        decided = reason.status is not ConditionStatus.UNKNOWN
        assert conditions.is_terminal((succeeded(reason, NOON),)) is decided


def test_the_reasons_of_succeeded_are_those_of_the_contract() -> None:
    by_status = {
        status: {reason.value for reason in SucceededReason if reason.status is status}
        for status in ConditionStatus
    }
    assert by_status[ConditionStatus.UNKNOWN] == {
        "Pending",
        "Running",
        "AwaitingApproval",
        "AwaitingClient",
        "Suspended",
        "RateLimited",
        "JournalUnavailable",
    }
    assert by_status[ConditionStatus.TRUE] == {"RootCauseFound", "NoProblemFound", "Inconclusive"}
    assert by_status[ConditionStatus.FALSE] == {
        "InvalidSpec",
        "DeadlineExceeded",
        "BudgetExhausted",
        "NoProgress",
        "Cancelled",
        "AlertResolved",
        "ModelProtocolError",
        "ModelRefused",
        "ModelUnavailable",
        "ModelAuthFailed",
        "ModelNotFound",
        "ContextExceeded",
        "CrashLoop",
        "StatusRejected",
        "JournalLost",
        "Unsupported",
    }


@pytest.mark.parametrize("type_", list(ConditionType))
def test_every_reason_belongs_to_its_condition_and_is_explained(type_: ConditionType) -> None:
    for reason in conditions.REASONS[type_]:
        assert reason.type is type_
        assert reason.doc.endswith(".")
        assert reason.value[0].isupper()
        assert reason.value.isalnum()
