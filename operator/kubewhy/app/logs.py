"""Structured logs: one JSON object a line, with the Investigation's name where there is one."""

from __future__ import annotations

import datetime
import json
import logging
import sys
from typing import TextIO

FIELDS = (
    "investigation",
    "reason",
    "step",
    "call",
    "tool",
    "status",
    "alert",
    "code",
    "outcome",
    "port",
    "health_port",
    "peer",
    "alerts",
    "group",
    "version",
)
"""Names that `extra` may carry into a log line."""

MESSAGE_LENGTH = 2048
TRACE_LENGTH = 8192


class JsonFormatter(logging.Formatter):
    """Renders a record as one line of JSON; texts are bounded."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:MESSAGE_LENGTH],
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)[-TRACE_LENGTH:]
        return json.dumps(line, default=str)  # in ASCII: no text can break or forge a line


def set_up(level: str = "INFO", stream: TextIO = sys.stderr) -> None:
    """Send every log line of the process to `stream` as JSON. kopf's own lines come from WARNING up."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("kopf", "kopf.objects", "aiohttp.access", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # It warns that it leaves the signals alone in a thread, which is what the operator wants.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)
