"""Times and durations in the forms that people and models write."""

from __future__ import annotations

import datetime
import re

_UNITS = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    "y": 31536000.0,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdwy])")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhdwy]))+")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_RELATIVE = re.compile(r"(?:now)?\s*-\s*(?P<minus>\S+)|(?P<ago>\S+) ago")


def duration(text: str) -> float:
    """Seconds of `90`, `30s`, `5m` or `1h30m`.

    Raises:
        ValueError: in other forms, with a text that says which are right.
    """
    plain = text.strip().lower()
    if _NUMBER.fullmatch(plain):
        return float(plain)
    if _DURATION.fullmatch(plain):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(plain))
    raise ValueError(f"{text!r} is no duration: write 30s, 5m, 1h30m or a number of seconds")


def moment(text: str, now: datetime.datetime) -> float:
    """Unix seconds of `now`, `-1h`, `now-1h`, `1h ago`, an RFC 3339 time or Unix seconds.

    Raises:
        ValueError: in other forms, with a text that says which are right.
    """
    plain = text.strip()
    if plain.lower() in {"", "now"}:
        return now.timestamp()
    relative = _RELATIVE.fullmatch(plain.lower())
    if relative:
        return now.timestamp() - duration(relative["minus"] or relative["ago"])
    if _NUMBER.fullmatch(plain):
        return float(plain)
    try:
        parsed = datetime.datetime.fromisoformat(plain)
    except ValueError:
        raise ValueError(
            f"{text!r} is no time: write an RFC 3339 time such as 2026-01-31T12:00:00Z, Unix seconds, or -1h"
        ) from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)).timestamp()


def shown(seconds: float) -> str:
    """A time as RFC 3339 in UTC to the second; the number itself where no calendar has it."""
    try:
        at = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: float) -> str:
    """A duration in the two largest units that it fills, such as `1h30m`."""
    left = max(0, int(seconds))
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, int(_UNITS[unit]))
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return "".join(parts[:2])
