"""What a run may spend, and how much of it is kept aside for the concluding step.

A limit that is reached never ends a run without an answer: the next step is the last one, offers no tools and asks for
the answer (design.md §5). To be able to pay for that step, the limits are checked against what is left after it.
"""

from __future__ import annotations

import dataclasses
import datetime

from kubewhy.core import messages

CONCLUDING_TOKENS = 4096
"""Output tokens kept aside for the concluding step."""

CONCLUDING_SHARE = 5
"""One part in so many of `seconds` is kept aside for the concluding step …"""

CONCLUDING_SECONDS = 30
"""… but never more than this."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one run. `seconds` counts working time; waiting for a person or a client tool stops it."""

    steps: int = 30
    tool_calls: int = 100
    tokens: int = 400_000
    cost_micro_usd: int = 2_000_000
    seconds: int = 600
    approval_seconds: int = 3600

    @property
    def reserve(self) -> datetime.timedelta:
        """Time kept aside for the concluding step."""
        return datetime.timedelta(seconds=min(CONCLUDING_SECONDS, self.seconds / CONCLUDING_SHARE))


def spent(
    limits: Limits, *, steps: int, tool_calls: int, usage: messages.Usage, last: messages.Usage
) -> str:
    """The name of the limit that leaves room for nothing but the concluding step, "" while there is room.

    `last` is the usage of the newest request; the next one is taken to cost at least as much, since a conversation
    only grows.
    """
    next_tokens = last.tokens + CONCLUDING_TOKENS
    if steps + 1 >= limits.steps:
        return "steps"
    if tool_calls >= limits.tool_calls:
        return "toolCalls"
    if usage.tokens and usage.tokens + 2 * next_tokens > limits.tokens:
        return "tokens"
    if usage.cost_micro_usd + 2 * last.cost_micro_usd > limits.cost_micro_usd:
        return "costMicroUSD"
    return ""


def exhausted(limits: Limits, *, usage: messages.Usage) -> str:
    """The name of the limit that doesn't even leave room for the concluding step, "" while one can be paid for."""
    if usage.tokens >= limits.tokens:
        return "tokens"
    if usage.cost_micro_usd >= limits.cost_micro_usd:
        return "costMicroUSD"
    return ""
