"""The tool that lists what Prometheus alerts about now."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewhy.core import ports, tools
from kubewhy.toolsets.prometheus import api, tables, times

ALERTS_SHOWN = 50
"""Most alerts that are shown, firing ones first, the newest first."""

_STATES: Final = ("firing", "pending")
_ANNOTATIONS: Final = ("summary", "description", "message", "runbook_url")
_ANNOTATION_LENGTH = 400
_NANOSECONDS = re.compile(r"(\.\d{6})\d+")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Alert:
    state: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    value: str
    active_at: str
    since: float


@dataclasses.dataclass(frozen=True, slots=True)
class Alerts:
    """`prometheus_alerts`: firing and pending alerts."""

    prometheus: api.Api

    @property
    def spec(self) -> tools.ToolSpec:
        """See `ports.Tool`."""
        return tools.ToolSpec(
            name="prometheus_alerts",
            description="List alerts that fire or are pending now, with labels, value and how long they have been.",
            parameters={
                "type": "object",
                "properties": {
                    "filter": {
                        "type": "string",
                        "description": "only alerts in whose name or label values this text occurs",
                        "maxLength": 253,
                    },
                    "state": {
                        "type": "string",
                        "description": "only alerts in this state; default both",
                        "enum": list(_STATES),
                    },
                },
                "additionalProperties": False,
            },
            toolset="prometheus",
            timeout_seconds=25,
        )

    async def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        """See `ports.Tool`."""
        every = [_alert(raw) for raw in await self.prometheus.alerts()]
        wanted = str(arguments.get("filter", "")).lower()
        state = str(arguments.get("state", ""))
        found = [alert for alert in every if _matches(alert, wanted, state)]
        scope = _scope(len(every), wanted, state)
        if not found:
            return tools.ToolOutput(text=f"no alert{scope}", status=tools.ToolStatus.NO_DATA)
        found.sort(key=lambda alert: (_order(alert.state), -alert.since))
        shown = found[:ALERTS_SHOWN]
        lines = [_line(alert, context.now()) for alert in shown]
        return tools.ToolOutput(
            text="\n".join([_headline(found, len(shown), scope), *lines]),
            truncated=len(shown) < len(found),
        )


def _alert(raw: Mapping[str, Any]) -> _Alert:
    active_at = str(raw.get("activeAt", ""))
    try:
        # Prometheus writes nanoseconds, of which Python reads six digits.
        since = datetime.datetime.fromisoformat(_NANOSECONDS.sub(r"\1", active_at)).timestamp()
    except ValueError:
        since = 0.0
    return _Alert(
        state=str(raw.get("state", "")),
        labels=_texts(raw.get("labels")),
        annotations=_texts(raw.get("annotations")),
        value=str(raw.get("value", "")),
        active_at=times.shown(since) if since else active_at or "an unknown time",
        since=since,
    )


def _texts(value: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _matches(alert: _Alert, wanted: str, state: str) -> bool:
    if state and alert.state != state:
        return False
    return not wanted or any(wanted in value.lower() for value in alert.labels.values())


def _scope(total: int, wanted: str, state: str) -> str:
    parts = [f" is {state}" if state else " is firing or pending"]
    if wanted:
        parts.append(f" with {wanted!r} in its name or labels")
    return "".join(parts) + (f"; without the filter there are {total}" if wanted or state else "")


def _headline(found: Sequence[_Alert], shown: int, scope: str) -> str:
    counts = ", ".join(
        f"{count} {state}" for state in _STATES if (count := sum(a.state == state for a in found))
    )
    left_out = f", of which {len(found) - shown} are left out" if shown < len(found) else ""
    return f"alerts: {counts or len(found)}{left_out}{scope.partition(';')[1]}{scope.partition(';')[2]}"


def _order(state: str) -> int:
    return _STATES.index(state) if state in _STATES else len(_STATES)


def _line(alert: _Alert, now: datetime.datetime) -> str:
    labels = dict(alert.labels)
    title = labels.pop("alertname", "(no name)")
    series = tables.name(api.Series(labels=labels, points=()))
    age = f" ({times.span(now.timestamp() - alert.since)})" if alert.since else ""
    head = f"{alert.state} {title} since {alert.active_at}{age} value={tables.number(alert.value)} {series}"
    notes = [
        f"  {name}: {' '.join(alert.annotations[name].split())[:_ANNOTATION_LENGTH]}"
        for name in _ANNOTATIONS
        if name in alert.annotations
    ]
    return "\n".join([head, *notes])
