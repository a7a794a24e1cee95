"""Rule and configurations. Goes in: nothing but ports. Observed: what Prometheus and Alertmanager are given."""

from __future__ import annotations

from pathlib import Path

import pytest

import rules

# alerts/apps_alerts.libsonnet, with config.libsonnet's defaults put in.
TEMPLATE = (
    'max_over_time(kube_pod_container_status_waiting_reason{{reason="CrashLoopBackOff", '
    "{prefixedNamespaceSelector}{kubeStateMetricsSelector}}}[5m]) >= 1"
)


def test_the_expression_is_the_mixins() -> None:
    assert (
        TEMPLATE.format(
            prefixedNamespaceSelector="", kubeStateMetricsSelector='job="kube-state-metrics"'
        )
        == rules.EXPRESSION
    )
    (group,) = rules.rules()["groups"]
    (rule,) = group["rules"]
    assert rule["expr"] == rules.EXPRESSION
    assert (rule["alert"], rule["labels"]) == ("KubePodCrashLooping", {"severity": "warning"})


def test_the_look_back_that_is_spoken_of_is_the_expressions() -> None:
    assert f"[{rules.LOOKBACK_SECONDS // 60}m]" in rules.EXPRESSION


def test_every_waiting_time_in_the_files_is_one_that_is_spoken_of() -> None:
    configured = rules.prometheus(exporter=1, alertmanager=2, rule_file=Path("rules.yml"))
    route = rules.alertmanager(webhook="http://127.0.0.1:3", token_file=Path("token"))["route"]
    times = {
        "for": rules.rules()["groups"][0]["rules"][0]["for"],
        "scrape_interval": configured["global"]["scrape_interval"],
        "evaluation_interval": configured["global"]["evaluation_interval"],
        "group_wait": route["group_wait"],
        "group_interval": route["group_interval"],
    }
    assert times == {one.name: f"{one.used}s" for one in rules.SHORTENED}


@pytest.mark.parametrize("words", ["for 15 min -> 10 s", "group_wait 30 s -> 1 s"])
def test_both_values_are_spoken(words: str) -> None:
    assert words in rules.spoken()


def test_labels_of_the_series_are_kept() -> None:
    """Without honor_labels the alert would name the exporter instead of the pod."""
    (scrape,) = rules.prometheus(exporter=1, alertmanager=2, rule_file=Path("r"))["scrape_configs"]
    assert scrape["honor_labels"] is True
    assert scrape["job_name"] == "kube-state-metrics"


def test_everything_goes_to_the_webhook_with_its_token() -> None:
    found = rules.alertmanager(webhook="http://127.0.0.1:3/x", token_file=Path("token"))
    (receiver,) = found["receivers"]
    (webhook,) = receiver["webhook_configs"]
    assert found["route"]["receiver"] == receiver["name"]
    assert webhook["url"] == "http://127.0.0.1:3/x"
    assert webhook["send_resolved"] is True
    assert webhook["http_config"]["authorization"] == {
        "type": "Bearer",
        "credentials_file": "token",
    }
