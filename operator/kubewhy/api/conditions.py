"""Conditions: their types, every reason with its meaning, and how a condition is changed.

Clients must tolerate reasons they don't know, so the schema takes any CamelCase word; the enums here are
what the operator writes, and the documentation lists them all.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from kubewhy.api import base, bounds
from kubewhy.api.base import Count, Time, text


class ConditionStatus(StrEnum):
    """Whether a condition holds; Unknown also means "not yet"."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(StrEnum):
    """What a condition is about, and how to read True."""

    doc: str

    def __new__(cls, value: str, doc: str) -> Self:
        """A string that carries its explanation."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.doc = doc
        return member

    SUCCEEDED = "Succeeded", "Unknown while active, True finished well, False finished badly."
    AWAITING_APPROVAL = "AwaitingApproval", "True while a call waits for a person's decision."
    ALERT_RESOLVED = "AlertResolved", "True once the alert that asked no longer fires."
    ATTENTION_NEEDED = "AttentionNeeded", "True when a person should look at the run itself."
    TRACE_COMPLETE = "TraceComplete", "False when the trace in status is not all that happened."
    DELIVERED = "Delivered", "True once the answer has reached every destination."


class Reason(StrEnum):
    """A reason of one condition: a word for programs, its status, and its meaning for people."""

    type: ConditionType
    status: ConditionStatus
    doc: str

    def __new__(cls, value: str, type_: ConditionType, status: ConditionStatus, doc: str) -> Self:
        """A string that carries the condition it belongs to."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.type = type_
        member.status = status
        member.doc = doc
        return member


_T, _F, _U = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN
_SUCCEEDED = ConditionType.SUCCEEDED
_AWAITING = ConditionType.AWAITING_APPROVAL
_RESOLVED = ConditionType.ALERT_RESOLVED
_ATTENTION = ConditionType.ATTENTION_NEEDED
_TRACE = ConditionType.TRACE_COMPLETE
_DELIVERED = ConditionType.DELIVERED


class SucceededReason(Reason):
    """Where an Investigation stands, and how it ended."""

    PENDING = "Pending", _SUCCEEDED, _U, "It waits for its turn."
    RUNNING = "Running", _SUCCEEDED, _U, "The model is asked and tools run."
    AWAITING_APPROVAL = "AwaitingApproval", _SUCCEEDED, _U, "A call waits for a person's decision."
    AWAITING_CLIENT = "AwaitingClient", _SUCCEEDED, _U, "A client tool has not been answered yet."
    SUSPENDED = "Suspended", _SUCCEEDED, _U, "spec.suspend is true."
    RATE_LIMITED = "RateLimited", _SUCCEEDED, _U, "The model's provider asked to wait."
    JOURNAL_UNAVAILABLE = (
        "JournalUnavailable",
        _SUCCEEDED,
        _U,
        "The API server takes no records at the moment; nothing is started meanwhile.",
    )
    ROOT_CAUSE_FOUND = (
        "RootCauseFound",
        _SUCCEEDED,
        _T,
        "A root cause was found, and a verified quote supports it.",
    )
    NO_PROBLEM_FOUND = "NoProblemFound", _SUCCEEDED, _T, "The subject is healthy now."
    INCONCLUSIVE = "Inconclusive", _SUCCEEDED, _T, "No root cause could be proven."
    INVALID_SPEC = (
        "InvalidSpec",
        _SUCCEEDED,
        _F,
        "The spec asks for something that does not exist, such as an unknown model or toolset.",
    )
    DEADLINE_EXCEEDED = (
        "DeadlineExceeded",
        _SUCCEEDED,
        _F,
        "limits.seconds ran out, and not even a concluding step was possible.",
    )
    BUDGET_EXHAUSTED = (
        "BudgetExhausted",
        _SUCCEEDED,
        _F,
        "Tokens or money ran out, and not even a concluding step could be paid for.",
    )
    NO_PROGRESS = "NoProgress", _SUCCEEDED, _F, "The model repeated the same call without end."
    CANCELLED = "Cancelled", _SUCCEEDED, _F, "spec.cancel was set."
    ALERT_RESOLVED = (
        "AlertResolved",
        _SUCCEEDED,
        _F,
        "The alert resolved before the work began, or the route ends the run then.",
    )
    MODEL_PROTOCOL_ERROR = (
        "ModelProtocolError",
        _SUCCEEDED,
        _F,
        "The model's replies could not be read, several times in a row.",
    )
    MODEL_REFUSED = "ModelRefused", _SUCCEEDED, _F, "The provider's content filter ended a reply."
    MODEL_UNAVAILABLE = (
        "ModelUnavailable",
        _SUCCEEDED,
        _F,
        "The model could not be reached or kept failing.",
    )
    MODEL_AUTH_FAILED = "ModelAuthFailed", _SUCCEEDED, _F, "The provider refused the model's key."
    MODEL_NOT_FOUND = "ModelNotFound", _SUCCEEDED, _F, "The provider does not know the model."
    CONTEXT_EXCEEDED = (
        "ContextExceeded",
        _SUCCEEDED,
        _F,
        "The conversation does not fit into the model's context, also after it was shortened.",
    )
    CRASH_LOOP = (
        "CrashLoop",
        _SUCCEEDED,
        _F,
        "The operator stopped several times at this Investigation without any progress.",
    )
    STATUS_REJECTED = "StatusRejected", _SUCCEEDED, _F, "The API server refused the status."
    JOURNAL_LOST = (
        "JournalLost",
        _SUCCEEDED,
        _F,
        "Records are missing or damaged, so that the run cannot go on safely.",
    )
    UNSUPPORTED = (
        "Unsupported",
        _SUCCEEDED,
        _F,
        "A version of the operator began the run that this one cannot continue.",
    )


class AwaitingApprovalReason(Reason):
    """Whether a person's decision is needed."""

    UNDECIDED = "NotYetKnown", _AWAITING, _U, "The run has not begun."
    REQUESTED = "Requested", _AWAITING, _T, "status.pendingApprovals lists what waits."
    NOTHING_PENDING = "NothingPending", _AWAITING, _F, "No call waits for a decision."


class AlertResolvedReason(Reason):
    """Whether the alert that asked still fires."""

    UNDECIDED = "NotYetKnown", _RESOLVED, _U, "The run has not begun."
    RESOLVED = "Resolved", _RESOLVED, _T, "Its source reported the alert as resolved."
    FIRING = "Firing", _RESOLVED, _F, "The alert was not reported as resolved."
    NO_ALERT = "NoAlert", _RESOLVED, _F, "A person asked, no alert."


class AttentionNeededReason(Reason):
    """Why a person should look at the run itself."""

    UNDECIDED = "NotYetKnown", _ATTENTION, _U, "The run has not begun."
    AS_EXPECTED = "AsExpected", _ATTENTION, _F, "Nothing unusual happened."
    UNKNOWN_OUTCOME = (
        "UnknownOutcome",
        _ATTENTION,
        _T,
        "A restart hid whether a write took effect; it is not repeated.",
    )
    STATUS_TAMPERED = "StatusTampered", _ATTENTION, _T, "Someone else wrote the status."
    APPROVAL_POLICY_MISSING = (
        "ApprovalPolicyMissing",
        _ATTENTION,
        _T,
        "The admission policy for approvals is not in force, so approvals are refused.",
    )
    RBAC_LOST = "RBACLost", _ATTENTION, _T, "The operator lacks a right that it needs."


class TraceCompleteReason(Reason):
    """Whether the trace in status is all that happened."""

    UNDECIDED = "NotYetKnown", _TRACE, _U, "The run has not finished."
    COMPLETE = "Complete", _TRACE, _T, "Every call is in the trace."
    TRUNCATED = "Truncated", _TRACE, _F, "The trace was shortened; the records hold all of it."
    RECORD_MISSING = "RecordMissing", _TRACE, _F, "A record was deleted or is damaged."


class DeliveredReason(Reason):
    """Whether the answer has reached its destinations."""

    UNDECIDED = "NotYetKnown", _DELIVERED, _U, "The run has not finished."
    DELIVERED = "Delivered", _DELIVERED, _T, "Every destination has taken the answer."
    NO_DESTINATION = "NoDestination", _DELIVERED, _T, "No destination is configured."
    DELIVERY_FAILED = "DeliveryFailed", _DELIVERED, _F, "A destination did not take the answer."


REASONS: dict[ConditionType, type[Reason]] = {
    _SUCCEEDED: SucceededReason,
    _AWAITING: AwaitingApprovalReason,
    _RESOLVED: AlertResolvedReason,
    _ATTENTION: AttentionNeededReason,
    _TRACE: TraceCompleteReason,
    _DELIVERED: DeliveredReason,
}
"""The reasons that belong to each condition."""

INITIAL: tuple[Reason, ...] = (
    SucceededReason.PENDING,
    AwaitingApprovalReason.UNDECIDED,
    AlertResolvedReason.UNDECIDED,
    AttentionNeededReason.UNDECIDED,
    TraceCompleteReason.UNDECIDED,
    DeliveredReason.UNDECIDED,
)
"""Set on the first visit, so that an absent condition means "not seen yet"."""


class Condition(base.ApiModel):
    """One aspect of where an Investigation stands."""

    type: Annotated[str, text(bounds.LABEL, min_length=1, pattern=base.CAMEL_PATTERN)]
    """type names the aspect, such as Succeeded."""
    status: ConditionStatus
    """status is True, False or Unknown."""
    observed_generation: Count | None = None
    """observedGeneration is the generation of the spec that this condition is about."""
    last_transition_time: Time
    """lastTransitionTime is when the status last changed."""
    reason: Annotated[str, text(bounds.LABEL, min_length=1, pattern=base.CAMEL_PATTERN)]
    """reason is one word for programs."""
    message: Annotated[str, text(bounds.CONDITION_MESSAGE)] = ""
    """message explains the reason to people."""


def condition(
    reason: Reason, *, now: datetime, message: str = "", generation: int | None = None
) -> Condition:
    """The condition that a reason belongs to; its message is the reason's meaning unless given.

    A message is cut to its bound.
    """
    return Condition(
        type=reason.type.value,
        status=reason.status,
        observed_generation=generation,
        last_transition_time=now,
        reason=reason.value,
        message=(message or reason.doc)[: bounds.CONDITION_MESSAGE],
    )


def succeeded_reason(word: str) -> SucceededReason:
    """The reason of the condition Succeeded that is written as `word`.

    Raises:
        StopIteration: there is none; words come from the core's own events.
    """
    return next(reason for reason in SucceededReason if reason.value == word)


def find(conditions: Iterable[Condition], type_: ConditionType) -> Condition | None:
    """The condition of that type, None where it has not been set."""
    return next((each for each in conditions if each.type == type_.value), None)


def with_condition(conditions: Sequence[Condition], new: Condition) -> tuple[Condition, ...]:
    """The list with `new` in its place.

    lastTransitionTime changes only with the status, and never goes back.
    """
    old = next((each for each in conditions if each.type == new.type), None)
    if old is None:
        return (*conditions, new)
    time = old.last_transition_time
    if old.status is not new.status:
        time = max(time, new.last_transition_time)
    new = new.model_copy(update={"last_transition_time": time})
    return tuple(new if each.type == new.type else each for each in conditions)


def initial(*, now: datetime, generation: int | None = None) -> tuple[Condition, ...]:
    """All known conditions as they are on the first visit."""
    return tuple(condition(reason, now=now, generation=generation) for reason in INITIAL)


def is_terminal(conditions: Iterable[Condition]) -> bool:
    """Whether Succeeded is True or False, which it stays for ever."""
    found = find(conditions, ConditionType.SUCCEEDED)
    return found is not None and found.status is not ConditionStatus.UNKNOWN
