"""Cuts a log's bytes into lines without ever holding more than one bounded line.

A log may be one line of 100 MB, or no text at all: each line keeps its first `LINE_BYTES` bytes and counts the rest.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterator
from typing import Final

from kubewhy.toolsets.kubernetes import texts

LINE_BYTES: Final = 16 * 1024
"""Most bytes of one line that are kept, to be searched."""

SHOWN: Final = 2000
"""Most characters of one line that are shown."""

_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_STAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) ?")


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line's kept text, as it came but decoded, its time, and the number of bytes that were not kept."""

    text: str
    at: datetime.datetime | None
    lost: int = 0

    @property
    def shown(self) -> str:
        """The text fit to be shown: no terminal sequences, nothing invisible, bounded."""
        text = texts.line(_ANSI.sub("", self.text), SHOWN)
        more = self.lost + max(0, len(self.text) - SHOWN)
        return f"{text} [{more} more]" if text.endswith("…") and more else text


class Splitter:
    """Takes chunks, gives lines; `stamped` says that each line starts with the time the kubelet put there."""

    def __init__(self, *, stamped: bool = False) -> None:
        self._stamped = stamped
        self._open = bytearray()
        self._lost = 0
        self._any = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end in this chunk."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._keep(chunk, start, end)
            yield self._line()
            start = end + 1
        if start < len(chunk):
            self._keep(chunk, start, len(chunk))

    def rest(self) -> Iterator[Line]:
        """The last line where the log does not end with a line end."""
        if self._any:
            yield self._line()

    def _keep(self, chunk: bytes, start: int, end: int) -> None:
        self._any = True
        room = LINE_BYTES - len(self._open)
        self._open += chunk[start : min(end, start + room)]
        self._lost += max(0, end - start - room)

    def _line(self) -> Line:
        data, lost = bytes(self._open), self._lost
        self._open.clear()
        self._lost, self._any = 0, False
        at = None
        stamp = _STAMP.match(data) if self._stamped else None
        if stamp:
            data = data[stamp.end() :]
            at = _moment(stamp)
        return Line(data.decode("utf-8", "replace"), at, lost)


def _moment(stamp: re.Match[bytes]) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat((stamp[1] + stamp[2]).decode())
    except ValueError:
        return None
