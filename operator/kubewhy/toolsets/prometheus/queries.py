"""The tools that evaluate PromQL."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.toolsets.prometheus import api, tables, times

POINTS = 300
"""Most points of a series; the step is raised until they fit (toolsets.md §8)."""

_TIME: Final = "RFC 3339, Unix seconds, or relative such as -1h; default "
_QUERY: Final = {"type": "string", "description": "PromQL", "minLength": 1, "maxLength": 8192}
_TIMEOUT: Final = 25


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description, "maxLength": 64}


def _spec(name: str, description: str, **parameters: dict[str, Any]) -> tools.ToolSpec:
    return tools.ToolSpec(
        name=f"prometheus_{name}",
        description=description,
        parameters={
            "type": "object",
            "properties": {"query": _QUERY, **parameters},
            "required": ["query"],
            "additionalProperties": False,
        },
        toolset="prometheus",
        timeout_seconds=_TIMEOUT,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """`prometheus_query`: the value of each series at one time."""

    prometheus: api.Api

    @property
    def spec(self) -> tools.ToolSpec:
        """See `ports.Tool`."""
        return _spec(
            "query",
            "Evaluate PromQL at one time. Returns value and labels of each series, highest first.",
            time=_text(f"{_TIME}now"),
        )

    async def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        """See `ports.Tool`."""
        query = str(arguments["query"])
        at = _moment(context, arguments, "time", "now")
        answer = await self.prometheus.query(query, time=at)
        asked = f"query: {query}\ntime: {times.shown(at)}"
        if answer.kind == "matrix":
            return _output(asked, answer, tables.matrix(answer))
        return _output(asked, answer, tables.instant(answer))


@dataclasses.dataclass(frozen=True, slots=True)
class QueryRange:
    """`prometheus_query_range`: how the series went over a span of time."""

    prometheus: api.Api

    @property
    def spec(self) -> tools.ToolSpec:
        """See `ports.Tool`."""
        return _spec(
            "query_range",
            "Evaluate PromQL over a span of time. Returns minimum, maximum, first and last value of each series "
            f"and a table; at most {POINTS} points and {tables.SERIES_SHOWN} series.",
            start=_text(f"{_TIME}-1h"),
            end=_text(f"{_TIME}now"),
            step=_text("such as 30s or 5m; raised when the span is long; default: fits the span"),
        )

    async def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        """See `ports.Tool`."""
        query = str(arguments["query"])
        start = _moment(context, arguments, "start", "-1h")
        end = _moment(context, arguments, "end", "now")
        if end <= start:
            raise errors.ToolFailure(
                tools.ToolStatus.ERROR,
                f"end {times.shown(end)} is not after start {times.shown(start)}",
            )
        step, note = fitting_step(end - start, _asked_step(arguments))
        answer = await self.prometheus.query_range(query, start=start, end=end, step=step)
        asked = f"query: {query}\nrange: {times.shown(start)} to {times.shown(end)}, step {step:g}s{note}"
        return _output(asked, answer, tables.matrix(answer))


def fitting_step(span: float, asked: float | None) -> tuple[float, str]:
    """The step in seconds that gives at most `POINTS` points over `span` seconds; a remark where it is not as asked."""
    least = max(1.0, math.ceil(span / (POINTS - 1)))
    if asked is None:
        return least, ""
    if asked >= least:
        return asked, ""
    return least, f" (raised from {asked:g}s: a series has at most {POINTS} points)"


def _asked_step(arguments: Mapping[str, Any]) -> float | None:
    text = str(arguments.get("step", ""))
    if not text:
        return None
    step = _understood("step", times.duration, text)
    if step <= 0:
        raise errors.ToolFailure(tools.ToolStatus.ERROR, "step: it must be longer than 0 seconds")
    return step


def _moment(
    context: ports.ToolContext, arguments: Mapping[str, Any], name: str, default: str
) -> float:
    text = str(arguments.get(name) or default)
    return _understood(name, lambda value: times.moment(value, context.now()), text)


def _understood(name: str, read: Any, text: str) -> float:
    try:
        return float(read(text))
    except (ValueError, OverflowError) as error:
        raise errors.ToolFailure(tools.ToolStatus.ERROR, f"{name}: {error}") from error


def _output(asked: str, answer: api.Answer, table: tables.Table) -> tools.ToolOutput:
    if not any(series.points for series in answer.series):
        text = f"{asked}\nno series has a value; check the metric's name, the labels and the time"
        warnings = "".join(f"\nwarning: {warning}" for warning in answer.warnings)
        return tools.ToolOutput(
            text=text + warnings, status=tools.ToolStatus.NO_DATA, total_bytes=answer.bytes
        )
    return tools.ToolOutput(
        text=f"{asked}\n{table.text}", total_bytes=answer.bytes, truncated=table.truncated
    )
