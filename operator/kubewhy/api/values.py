"""The words a manifest may use where it chooses from a list.

Values are CamelCase, as Kubernetes writes them. The one exception is `AlertStatus`: alerts are kept in
Alertmanager's own form, so that one can be pasted from its payload.
"""

from enum import StrEnum


class Mode(StrEnum):
    """What the run may do."""

    READ_ONLY = "ReadOnly"
    APPROVE = "Approve"


class Severity(StrEnum):
    """How urgent the problem is to the people who own it."""

    CRITICAL = "Critical"
    WARNING = "Warning"
    INFO = "Info"
    NONE = "None"


class AlertStatus(StrEnum):
    """Whether the alert's source still reported it."""

    FIRING = "firing"
    RESOLVED = "resolved"


class Confidence(StrEnum):
    """How sure the model says that it is."""

    HIGH = "High"
    MEDIUM = "Medium"
    LOW = "Low"


class Risk(StrEnum):
    """What an action may break."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"


class Decision(StrEnum):
    """What a person decided about a call."""

    APPROVE = "Approve"
    DENY = "Deny"


class TodoStatus(StrEnum):
    """How far a task on the run's own list is."""

    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"


class ToolStatus(StrEnum):
    """How a tool call ended, or what it waits for."""

    SUCCESS = "Success"
    ERROR = "Error"
    NO_DATA = "NoData"
    NOT_FOUND = "NotFound"
    APPROVAL_REQUIRED = "ApprovalRequired"
    CLIENT_PAUSE = "ClientPause"
    DENIED = "Denied"
    EXPIRED = "Expired"
    TIMED_OUT = "TimedOut"
    FORBIDDEN = "Forbidden"
    REFUSED = "Refused"
    INTERRUPTED = "Interrupted"
    UNKNOWN = "Unknown"


class RecordContent(StrEnum):
    """What an InvestigationRecord holds."""

    EVENTS = "Events"
    OUTPUT = "Output"


class RecordEncoding(StrEnum):
    """How an InvestigationRecord's data is written."""

    JSON = "Json"
    ZLIB_BASE64 = "ZlibBase64"
