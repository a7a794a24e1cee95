"""Which lines of a log are kept: its end, or the first and the last matches of a search with lines around them.

The first match is often the cause and the last the state now; what lies between is counted.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from kubewhy.toolsets.kubernetes import log_lines

KEPT_BYTES: Final = 256 * 1024
"""Most characters that are kept of one log."""


class Matcher(Protocol):
    """What decides about a line."""

    def found(self, text: str) -> bool:
        """Whether the line matches."""


@dataclasses.dataclass(slots=True)
class Counts:
    """What was seen of a log: lines read, matching, matching but left out, and the times of first and last line."""

    read: int = 0
    matched: int = 0
    dropped: int = 0
    first: datetime.datetime | None = None
    last: datetime.datetime | None = None

    def see(self, line: log_lines.Line) -> None:
        """Count a line."""
        self.read += 1
        if line.at is not None:
            self.first = self.first or line.at
            self.last = line.at


class Tail:
    """Keeps the last lines, at most `most` and at most `KEPT_BYTES` characters."""

    def __init__(self, most: int) -> None:
        self.counts = Counts()
        self._most = most
        self._kept: collections.deque[str] = collections.deque()
        self._size = 0

    def add(self, line: log_lines.Line) -> None:
        """Take the next line."""
        self.counts.see(line)
        shown = line.shown
        self._kept.append(shown)
        self._size += len(shown) + 1
        while len(self._kept) > self._most or self._size > KEPT_BYTES:
            self._size -= len(self._kept.popleft()) + 1
            self.counts.dropped += 1

    def lines(self) -> Sequence[str]:
        """The kept lines, oldest first."""
        return tuple(self._kept)


@dataclasses.dataclass(slots=True)
class _Match:
    """One match: the numbered lines before it, itself, the lines after it."""

    lines: list[tuple[int, log_lines.Line]]
    open_until: int


class Matches:
    """Keeps the first and the last matches, `most` in all, each with `around` lines before and after it."""

    def __init__(self, matcher: Matcher, *, most: int, around: int) -> None:
        self.counts = Counts()
        self._matcher = matcher
        self._around = around
        self._first_most = max(1, most // 2)
        self._before: collections.deque[tuple[int, log_lines.Line]] = collections.deque(
            maxlen=around
        )
        self._first: list[_Match] = []
        self._last: collections.deque[_Match] = collections.deque(maxlen=max(1, most - most // 2))

    def add(self, line: log_lines.Line) -> None:
        """Take the next line."""
        self.counts.see(line)
        number = self.counts.read
        latest = self._latest()
        if self._matcher.found(line.text):
            self.counts.matched += 1
            self._store(_Match([*self._before, (number, line)], number + self._around))
        elif latest and number <= latest.open_until:
            latest.lines.append((number, line))
        if self._around:
            self._before.append((number, line))

    def lines(self) -> Sequence[str]:
        """The kept lines, oldest first, with a line for each gap that says how many lines it left out."""
        kept = {
            number: line for match in (*self._first, *self._last) for number, line in match.lines
        }
        numbered = {number: kept[number].shown for number in sorted(kept)}
        return tuple(_with_gaps(numbered, self.counts.read))

    def _latest(self) -> _Match | None:
        if self._last:
            return self._last[-1]
        return self._first[-1] if self._first else None

    def _store(self, match: _Match) -> None:
        if len(self._first) < self._first_most:
            self._first.append(match)
            return
        if len(self._last) == self._last.maxlen:
            self.counts.dropped += 1
        self._last.append(match)


def _with_gaps(numbered: dict[int, str], total: int) -> Iterator[str]:
    before = 0
    size = 0
    for number, text in numbered.items():
        if number > before + 1:
            yield _gap(number - before - 1)
        size += len(text) + 1
        if size > KEPT_BYTES:
            break
        yield text
        before = number
    if total > before:
        yield _gap(total - before)


def _gap(lines: int) -> str:
    return f"… {lines} line{'s' if lines != 1 else ''} …"
