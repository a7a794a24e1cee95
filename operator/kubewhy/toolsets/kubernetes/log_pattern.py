"""A model's regular expression over untrusted lines, within a time limit.

Python's own engine can be made to run for ever and can't be stopped, so `regex` is used, which takes a time limit. When
the time is used up, or the expression is none, the search goes on for the text itself, and says so.
"""

from __future__ import annotations

import time
from typing import Any, Final

import regex  # type: ignore[import-untyped]

SECONDS: Final = 2.0
"""Time for all lines of one search."""

LONGEST: Final = 500
"""Most characters of an expression."""


class Pattern:
    """A search that ignores case; `note` says in words when it is not the expression that is searched."""

    def __init__(self, expression: str, *, seconds: float = SECONDS) -> None:
        self._literal = expression.casefold()
        self._left = seconds
        self.note = ""
        self._compiled: Any = None
        try:
            self._compiled = regex.compile(expression[:LONGEST], regex.IGNORECASE)
        except (regex.error, OverflowError, RecursionError, MemoryError) as error:
            self.note = f"no regular expression ({error}): searched as plain text"

    def found(self, text: str) -> bool:
        """Whether the line matches."""
        if self._compiled is None:
            return self._literal in text.casefold()
        started = time.monotonic()
        try:
            return self._compiled.search(text, timeout=max(0.001, self._left)) is not None
        except TimeoutError:
            self._compiled = None
            self.note = "the expression took too long: from there on searched as plain text"
            return self._literal in text.casefold()
        finally:
            self._left -= time.monotonic() - started
