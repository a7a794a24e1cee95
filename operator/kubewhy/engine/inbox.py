"""What the outside wants of a running Investigation, and the wake-up that goes with it."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime

from kubewhy.core import events, state


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The mutable part of an Investigation, as last seen. Level-triggered: only the newest value counts."""

    suspend: bool = False
    cancel: bool = False
    resolved: bool = False

    def events(self, current: state.State, at: datetime.datetime) -> list[events.Event]:
        """The events that bring the run's state in line with the wishes; none when it already is."""
        found: list[events.Event] = []
        if self.cancel and not current.cancel_requested:
            found.append(events.CancelRequested(at=at))
        if self.suspend and not current.suspended:
            found.append(events.Suspended(at=at))
        if not self.suspend and current.suspended:
            found.append(events.Resumed(at=at))
        if self.resolved and current.alerts_resolved_at is None:
            found.append(events.AlertsResolved(at=at))
        return found


class Inbox:
    """Holds the newest wishes; `changed` is set when there are new ones to look at, `gone` when the object is."""

    def __init__(self, wishes: Wishes) -> None:
        self.wishes = wishes
        self.gone = False
        self.changed = asyncio.Event()

    def put(self, wishes: Wishes) -> None:
        """Replace the wishes and wake the run if they differ."""
        if wishes != self.wishes:
            self.wishes = wishes
            self.changed.set()
