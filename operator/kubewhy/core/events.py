"""The facts a journal holds. Each is immutable, carries its time, and was true when it was appended.

The JSON form of these classes is stored in clusters: fields may be added with a default, never renamed or removed
(engine/codec.py holds the format's version). All times are aware, UTC.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Literal

from kubewhy.core.briefing import Briefing
from kubewhy.core.conclusion import Conclusion
from kubewhy.core.limits import Limits
from kubewhy.core.messages import RequestedCall, Usage
from kubewhy.core.tools import ToolResult, ToolSpec

_NO_USAGE = Usage()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The run's frozen input: what was asked, what may be used and spent.

    `system` is the rendered system prompt and `fence` the unguessable marker around text from outside; `tools` is what
    the model is offered. All later messages follow from this event and the ones after it.
    """

    at: datetime.datetime
    task: Briefing
    model: str
    limits: Limits
    system: str
    fence: str
    tools: tuple[ToolSpec, ...]
    mode: Literal["ReadOnly", "Approve"] = "ReadOnly"
    version: str = ""
    type: Literal["Opened"] = "Opened"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A holder took the run over; whatever was in flight before has no owner any more."""

    at: datetime.datetime
    epoch: int
    holder: str
    type: Literal["Claimed"] = "Claimed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A model request is about to leave. `final`: without tools, asking for the answer because `limit` was reached."""

    at: datetime.datetime
    step: int
    final: bool = False
    limit: str = ""
    type: Literal["ModelAsked"] = "ModelAsked"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied:
    """The reply to the newest `ModelAsked` of that step."""

    at: datetime.datetime
    step: int
    text: str
    calls: tuple[RequestedCall, ...]
    usage: Usage
    finish: str = ""
    type: Literal["ModelReplied"] = "ModelReplied"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """The model gave no usable reply; `error` is the class name of the `errors.ModelError`.

    `usage` is what a reply that can't be used has cost all the same.
    """

    at: datetime.datetime
    step: int
    error: str
    message: str
    usage: Usage = _NO_USAGE
    type: Literal["ModelFailed"] = "ModelFailed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool is about to run for the `attempt`-th time (a read that a crash interrupted runs again)."""

    at: datetime.datetime
    call: str
    attempt: int = 1
    type: Literal["ToolStarted"] = "ToolStarted"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned:
    """The recorded outcome of a started call."""

    at: datetime.datetime
    call: str
    attempt: int
    result: ToolResult
    type: Literal["ToolReturned"] = "ToolReturned"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TimeRanShort:
    """Only the time kept aside for the concluding step is left."""

    at: datetime.datetime
    type: Literal["TimeRanShort"] = "TimeRanShort"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineReached:
    """`limits.seconds` of working time are over."""

    at: datetime.datetime
    type: Literal["DeadlineReached"] = "DeadlineReached"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """A person set `spec.suspend`: nothing new starts, and the working time stands still."""

    at: datetime.datetime
    type: Literal["Suspended"] = "Suspended"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A person cleared `spec.suspend`."""

    at: datetime.datetime
    type: Literal["Resumed"] = "Resumed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """A person set `spec.cancel`."""

    at: datetime.datetime
    type: Literal["CancelRequested"] = "CancelRequested"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AlertsResolved:
    """The alert source reports every alert of this run as resolved."""

    at: datetime.datetime
    type: Literal["AlertsResolved"] = "AlertsResolved"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """The end. `reason` is a terminal reason of the condition Succeeded; `conclusion` is what is known, if anything."""

    at: datetime.datetime
    reason: str
    message: str
    conclusion: Conclusion | None = None
    type: Literal["Concluded"] = "Concluded"


Event = (
    Opened
    | Claimed
    | ModelAsked
    | ModelReplied
    | ModelFailed
    | ToolStarted
    | ToolReturned
    | TimeRanShort
    | DeadlineReached
    | Suspended
    | Resumed
    | CancelRequested
    | AlertsResolved
    | Concluded
)
"""Any fact of a journal."""
