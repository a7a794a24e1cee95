"""A program's output as text of bounded size: its head, its tail, and what is left out between them in words."""

from __future__ import annotations

import collections
import re
from typing import Final

from kubewhy.core import untrusted

_ESCAPES: Final = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # control sequences, such as colours
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings, such as window titles
    r"|[ -/]*[0-~])"
)
_NOTE_BYTES: Final = 64
"""Room for the line that says how much is left out."""


class BoundedOutput:
    """Takes bytes as they come and keeps at most about `limit_bytes` of them, however many come.

    A third of the room is for the head, the rest for the tail, where programs say why they ended.
    `total` counts all bytes that came.
    """

    def __init__(self, limit_bytes: int) -> None:
        room = max(0, limit_bytes - _NOTE_BYTES)
        self._limit = limit_bytes
        self._head_room, self._tail_room = limit_bytes, room - room // 3
        self._head = bytearray()
        self._tail: collections.deque[bytes] = collections.deque()
        self._tail_bytes = 0
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        space = self._head_room - len(self._head)
        if space > 0:
            self._head += data[:space]
            data = data[space:]
        if data:
            self._tail.append(data)
            self._tail_bytes += len(data)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_room:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self) -> tuple[str, bool]:
        """The output as readable text of at most the limit in UTF-8 bytes, and whether some is left out.

        Invalid bytes become U+FFFD; terminal escapes and invisible characters are removed.
        """
        if self.total <= self._limit:
            whole = _readable(bytes(self._head))
            if len(whole.encode()) <= self._limit:
                return whole, False
        room = max(0, self._limit - _NOTE_BYTES)
        head = _first_lines(_readable(bytes(self._head[: room // 3])), room // 3)
        ending = (bytes(self._head) + b"".join(self._tail))[-self._tail_room :]
        tail = _last_lines(_readable(ending), room - room // 3)
        return f"{head}\n… left out; {self.total} bytes in all …\n{tail}", True


def _readable(data: bytes) -> str:
    return untrusted.clean(_ESCAPES.sub("", data.decode("utf-8", "replace")))


def _first_lines(text: str, limit: int) -> str:
    """The start of a text, ending with a whole line where one is near: a cut credential has no shape left."""
    kept = untrusted.cut(text, limit)
    end = kept.rfind("\n")
    return kept[:end] if end > len(kept) // 2 else kept


def _last_lines(text: str, limit: int) -> str:
    """The end of a text, beginning with a whole line where one is near."""
    kept = text.encode()[-limit:].decode("utf-8", "ignore") if limit else ""
    start = kept.find("\n") + 1
    return kept[start:] if start < len(kept) // 2 else kept
