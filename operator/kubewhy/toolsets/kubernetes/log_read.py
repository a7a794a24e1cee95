"""Reads one container's log within bounds of time and size, and says how that ended as a value."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import log_keep, log_lines

SECONDS: Final = 12.0
"""Time for one container's log; what came until then is kept."""

READ_BYTES: Final = 32 * 1024 * 1024
"""Most bytes that are read of one log."""

_SHORTER: Final = 10
"""By this the tail is divided when even its lines are more than is read."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which log: `tail` None means from its start."""

    pod: str
    container: str
    namespace: str = ""
    previous: bool = False
    tail: int | None = None
    since_seconds: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a read ended: `problem` "" means at the log's end, else why before it or why there is none."""

    total_bytes: int
    problem: str = ""
    status: tools.ToolStatus = tools.ToolStatus.SUCCESS


async def read(
    kube: ports.KubeReader,
    request: Request,
    keep: log_keep.Tail | log_keep.Matches,
    *,
    seconds: float = SECONDS,
) -> Ending:
    """Give each line to `keep`, for at most `seconds`. Never raises for what the API server answers."""
    counted = _Counter()
    try:
        async with asyncio.timeout(seconds):
            await _pour(kube, request, keep, counted)
    except TimeoutError:
        problem = f"no end within {seconds:.0f} s"
        return Ending(total_bytes=counted.total, status=tools.ToolStatus.TIMED_OUT, problem=problem)
    except errors.ApiError as error:
        return Ending(total_bytes=counted.total, status=_status(error), problem=_sentence(error))
    cut = f"stopped after {counted.total} bytes; newer lines were not read" if counted.cut else ""
    return Ending(total_bytes=counted.total, problem=cut)


def shorter(request: Request) -> Request | None:
    """The same log with a shorter tail, None where there is none."""
    if request.tail is None or request.tail <= 1:
        return None
    return dataclasses.replace(request, tail=max(1, request.tail // _SHORTER))


@dataclasses.dataclass(slots=True)
class _Counter:
    total: int = 0
    cut: bool = False


async def _pour(
    kube: ports.KubeReader,
    request: Request,
    keep: log_keep.Tail | log_keep.Matches,
    counted: _Counter,
) -> None:
    stream: Any = kube.logs(
        request.pod,
        namespace=request.namespace,
        container=request.container,
        previous=request.previous,
        tail_lines=request.tail,
        since_seconds=request.since_seconds,
        timestamps=True,
    )
    splitter = log_lines.Splitter(stamped=True)
    try:
        async with contextlib.aclosing(stream):
            async for chunk in stream:
                counted.total += len(chunk)
                for line in splitter.feed(chunk):
                    keep.add(line)
                if counted.total > READ_BYTES:
                    counted.cut = True
                    break
                await asyncio.sleep(0)
    finally:
        for line in splitter.rest():
            keep.add(line)


def _status(error: errors.ApiError) -> tools.ToolStatus:
    """A 400 is the kubelet's answer that there is no such log: the look itself succeeded."""
    match error:
        case errors.ApiInvalid():
            return tools.ToolStatus.NO_DATA
        case errors.ApiNotFound():
            return tools.ToolStatus.NOT_FOUND
        case errors.ApiForbidden():
            return tools.ToolStatus.FORBIDDEN
    return tools.ToolStatus.ERROR


def _sentence(error: errors.ApiError) -> str:
    """The server's own sentence, without verb and path before it."""
    text = str(error)
    return text.partition(": ")[2] or text if text.startswith("GET ") else text
