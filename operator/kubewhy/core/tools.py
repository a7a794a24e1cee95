"""Tools as values: what can be called, what was called, what came back.

A tool's implementation lives in `kubewhy.toolsets` or behind an adapter and meets the engine through
`core.ports.Tool`. Nothing here runs anything.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from kubewhy.api import values

STORED_TEXT_BYTES = 1024 * 1024
"""Most bytes of one result's redacted text that the journal keeps (design.md §6)."""

INLINE_TEXT_BYTES = 16 * 1024
"""A longer result is stored as a record of its own, to which the journal's event refers by digest."""


ToolStatus = values.ToolStatus
"""How a call ended. `NoData` ("looked, nothing there") is never mixed with `Error` ("could not look")."""


class ToolEffect(enum.StrEnum):
    """Whether a tool only looks (`Read`) or changes something (`Write`, needs an Approval)."""

    READ = "Read"
    WRITE = "Write"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What the model is told about a tool, and how the engine treats it.

    `parameters` is a JSON schema of type object. `timeout_seconds` bounds one run of the tool.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    toolset: str
    effect: ToolEffect = ToolEffect.READ
    timeout_seconds: int = 30


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One request of the model with the operator's own id `<step>-<index>`; `arguments` is canonical JSON."""

    id: str
    tool: str
    arguments: str

    @property
    def values(self) -> dict[str, Any]:
        """The arguments as a dict."""
        values: dict[str, Any] = json.loads(self.arguments)
        return values


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What an implementation hands back, before redaction.

    `text` is bounded by the implementation while it reads. `total_bytes` counts everything that was read,
    also what is not in `text`; `truncated` says that `text` is not all of it.
    """

    text: str
    status: ToolStatus = ToolStatus.SUCCESS
    total_bytes: int | None = None
    truncated: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The recorded outcome of a call: redacted, bounded by `STORED_TEXT_BYTES`, quotable as Evidence."""

    status: ToolStatus
    text: str
    total_bytes: int = 0
    truncated: bool = False
    duration_ms: int = 0

    @property
    def digest(self) -> str:
        """The sha256 of `text`: the name under which a long one is stored."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def inline(self) -> bool:
        """Whether `text` is stored within the event itself."""
        return len(self.text.encode("utf-8", "surrogatepass")) <= INLINE_TEXT_BYTES


def canonical(value: object) -> str:
    """JSON text with sorted keys and no blanks: equal values give equal bytes, which digests rely on.

    Raises:
        ValueError: for NaN, infinities and values that JSON can't hold.
    """
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except TypeError as error:
        raise ValueError(str(error)) from error
