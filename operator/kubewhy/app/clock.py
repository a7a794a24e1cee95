"""The process's one source of time."""

from __future__ import annotations

import datetime
import os

OFFSET = "KUBEWHY_CLOCK_OFFSET_SECONDS"
"""Shifts the clock in tests of waits and skew (faults.md §2.1)."""


class SystemClock:
    """UTC from the operating system, shifted by `OFFSET` if that is set."""

    def __init__(self) -> None:
        self._offset = datetime.timedelta(seconds=float(os.environ.get(OFFSET, "0")))

    def now(self) -> datetime.datetime:
        """See `ports.Clock.now`."""
        return datetime.datetime.now(datetime.UTC) + self._offset
