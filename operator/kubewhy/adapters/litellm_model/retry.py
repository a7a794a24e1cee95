"""When to repeat a request: pure arithmetic on what the provider said and on how often it was asked."""

from __future__ import annotations

import datetime
import email.utils
import math
from collections.abc import Mapping

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 20.0
"""The pause without word from the provider doubles from the first to the longest."""

MOST_TOLD_SECONDS = 86_400.0
"""A told pause longer than a day is taken for a day: the request ends either way."""


def pause(attempt: int, told: float | None, jitter: float) -> float:
    """Seconds between attempt number `attempt` (from 1) and the next.

    Args:
        told: what the provider asked for; it counts as it stands, jitter only ever adds to it.
        jitter: a random number from 0 to 1, so that many clients don't return at once.
    """
    if told is not None:
        return told + jitter * 0.25
    return float(min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** (attempt - 1)) * (0.5 + jitter / 2))


def told(headers: Mapping[str, str], now: datetime.datetime) -> float | None:
    """The pause that response headers ask for in seconds, None where they name none that can be read.

    Understands `retry-after-ms`, and `Retry-After` as seconds or as a date (RFC 9110 §10.2.3).
    """
    lower = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(lower.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    text = lower.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None:
        return _bounded(seconds)
    date = _date(text)
    return None if date is None else _bounded((date - now).total_seconds())


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _date(text: str) -> datetime.datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=datetime.UTC)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), MOST_TOLD_SECONDS)
