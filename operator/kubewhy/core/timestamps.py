"""RFC 3339 times from outside, normalised to UTC."""

from __future__ import annotations

import datetime
import re

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)
_UNSET_YEAR = 1
"""Go's zero time is in year 1: the sender has no value."""


def read(text: str) -> datetime.datetime | None:
    """The moment in UTC, or None for Go's zero time (year 1, in any zone).

    Fractions are kept to the microsecond.

    Raises:
        ValueError: no RFC 3339 time, or one that falls outside the years 1 to 9999 in UTC.
    """
    found = _RFC3339.fullmatch(text)
    if not found:
        raise ValueError("not an RFC 3339 time")
    day, clock, fraction, sign, hours, minutes = found.groups()
    local = datetime.datetime.fromisoformat(f"{day}T{clock}").replace(
        microsecond=int((fraction or "0")[:6].ljust(6, "0"))
    )
    if local.year == _UNSET_YEAR:
        return None
    return _in_utc(local, _offset(sign, hours, minutes))


def seconds(moment: datetime.datetime) -> str:
    """RFC 3339 in UTC with whole seconds, `2026-08-01T09:30:00Z`; the fraction is dropped."""
    utc = moment.astimezone(datetime.UTC).replace(microsecond=0, tzinfo=None)
    return f"{utc.isoformat(timespec='seconds')}Z"


def _offset(sign: str | None, hours: str | None, minutes: str | None) -> datetime.timedelta:
    if not sign or not hours or not minutes:
        return datetime.timedelta()
    size = datetime.timedelta(hours=int(hours), minutes=int(minutes))
    return size if sign == "+" else -size


def _in_utc(local: datetime.datetime, offset: datetime.timedelta) -> datetime.datetime:
    try:
        return (local - offset).replace(tzinfo=datetime.UTC)
    except OverflowError:
        raise ValueError("the time is outside the years 1 to 9999 in UTC") from None
