"""The alert rule and the configurations of Prometheus and Alertmanager.

The rule is KubePodCrashLooping of the kubernetes-mixin (alerts/apps_alerts.libsonnet with the mixin's own
defaults). What the demo changes are waiting times only; `SHORTENED` lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALERT = "KubePodCrashLooping"
EXPRESSION = (
    "max_over_time(kube_pod_container_status_waiting_reason"
    '{reason="CrashLoopBackOff", job="kube-state-metrics"}[5m]) >= 1'
)
LOOKBACK_SECONDS = 300
"""The range in the expression: so long after the last CrashLoopBackOff it still holds."""

JOB = "kube-state-metrics"
RECEIVER = "kubewhy"


@dataclass(frozen=True, kw_only=True)
class Shortened:
    """A waiting time: where it stands, what is usual (seconds) and what the demo uses (seconds)."""

    name: str
    usual: int
    used: int
    whose: str


FOR = Shortened(name="for", usual=900, used=10, whose="the mixin's rule")
GROUP_WAIT = Shortened(name="group_wait", usual=30, used=1, whose="Alertmanager's default")
GROUP_INTERVAL = Shortened(
    name="group_interval", usual=300, used=10, whose="Alertmanager's default"
)
SCRAPE = Shortened(name="scrape_interval", usual=60, used=2, whose="Prometheus' default")
EVALUATION = Shortened(name="evaluation_interval", usual=60, used=2, whose="Prometheus' default")
SHORTENED = (FOR, GROUP_WAIT, GROUP_INTERVAL, SCRAPE, EVALUATION)


def rules() -> dict[str, Any]:
    """Prometheus' rule file."""
    runbook = "https://github.com/kubernetes-monitoring/kubernetes-mixin/tree/master/runbook.md"
    rule = {
        "alert": ALERT,
        "expr": EXPRESSION,
        "for": f"{FOR.used}s",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": "Pod {{ $labels.namespace }}/{{ $labels.pod }} ({{ $labels.container }})"
            ' is in waiting state (reason: "CrashLoopBackOff").',
            "runbook_url": f"{runbook}#alert-name-{ALERT.lower()}",
            "summary": "Pod is crash looping.",
        },
    }
    return {"groups": [{"name": "kubernetes-apps", "rules": [rule]}]}


def prometheus(*, exporter: int, alertmanager: int, rule_file: Path) -> dict[str, Any]:
    """Prometheus' configuration; ports of the loopback interface."""
    return {
        "global": {
            "scrape_interval": f"{SCRAPE.used}s",
            "scrape_timeout": f"{SCRAPE.used}s",
            "evaluation_interval": f"{EVALUATION.used}s",
        },
        "rule_files": [str(rule_file)],
        "alerting": {"alertmanagers": [_targets(alertmanager)]},
        "scrape_configs": [
            # honor_labels as the mixin expects: namespace, pod and container are those of the series.
            {"job_name": JOB, "honor_labels": True, **_targets(exporter)}
        ],
    }


def alertmanager(*, webhook: str, token_file: Path) -> dict[str, Any]:
    """Alertmanager's configuration: everything goes to the webhook, with a bearer token."""
    return {
        "route": {
            "receiver": RECEIVER,
            "group_by": ["namespace", "alertname"],
            "group_wait": f"{GROUP_WAIT.used}s",
            "group_interval": f"{GROUP_INTERVAL.used}s",
        },
        "receivers": [
            {
                "name": RECEIVER,
                "webhook_configs": [
                    {
                        "url": webhook,
                        "send_resolved": True,
                        "http_config": {
                            "authorization": {
                                "type": "Bearer",
                                "credentials_file": str(token_file),
                            }
                        },
                    }
                ],
            }
        ],
    }


def spoken() -> str:
    """What is shortened, in one sentence."""
    parts = [f"{one.name} {_time(one.usual)} -> {_time(one.used)}" for one in SHORTENED]
    return f"Shortened for the demo, usual value first: {', '.join(parts)}."


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"


def _targets(port: int) -> dict[str, Any]:
    return {"static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
