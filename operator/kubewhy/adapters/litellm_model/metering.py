"""Tokens and cost of a reply as whole numbers: the provider's count where usable, else an estimate.

An unusable count (missing, negative, no number) is replaced by an estimate from bytes that errs upwards, so
that no provider's mistake lowers what a limit sees (faults.md 53).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from kubewhy.core import messages, model_list

BYTES_PER_TOKEN = 3
"""Fewer than the four of English prose: JSON, logs and names take more tokens for their length."""

MOST_TOKENS = 10**9
"""A larger count is taken for this one; it is beyond any limit."""

_MILLION = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Tokens of one reply; `estimated` where any of them is not the provider's own number."""

    input: int
    output: int
    cached: int = 0
    estimated: bool = False


def count(stated: Any, *, sent_bytes: int, written_bytes: int) -> Count:
    """The tokens of a reply.

    Args:
        stated: LiteLLM's usage object, or None.
        sent_bytes: size of the request as JSON.
        written_bytes: size of the reply's text and calls.
    """
    given, produced = _stated(stated, "prompt_tokens"), _stated(stated, "completion_tokens")
    # LiteLLM states zeros where the provider stated nothing; a request is never empty.
    unknown_input = not given
    unknown_output = produced is None or (produced == 0 and (unknown_input or written_bytes > 0))
    details = getattr(stated, "prompt_tokens_details", None)
    cached = _stated(details, "cached_tokens") or 0
    read = estimate(sent_bytes) if unknown_input else given or 0
    return Count(
        input=read,
        output=estimate(written_bytes) if unknown_output else produced or 0,
        cached=0 if unknown_input else min(cached, read),
        estimated=unknown_input or unknown_output,
    )


def estimate(size: int) -> int:
    """Tokens in so many bytes of text, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def usage(counted: Count, cost: int) -> messages.Usage:
    """As the engine counts it."""
    return messages.Usage(
        input_tokens=counted.input,
        output_tokens=counted.output,
        cached_tokens=counted.cached,
        cost_micro_usd=cost,
    )


def listed_cost(counted: Count, prices: model_list.Prices) -> int:
    """Cost by the model list's prices in micro-USD, rounded up."""
    cached_price = prices.input if prices.cached is None else prices.cached
    total = (
        (counted.input - counted.cached) * prices.input
        + counted.cached * cached_price
        + counted.output * prices.output
    )
    return -(-total // _MILLION)


def mapped_cost(litellm: Any, model: str, response: Any, counted: Count) -> int | None:
    """Cost by LiteLLM's own price list in micro-USD, rounded up; None where it doesn't know the model."""
    try:
        dollars = (
            sum(
                litellm.cost_per_token(
                    model=model, prompt_tokens=counted.input, completion_tokens=counted.output
                )
            )
            if counted.estimated
            else litellm.completion_cost(completion_response=response, model=model)
        )
    except Exception:  # noqa: BLE001 - it raises bare Exception for models without a price
        return None
    return micro_usd(dollars)


def micro_usd(dollars: Any) -> int | None:
    """Whole micro-USD of a float of dollars, rounded up; None for what is no usable amount."""
    if not isinstance(dollars, int | float) or not math.isfinite(dollars) or dollars < 0:
        return None
    # Rounding first, because 0.3 dollars times a million is a little more than 300000.
    return math.ceil(round(dollars * _MILLION, 6))


def _stated(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return min(value, MOST_TOKENS)
