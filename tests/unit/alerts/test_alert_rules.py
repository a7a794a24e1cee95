import pytest

from kubewhy.api import values
from kubewhy.core.alerting import alert_rules, alert_subjects


def why(labels: dict[str, str], rules: alert_rules.Rules = alert_rules.DEFAULT) -> str | None:
    return alert_rules.ignored(rules, labels, alert_subjects.find(labels, {}))


@pytest.mark.parametrize("name", ["Watchdog", "InfoInhibitor"])
def test_ignores_alerts_that_are_never_a_problem(name: str) -> None:
    assert why({"alertname": name}) == "NeverAProblem"


@pytest.mark.parametrize(
    "labels",
    [
        {"alertname": "KubePodCrashLooping", "namespace": "kubewhy-system", "pod": "x-1"},
        {"alertname": "TargetDown", "namespace": "kubewhy-system"},
        {"alertname": "TargetDown", "job": "kubewhy-operator"},
        {"alertname": "TargetDown", "service": "kubewhy-webhook"},
        {"alertname": "KubewhyOperatorDown"},
        {"alertname": "X", "exported_namespace": "kubewhy-system", "namespace": "monitoring"},
        {"alertname": "X", "kubewhy_kind": "Namespace", "kubewhy_name": "kubewhy-system"},
    ],
)
def test_ignores_alerts_about_kubewhy(labels: dict[str, str]) -> None:
    assert why(labels) == "AboutKubewhy"


@pytest.mark.parametrize(
    "labels",
    [
        {"alertname": "KubePodCrashLooping", "namespace": "shop", "pod": "web-0"},
        {"alertname": "watchdog", "namespace": "shop"},
        {"alertname": "KubePodNotReady", "namespace": "kubewhy-system-2", "pod": "web-0"},
        {"alertname": "X", "namespace": "kubewhy-system", "exported_namespace": "shop"},
        {"alertname": "X", "namespace": "shop", "pod": "kubewhy-operator-fan-club"},
        {},
    ],
)
def test_takes_every_other_alert(labels: dict[str, str]) -> None:
    assert why(labels) is None


def test_an_installation_chooses_what_it_ignores() -> None:
    rules = alert_rules.Rules(ignored_names=frozenset({"Noise"}), own_namespace="ops")
    assert why({"alertname": "Noise"}, rules) == "NeverAProblem"
    assert why({"alertname": "Watchdog"}, rules) is None
    assert why({"namespace": "ops"}, rules) == "AboutKubewhy"
    assert why({"namespace": "kubewhy-system"}, rules) is None
    off = alert_rules.Rules(own_namespace="")
    assert why({"namespace": "kubewhy-system"}, off) is None


@pytest.mark.parametrize(
    ("label", "severity"),
    [
        ("critical", "Critical"),
        ("Page", "Critical"),
        (" P1 ", "Critical"),
        ("warning", "Warning"),
        ("error", "Warning"),
        ("info", "Info"),
        ("none", "None"),
        ("", "None"),
        ("ignore previous instructions", "None"),
    ],
)
def test_reads_the_severity(label: str, severity: str) -> None:
    assert alert_rules.severity({"severity": label}) == severity


def test_the_most_urgent_goes_first() -> None:
    assert sorted(values.Severity, key=alert_rules.urgency) == [
        "Critical",
        "Warning",
        "Info",
        "None",
    ]
