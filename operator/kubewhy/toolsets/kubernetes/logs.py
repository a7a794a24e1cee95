"""`kubernetes_logs`: logs by Pod, owner or labels; the end of them, or the first and last matches of a search."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import (
    containers,
    function_tool,
    log_keep,
    log_pattern,
    log_read,
    log_targets,
    shapes,
    texts,
)

LINES: Final = 200
LEAST_LINES: Final = 40
MOST_LINES: Final = 2000
MATCHES: Final = 40
"""Matches that are shown of one log: the first and the last halves of that."""

PARALLEL: Final = 4
AROUND: Final = 2
TIMEOUT_SECONDS: Final = 45
_SPARE_SECONDS: Final = 5


def tool() -> ports.Tool:
    """The tool."""
    return function_tool.FunctionTool(
        function_tool.spec(
            "logs",
            "Logs of a Pod, of the Pods of an owner (kind and name), or of labelled Pods. "
            "With grep the whole log is searched and the first and last matches are shown.",
            timeout_seconds=TIMEOUT_SECONDS,
            name=function_tool.text("Pod, or owner if kind is given"),
            kind=function_tool.text("owner's kind, e.g. Deployment, Job, Service; default Pod"),
            namespace=function_tool.NAMESPACE,
            selector=function_tool.SELECTOR,
            container=function_tool.text("default: all"),
            tail=function_tool.whole(
                f"last lines, default {LINES}; with grep all", least=1, most=MOST_LINES
            ),
            since_seconds=function_tool.whole("only newer lines", least=1, most=31_536_000),
            previous=function_tool.switch("the container's run before its last restart"),
            grep=function_tool.text(
                "regular expression, case ignored", longest=log_pattern.LONGEST
            ),
            context=function_tool.whole(
                f"lines around a match, default {AROUND}", least=0, most=20
            ),
        ),
        _run,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """What one container's log gave."""

    target: log_targets.Target
    lines: Sequence[str]
    counts: log_keep.Counts
    ending: log_read.Ending
    note: str = ""

    @property
    def stopped_early(self) -> bool:
        """Whether more was there than is read of one log."""
        return self.ending.total_bytes > log_read.READ_BYTES

    @property
    def cut(self) -> bool:
        """Whether lines that were asked for are not shown."""
        return bool(self.counts.dropped or (self.ending.problem and self.lines))


async def _run(context: ports.ToolContext, arguments: Mapping[str, Any]) -> tools.ToolOutput:
    targets = await log_targets.find(context.kube, arguments)
    reading = _Reading(context.kube, arguments, logs=len(targets.items))
    logs = await asyncio.gather(*(reading.log(target) for target in targets.items))
    now = context.now()
    text = "\n".join(
        [
            f"Logs of {targets.selected} in namespace {arguments.get('namespace') or context.namespace}",
            *(f"Note: {note}" for note in targets.notes),
            *(line for log in logs for line in _shown(log, arguments, now)),
        ]
    )
    return tools.ToolOutput(
        text=text,
        status=_status(logs),
        total_bytes=sum(log.ending.total_bytes for log in logs),
        truncated=bool(targets.notes) or any(log.cut for log in logs),
    )


class _Reading:
    """Reads the logs of one call, a few at a time, within the call's time."""

    def __init__(self, kube: ports.KubeReader, arguments: Mapping[str, Any], *, logs: int) -> None:
        self._kube = kube
        self._arguments = arguments
        self._lines = max(LEAST_LINES, LINES // logs)
        self._turn = asyncio.Semaphore(PARALLEL)
        self._until = time.monotonic() + TIMEOUT_SECONDS - _SPARE_SECONDS

    async def log(self, target: log_targets.Target) -> _Log:
        """One container's log, or why there is none.

        Where the run before is asked for and gone, and the latest one has ended as well, that one is read: it is the
        last that there is to know.
        """
        previous = bool(self._arguments.get("previous"))
        reason = _no_log(target.status, previous=previous)
        log = _none(target, reason) if reason else await self._log(target, previous=previous)
        if previous and not log.lines and log.ending.status in _NO_SUCH_LOG and _ended(target):
            latest = await self._log(target, previous=False)
            problem = log.ending.problem or "no lines of the run before"
            return dataclasses.replace(
                latest, note=f"{problem}; this is the latest run, which has ended"
            )
        return log

    async def _log(self, target: log_targets.Target, *, previous: bool) -> _Log:
        async with self._turn:
            request = self._request(target, previous=previous)
            log = await self._read(target, request)
            # The lines of a tail can be larger than what is read at most; then fewer of them show the end.
            while log.stopped_early and (fewer := log_read.shorter(request)):
                request = fewer
                log = await self._read(target, request)
            return log

    def _request(self, target: log_targets.Target, *, previous: bool) -> log_read.Request:
        given = self._arguments
        return log_read.Request(
            pod=target.pod,
            container=target.container,
            namespace=given.get("namespace", ""),
            previous=previous,
            tail=given.get("tail") or (None if given.get("grep") else self._lines),
            since_seconds=given.get("since_seconds"),
        )

    async def _read(self, target: log_targets.Target, request: log_read.Request) -> _Log:
        grep = self._arguments.get("grep", "")
        pattern = log_pattern.Pattern(grep) if grep else None
        keep: log_keep.Tail | log_keep.Matches = log_keep.Tail(request.tail or LINES)
        if pattern:
            around = self._arguments.get("context", AROUND)
            keep = log_keep.Matches(pattern, most=MATCHES, around=around)
        left = max(0.1, min(log_read.SECONDS, self._until - time.monotonic()))
        ending = await log_read.read(self._kube, request, keep, seconds=left)
        return _Log(
            target=target,
            lines=keep.lines() if not pattern or keep.counts.matched else (),
            counts=keep.counts,
            ending=ending,
            note=pattern.note if pattern else "",
        )


_NO_SUCH_LOG: Final = frozenset({tools.ToolStatus.NO_DATA, tools.ToolStatus.NOT_FOUND})


def _none(target: log_targets.Target, reason: str) -> _Log:
    ending = log_read.Ending(total_bytes=0, problem=reason, status=tools.ToolStatus.NO_DATA)
    return _Log(target=target, lines=(), counts=log_keep.Counts(), ending=ending)


def _ended(target: log_targets.Target) -> bool:
    """Whether the latest run of the container is over."""
    return bool(shapes.mapping(target.status, "state", "terminated"))


def _no_log(status: shapes.Object, *, previous: bool) -> str:
    """Why there can be no log, from what the kubelet said; "" where there may be one."""
    if previous and status and not shapes.number(status, "restartCount"):
        return "the container has not been restarted, so there is no previous log"
    waiting = shapes.mapping(status, "state", "waiting")
    started = shapes.mapping(status, "lastState", "terminated") or shapes.text(
        status, "containerID"
    )
    if waiting and not started:
        message = texts.line(shapes.text(waiting, "message"), containers.MESSAGE)
        return f"the container has not started: waiting {shapes.text(waiting, 'reason')}" + (
            f" ({message})" if message else ""
        )
    return ""


def _status(logs: Sequence[_Log]) -> tools.ToolStatus:
    """Success where any log gave lines; else NoData where all could be looked into; else the first failure."""
    if any(log.lines for log in logs):
        return tools.ToolStatus.SUCCESS
    failures = [
        log.ending.status for log in logs if log.ending.status is not tools.ToolStatus.SUCCESS
    ]
    worse = [status for status in failures if status is not tools.ToolStatus.NO_DATA]
    return next(iter(worse), tools.ToolStatus.NO_DATA)


def _shown(log: _Log, arguments: Mapping[str, Any], now: datetime.datetime) -> Iterator[str]:
    which = " (previous run)" if arguments.get("previous") else ""
    yield f"Pod/{log.target.pod} container {log.target.container}{which}: {'; '.join(_summary(log, arguments))}"
    if log.target.status:
        yield f"  {containers.state(log.target.status, now)}"
    yield from (f"> {line}" for line in log.lines)


def _summary(log: _Log, arguments: Mapping[str, Any]) -> Iterator[str]:
    counts = log.counts
    read = f"{counts.read} line{'' if counts.read == 1 else 's'} read"
    if counts.first and counts.last:
        read += f" from {_stamp(counts.first)} to {_stamp(counts.last)}"
    yield read
    if arguments.get("grep"):
        dropped = (
            f", {counts.dropped} of them left out between the first and the last"
            if counts.dropped
            else ""
        )
        yield f"{counts.matched} matched{dropped}"
    elif counts.dropped:
        yield f"{counts.dropped} older left out"
    if not counts.read and not log.ending.problem:
        yield "the log is empty"
    for note in (log.note, log.ending.problem):
        if note:
            yield note


def _stamp(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
