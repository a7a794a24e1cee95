"""Which events of a journal are worth a Kubernetes Event, and in which words."""

from __future__ import annotations

import dataclasses

from kubewhy.api import conditions
from kubewhy.core import events, state


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What `kubectl describe` shows: `kind` is Normal or Warning, `reason` one CamelCase word."""

    kind: str
    reason: str
    message: str


def of(event: events.Event, current: state.State) -> Announcement | None:
    """The announcement of an event, given the state after it; None for those that only a journal cares about."""
    match event:
        case events.Opened():
            text = f"Investigation started by {current.holder} with model {event.model}"
            return Announcement(kind="Normal", reason="Started", message=text)
        case events.Claimed() if current.opened is not None:
            text = f"Taken over by {event.holder} (epoch {event.epoch}); read-only calls in flight run again"
            return Announcement(kind="Normal", reason="Resumed", message=text)
        case events.Suspended():
            return Announcement(kind="Normal", reason="Suspended", message="spec.suspend is set")
        case events.Concluded():
            return _ended(event)
    return None


def _ended(event: events.Concluded) -> Announcement:
    known = conditions.succeeded_reason(event.reason)
    kind = "Warning" if known.status is conditions.ConditionStatus.FALSE else "Normal"
    cause = event.conclusion.root_cause if event.conclusion else None
    message = cause.statement if cause and event.reason == "RootCauseFound" else event.message
    return Announcement(kind=kind, reason=event.reason, message=message)
