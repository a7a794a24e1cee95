"""What passes between the engine and a model, whatever the provider."""

from __future__ import annotations

import dataclasses
import enum

from kubewhy.core import tools


class Role(enum.StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn. `calls` only with ASSISTANT; `call_id` only with TOOL (the id of the call it answers)."""

    role: Role
    text: str
    calls: tuple[tools.ToolCall, ...] = ()
    call_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and cost of one or more model requests; cost is whole micro-USD, never a float."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_micro_usd: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_micro_usd=self.cost_micro_usd + other.cost_micro_usd,
        )

    @property
    def tokens(self) -> int:
        """Input and output tokens together: what `limits.tokens` counts."""
        return self.input_tokens + self.output_tokens


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A call as the model wrote it: `arguments` is raw text, perhaps no valid JSON."""

    tool: str
    arguments: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model. `tools` is empty on the concluding step (`final`), which asks for the answer as JSON."""

    messages: tuple[Message, ...]
    tools: tuple[tools.ToolSpec, ...]
    final: bool = False
    timeout_seconds: float = 120.0
    max_output_tokens: int = 4096


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """The answer: free text, requested calls, or both. `finish` is the provider's finish reason."""

    text: str = ""
    calls: tuple[RequestedCall, ...] = ()
    usage: Usage = Usage()
    finish: str = ""
