"""What becomes due on Investigations that have finished: their end of life, and a note that their alert resolved."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import pydantic

from kubewhy.api import conditions, investigation, names


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """`spec.ttlSecondsAfterFinished` is over."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MarkResolved:
    """The alert resolved after the end: these conditions say so. The end itself never changes."""

    conditions: tuple[conditions.Condition, ...]


def due(document: Mapping[str, Any], now: datetime.datetime) -> Delete | MarkResolved | None:
    """What is due on one finished object; None for nothing, and for one that can't be read."""
    try:
        found = investigation.Investigation.model_validate(document)
    except pydantic.ValidationError:
        return None
    if found.status is None or not found.status.finished or found.metadata.deletion_timestamp:
        return None
    ended = found.status.completion_time
    ttl = datetime.timedelta(seconds=found.spec.ttl_seconds_after_finished)
    if ended is not None and now - ended >= ttl:
        return Delete()
    return _resolved(found, found.status.conditions)


def _resolved(
    found: investigation.Investigation, known: tuple[conditions.Condition, ...]
) -> MarkResolved | None:
    told = (found.metadata.annotations or {}).get(names.ALERT_RESOLVED_AT, "")
    shown = conditions.find(known, conditions.ConditionType.ALERT_RESOLVED)
    if not told or (shown is not None and shown.status is conditions.ConditionStatus.TRUE):
        return None
    try:
        at = datetime.datetime.fromisoformat(told).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None
    new = conditions.condition(
        conditions.AlertResolvedReason.RESOLVED, now=at, generation=found.metadata.generation
    )
    return MarkResolved(conditions=conditions.with_condition(known, new))
