"""Which alerts start nothing, and which go first."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from kubewhy.api import names, values
from kubewhy.core.alerting import alert_subjects

NEVER_A_PROBLEM = frozenset({"Watchdog", "InfoInhibitor"})
"""Alerts that prove that alerting works, or only silence others."""

_OWN_PREFIX = "kubewhy"
_OWN_LABELS = ("job", "service", "deployment", "pod", "container")
_OWN_PARTS = (names.OPERATOR_ACCOUNT, names.WEBHOOK_ACCOUNT)
_SEVERITIES = {
    values.Severity.CRITICAL: "critical crit page emergency fatal disaster p0 p1 sev0 sev1",
    values.Severity.WARNING: "warning warn error major high average p2 p3 sev2 sev3",
    values.Severity.INFO: "info information notice minor low p4 p5 sev4 sev5",
}
_SEVERITY_OF = {word: severity for severity, words in _SEVERITIES.items() for word in words.split()}
_ORDER = tuple(values.Severity)


class Ignored(enum.StrEnum):
    """Why an alert starts no Investigation."""

    NEVER_A_PROBLEM = "NeverAProblem"
    ABOUT_KUBEWHY = "AboutKubewhy"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an installation ignores: alert names, and everything about the namespace that kubewhy runs in.

    `own_namespace=""` switches the second rule off.
    """

    ignored_names: frozenset[str] = NEVER_A_PROBLEM
    own_namespace: str = names.SYSTEM_NAMESPACE


DEFAULT = Rules()


def ignored(
    rules: Rules, labels: Mapping[str, str], target: alert_subjects.Target
) -> Ignored | None:
    """Why the alert is ignored, or None. kubewhy must not feed on its own alerts."""
    if labels.get("alertname", "") in rules.ignored_names:
        return Ignored.NEVER_A_PROBLEM
    if rules.own_namespace and _about_kubewhy(rules.own_namespace, labels, target):
        return Ignored.ABOUT_KUBEWHY
    return None


def severity(labels: Mapping[str, str]) -> values.Severity:
    """The alert's severity from its label, `None` where the label is missing or says nothing known."""
    return _SEVERITY_OF.get(labels.get("severity", "").strip().lower(), values.Severity.NONE)


def urgency(severity_: values.Severity) -> int:
    """Sort key: the most urgent first."""
    return _ORDER.index(severity_)


def _about_kubewhy(own: str, labels: Mapping[str, str], target: alert_subjects.Target) -> bool:
    if target.namespace == own or labels.get("alertname", "").lower().startswith(_OWN_PREFIX):
        return True
    best = target.subject
    if best and best.kind == "Namespace" and best.name == own:
        return True
    if target.namespace:
        return False
    return any(labels.get(label, "").startswith(_OWN_PARTS) for label in _OWN_LABELS)
