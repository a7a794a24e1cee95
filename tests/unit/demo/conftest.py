"""Objects that several tests of the demo start from. Goes in: plain JSON as the API server writes it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

_POD: dict[str, Any] = {
    "metadata": {
        "name": "checkout-5f9c-x2x7k",
        "namespace": "shop",
        "uid": "0b1c",
        "creationTimestamp": "2026-08-11T09:00:00Z",
        "labels": {"app": "checkout"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "checkout-5f9c", "controller": True}],
    },
    "spec": {"nodeName": "localhost"},
    "status": {
        "phase": "Running",
        "podIP": "10.244.0.7",
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "False"},
        ],
        "containerStatuses": [
            {
                "name": "checkout",
                "ready": False,
                "restartCount": 3,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "Error", "exitCode": 1}},
            }
        ],
    },
}

_INVESTIGATION: dict[str, Any] = {
    "metadata": {"name": "alert-1", "namespace": "shop"},
    "spec": {"alerts": [{"startsAt": "2026-08-11T09:12:34.567891234Z"}]},
    "status": {
        "subject": "Pod/checkout-5f9c-x2x7k",
        "finished": True,
        "conditions": [
            {"type": "Succeeded", "status": "True", "reason": "RootCauseFound"},
        ],
        "rootCause": {
            "statement": "checkout ends with x.NoSettingError: DB_HOST is not set.",
            "confidence": "High",
            "subject": {"kind": "Deployment", "name": "checkout", "namespace": "shop"},
            "evidence": [
                {"call": "1-0", "quote": "x.NoSettingError: DB_HOST is not set", "verified": True}
            ],
        },
        "findings": [{"statement": "0 of 1 replicas are ready."}],
        "ruledOut": [{"statement": "Out of memory."}],
        "actions": [
            {
                "description": "Look at the log of the last life",
                "command": "kubectl -n shop logs deployment/checkout --previous --tail=50",
            }
        ],
        "trace": [{"id": "1-0", "step": 1, "tool": "kubernetes_first_look"}],
    },
}


@pytest.fixture
def pod() -> dict[str, Any]:
    """A pod of a Deployment, in CrashLoopBackOff after three restarts."""
    return copy.deepcopy(_POD)


@pytest.fixture
def investigation() -> dict[str, Any]:
    """An Investigation that found the right root cause."""
    return copy.deepcopy(_INVESTIGATION)
