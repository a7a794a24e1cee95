"""Alertmanager's webhook message (version 4) and its relatives, read leniently alert by alert.

One bad alert becomes a `Problem` and never hurts the others. Only a message that holds no list of alerts, or is no
proper JSON at all, is refused as a whole. Unknown fields and versions are passed over.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.api import bounds
from kubewhy.core import alerts, strict_json, timestamps, untrusted
from kubewhy.core.alerting import alert_names, alert_text

KNOWN_VERSION = "4"
MAX_COUNT = 1_000_000
_KEY_BYTES = 64 * 1024
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_STATUSES = ("firing", "resolved")


class Fault(enum.StrEnum):
    """What is wrong with one alert of a message."""

    NO_OBJECT = "NoObject"
    NO_LABELS = "NoLabels"
    BAD_STATUS = "BadStatus"
    BAD_START = "BadStart"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The alert at `index` of the message can't be used."""

    index: int
    fault: Fault


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One usable alert and its times as moments in UTC; `ends_at` is None while it fires or where it is not told."""

    alert: alerts.Alert
    starts_at: datetime.datetime
    ends_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One delivery. `group` is a hash of group key and receiver; `truncated_alerts` were cut off by the sender."""

    version: str
    group: str
    truncated_alerts: int
    received: tuple[Received, ...]
    problems: tuple[Problem, ...]


def read(data: bytes) -> Message:
    """Read the body of one request.

    Raises:
        errors.PayloadError: no proper JSON (`strict_json.read`), or no object with a list `alerts`.
    """
    value = strict_json.read(data)
    if not isinstance(value, dict) or not isinstance(value.get("alerts"), list):
        raise errors.PayloadError("not an Alertmanager message: no object with a list of alerts")
    received, problems = _read_alerts(value["alerts"])
    return Message(
        version=untrusted.cut(untrusted.clean_line(_text(value.get("version"))), 16),
        group=alert_names.group(_key(value.get("groupKey")), _key(value.get("receiver"))),
        truncated_alerts=_count(value.get("truncatedAlerts")),
        received=tuple(received),
        problems=tuple(problems),
    )


def _read_alerts(values: Sequence[Any]) -> tuple[list[Received], list[Problem]]:
    received: list[Received] = []
    problems: list[Problem] = []
    for index, value in enumerate(values):
        found = _read_alert(value)
        if isinstance(found, Received):
            received.append(found)
        else:
            problems.append(Problem(index=index, fault=found))
    return received, problems


def _read_alert(value: Any) -> Received | Fault:
    if not isinstance(value, dict):
        return Fault.NO_OBJECT
    labels = alert_text.texts(_object(value.get("labels")))
    if not labels:
        return Fault.NO_LABELS
    if value.get("status") not in _STATUSES:
        return Fault.BAD_STATUS
    starts_at = _moment(value.get("startsAt"))
    if starts_at is None:
        return Fault.BAD_START
    ends_at = _moment(value.get("endsAt")) if value["status"] == "resolved" else None
    alert = _alert(value, labels, starts_at=starts_at, ends_at=ends_at)
    if not alert.labels:
        return Fault.NO_LABELS
    return Received(alert=alert, starts_at=starts_at, ends_at=ends_at)


def _alert(
    value: Mapping[str, Any],
    labels: Mapping[str, str],
    *,
    starts_at: datetime.datetime,
    ends_at: datetime.datetime | None,
) -> alerts.Alert:
    told = _text(value.get("fingerprint"))
    annotations = alert_text.texts(_object(value.get("annotations")))
    url, *masked = alert_text.without_credentials(
        [_text(value.get("generatorURL")), *labels.values(), *annotations.values()]
    )
    kept = alert_text.label_pairs(dict(zip(labels, masked, strict=False)))
    described = alert_text.annotation_pairs(
        dict(zip(annotations, masked[len(labels) :], strict=True))
    )
    return alerts.Alert(
        status=value["status"],
        labels=kept.values,
        annotations=described.values,
        starts_at=timestamps.seconds(starts_at),
        ends_at=timestamps.seconds(ends_at) if ends_at else "",
        generator_url=untrusted.cut(untrusted.clean_line(url), bounds.GENERATOR_URL),
        fingerprint=told if _FINGERPRINT.fullmatch(told) else alert_names.fingerprint(labels),
        truncated=kept.truncated or described.truncated,
    )


def _moment(value: Any) -> datetime.datetime | None:
    try:
        return timestamps.read(_text(value))
    except ValueError:
        return None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _key(value: Any) -> str:
    return untrusted.cut(_text(value), _KEY_BYTES)


def _count(value: Any) -> int:
    return min(max(value, 0), MAX_COUNT) if isinstance(value, int) else 0
