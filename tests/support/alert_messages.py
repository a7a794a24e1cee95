"""Alertmanager messages for tests: the recorded ones, and small made ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).resolve().parent.parent / "fixtures" / "alertmanager"

START = "2026-08-01T09:30:00Z"
LABELS = {
    "alertname": "KubePodCrashLooping",
    "namespace": "shop",
    "pod": "checkout-6d5f8c7b9d-x7k2p",
    "severity": "warning",
}


def recorded(name: str) -> dict[str, Any]:
    """One of tests/fixtures/alertmanager, such as `crash-firing`."""
    value: dict[str, Any] = json.loads((_RECORDED / f"{name}.json").read_text())
    return value


def alert(**changes: Any) -> dict[str, Any]:
    """A firing alert; keywords replace fields, None removes one."""
    fields = {
        "status": "firing",
        "labels": LABELS,
        "annotations": {"summary": "Pod is crash looping."},
        "startsAt": START,
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus:9090/graph",
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def labelled(**labels: str) -> dict[str, Any]:
    """A firing alert with exactly these labels besides its name."""
    return alert(labels={"alertname": "Test"} | labels)


def message(*alerts: Any, **changes: Any) -> dict[str, Any]:
    """A message of these alerts."""
    return {
        "version": "4",
        "groupKey": '{}:{alertname="KubePodCrashLooping"}',
        "receiver": "kubewhy",
        "status": "firing",
        "truncatedAlerts": 0,
        "alerts": list(alerts),
    } | changes


def body(*alerts: Any, **changes: Any) -> bytes:
    """`message` as the bytes of a request."""
    return encode(message(*alerts, **changes))


def encode(value: Any) -> bytes:
    """JSON as Alertmanager writes it."""
    return json.dumps(value).encode()


def distinct(number: int, *, start: str = START) -> Sequence[dict[str, Any]]:
    """So many firing alerts of as many series, all in the namespace shop."""
    return [
        alert(labels=LABELS | {"pod": f"pod-{index}"}, startsAt=start) for index in range(number)
    ]
