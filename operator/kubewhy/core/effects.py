"""Work that is due. An effect is derived from state, announced by an event, and only then performed."""

from __future__ import annotations

import dataclasses

from kubewhy.core import conclusion, tools


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AskModel:
    """Send the conversation to the model. `final`: without tools, for the answer, as `limit` was reached."""

    step: int
    final: bool = False
    limit: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunTool:
    """Run one call of the newest step."""

    call: tools.ToolCall
    attempt: int = 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """End the run. Nothing is performed: its event `Concluded` is all there is to it."""

    reason: str
    message: str
    conclusion: conclusion.Conclusion | None = None


Effect = AskModel | RunTool | Finish
"""Anything that can be due."""
