"""Slows down peers that keep showing wrong tokens; requests with a valid one are never slowed."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable

FREE_FAILURES = 5
WINDOW_SECONDS = 60.0
DELAY_SECONDS = 1.0
MAX_PEERS = 4096


class Peers:
    """Recent failures by address; the addresses that failed longest ago are forgotten first."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._failures: collections.OrderedDict[str, tuple[int, float]] = collections.OrderedDict()

    def failed(self, address: str) -> float:
        """Count a failure; the seconds by which to delay its answer."""
        now = self._monotonic()
        count, since = self._failures.pop(address, (0, now))
        if now - since > WINDOW_SECONDS:
            count, since = 0, now
        self._failures[address] = (count + 1, since)
        if len(self._failures) > MAX_PEERS:
            self._failures.popitem(last=False)
        return DELAY_SECONDS if count >= FREE_FAILURES else 0.0
