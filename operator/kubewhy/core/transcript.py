"""How a tool's result is shown to a model, and how that text is read back.

The first line states id, tool and status; the output stands between fence lines that carry the run's unguessable
marker, so that no output can pose as the end of itself.
"""

from __future__ import annotations

import dataclasses
import re

from kubewhy.core import tools

_SHOWN = re.compile(
    r"^\[(?P<id>\S+)\] (?P<tool>\S+): (?P<status>[A-Za-z]+)[^\n]*\n"
    r"<output-(?P<fence>\w+)>\n(?P<text>.*)\n</output-(?P=fence)>$",
    re.DOTALL,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A result as a model sees it; `text` may be an excerpt of what was stored."""

    call_id: str
    tool: str
    status: tools.ToolStatus
    text: str


def render(call: tools.ToolCall, result: tools.ToolResult, *, fence: str, limit: int) -> str:
    """The result message of one call, with at most about `limit` characters of output: its head and its tail."""
    text = excerpt(result.text, limit)
    cut = (
        " (cut: ask more narrowly for the rest)" if result.truncated or text != result.text else ""
    )
    return (
        f"[{call.id}] {call.tool}: {result.status}, {result.total_bytes} bytes{cut}\n"
        f"<output-{fence}>\n{text}\n</output-{fence}>"
    )


def parse(text: str) -> Shown:
    """Read `render`'s text back.

    Raises:
        ValueError: the text was not made by `render`.
    """
    found = _SHOWN.match(text)
    if not found:
        raise ValueError("no tool result: the text has no header and fence")
    return Shown(
        call_id=found["id"],
        tool=found["tool"],
        status=tools.ToolStatus(found["status"]),
        text=found["text"],
    )


def excerpt(text: str, limit: int, *, before: int = 0) -> str:
    """Head and tail of a text with the number of left-out characters between them, in whole lines where possible.

    `before` characters were left out of the middle of this text already; the number includes them.
    """
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    head = head[: head.rfind("\n")] if "\n" in head[limit // 3 :] else head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail[: limit // 6] else tail
    return f"{head}\n… {before + len(text) - len(head) - len(tail)} characters left out …\n{tail}"
