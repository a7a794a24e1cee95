"""What a message of alerts leads to: Investigations to create, Investigations to note a resolution on.

Pure: the same message gives the same names, whoever receives it and how often. Order is importance: what a limit or a
failure cuts off is the least urgent.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewhy.api import investigation, names, values
from kubewhy.core import alerts, subjects, timestamps, tools
from kubewhy.core.alerting import (
    alert_names,
    alert_rules,
    alert_store,
    alert_subjects,
    alertmanager,
)

CANDIDATES: Final = f"alert.{names.GROUP}/candidates"
"""Annotation: every object that the alert may be about and the label that says so, as JSON."""
TRUNCATED_ALERTS: Final = f"alert.{names.GROUP}/truncated-alerts"
"""Annotation: how many alerts of the group Alertmanager cut off (its `max_alerts`)."""
OVERFLOW: Final = f"alert.{names.GROUP}/overflow"
"""Annotation of a group's Investigation: for how many alerts it stands."""

MAX_CREATIONS = 1000
"""Alerts of one message that get an Investigation of their own (alertmanager.md §10)."""
MAX_RESOLUTIONS = 1000
OVERFLOW_SAMPLES = 5
"""Alerts that a group's Investigation shows in full: bounded, because each may have 32 KiB."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The installation's part. `cluster` keeps the keys of several clusters apart and may be ""."""

    fallback_namespace: str
    cluster: str = ""
    rules: alert_rules.Rules = alert_rules.DEFAULT


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """One Investigation to create in `namespace`, or in `fallback` where that one is refused ("": nowhere else)."""

    name: str
    namespace: str
    fallback: str
    alerts: tuple[alerts.Alert, ...]
    severity: values.Severity
    subject: subjects.Subject | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    question: str = ""

    def manifest(self, namespace: str) -> dict[str, Any]:
        """The manifest for a namespace: the subject is named only where it can be found from there."""
        spec: dict[str, Any] = {
            "alerts": tuple(map(_alert, self.alerts)),
            "severity": self.severity,
        }
        if self.question:
            spec["question"] = self.question
        if self.subject and _reachable(self.subject, namespace):
            spec["subject"] = investigation.Subject(
                api_version=self.subject.api_version, kind=self.subject.kind, name=self.subject.name
            )
        return investigation.Investigation(
            api_version=names.API_VERSION,
            kind=names.INVESTIGATION.kind,
            metadata=investigation.ObjectMeta(
                name=self.name,
                namespace=namespace,
                labels=dict(self.labels),
                annotations=dict(self.annotations),
            ),
            spec=investigation.InvestigationSpec(**spec),
        ).model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The end of one episode, to be noted wherever its Investigation is; the namespaces are in order of likelihood.

    Where there is none of that name, the episode may have begun under another start: Alertmanager moves it back when
    it hears of an earlier one. `of` then picks it among the unresolved ones of the series.
    """

    name: str
    series: str
    namespaces: tuple[str, ...]
    ended: datetime.datetime

    @property
    def resolved_at(self) -> str:
        """The end as RFC 3339."""
        return timestamps.seconds(self.ended)

    def of(self, episodes: Sequence[alert_store.Episode]) -> alert_store.Episode | None:
        """The newest that had begun by the end; one that began later is another firing."""
        begun = [episode for episode in episodes if episode.starts_at <= self.ended]
        return max(begun, key=lambda episode: episode.starts_at, default=None)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to write, most important first.

    `overflow` counts the firing alerts that the last creation stands for, `left_out` the resolutions beyond the
    limit, `truncated` the alerts whose labels or annotations were cut.
    """

    creations: tuple[Creation, ...]
    resolutions: tuple[Resolution, ...]
    ignored: Mapping[alert_rules.Ignored, int]
    overflow: int = 0
    left_out: int = 0
    truncated: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Considered:
    received: alertmanager.Received
    target: alert_subjects.Target
    severity: values.Severity
    name: str


def plan(message: alertmanager.Message, policy: Policy, *, at: datetime.datetime) -> Plan:
    """The plan for one message received at that moment."""
    considered, ignored = _consider(message, policy)
    firing = [entry for entry in considered if entry.received.alert.firing]
    resolved = [entry for entry in considered if not entry.received.alert.firing]
    own, rest = firing[:MAX_CREATIONS], firing[MAX_CREATIONS:]
    creations = [_creation(entry, message, policy, at=at) for entry in own]
    if rest:
        creations.append(_overflow(rest, message, policy, at=at))
    return Plan(
        creations=tuple(creations),
        resolutions=tuple(_resolution(entry, policy, at) for entry in resolved[:MAX_RESOLUTIONS]),
        ignored=ignored,
        overflow=len(rest),
        left_out=len(resolved[MAX_RESOLUTIONS:]),
        truncated=sum(entry.received.alert.truncated for entry in considered),
    )


def _consider(
    message: alertmanager.Message, policy: Policy
) -> tuple[list[_Considered], Mapping[alert_rules.Ignored, int]]:
    ignored: collections.Counter[alert_rules.Ignored] = collections.Counter()
    found: dict[tuple[str, bool], _Considered] = {}
    for received in message.received:
        labels = received.alert.labels
        target = alert_subjects.find(labels, received.alert.annotations)
        why = alert_rules.ignored(policy.rules, labels, target)
        if why:
            ignored[why] += 1
            continue
        name = alert_names.investigation(
            policy.cluster, received.alert.fingerprint, received.starts_at
        )
        entry = _Considered(
            received=received, target=target, severity=alert_rules.severity(labels), name=name
        )
        found.setdefault((name, received.alert.firing), entry)
    return sorted(found.values(), key=_importance), ignored


def _importance(entry: _Considered) -> tuple[int, datetime.datetime, str]:
    return alert_rules.urgency(entry.severity), entry.received.starts_at, entry.name


def _creation(
    entry: _Considered, message: alertmanager.Message, policy: Policy, *, at: datetime.datetime
) -> Creation:
    alert, fallback = entry.received.alert, policy.fallback_namespace
    namespace = entry.target.namespace or fallback
    annotations = _annotations(message, at)
    if entry.target.candidates:
        annotations[CANDIDATES] = _candidates(entry.target.candidates)
    return Creation(
        name=entry.name,
        namespace=namespace,
        fallback=fallback if fallback != namespace else "",
        alerts=(alert,),
        severity=entry.severity,
        subject=entry.target.subject,
        labels={
            names.LABEL_ALERT_SERIES: alert_names.series(policy.cluster, alert.fingerprint),
            names.LABEL_ALERT_GROUP: message.group,
        },
        annotations=annotations,
    )


def _overflow(
    rest: Sequence[_Considered],
    message: alertmanager.Message,
    policy: Policy,
    *,
    at: datetime.datetime,
) -> Creation:
    first = min(entry.received.starts_at for entry in rest)
    return Creation(
        name=alert_names.group_investigation(policy.cluster, message.group, first),
        namespace=policy.fallback_namespace,
        fallback="",
        alerts=tuple(entry.received.alert for entry in rest[:OVERFLOW_SAMPLES]),
        severity=rest[0].severity,
        subject=None,
        labels={names.LABEL_ALERT_GROUP: message.group},
        annotations=_annotations(message, at) | {OVERFLOW: str(len(rest))},
        question=(
            f"One message brought {len(rest)} alerts more than the {MAX_CREATIONS} that are investigated one by "
            f"one. What do they have in common? At most {OVERFLOW_SAMPLES} of them are shown."
        ),
    )


def _annotations(message: alertmanager.Message, at: datetime.datetime) -> dict[str, str]:
    found = {names.ALERT_COUNT: "1", names.ALERT_LAST_SEEN: timestamps.seconds(at)}
    if message.truncated_alerts:
        found[TRUNCATED_ALERTS] = str(message.truncated_alerts)
    return found


def _candidates(candidates: Sequence[alert_subjects.Candidate]) -> str:
    return tools.canonical(
        [
            {
                "apiVersion": candidate.subject.api_version,
                "kind": candidate.subject.kind,
                "label": candidate.source,
                "name": candidate.subject.name,
                "namespace": candidate.subject.namespace,
            }
            for candidate in candidates
        ]
    )


def _resolution(entry: _Considered, policy: Policy, at: datetime.datetime) -> Resolution:
    namespaces = dict.fromkeys((entry.target.namespace or policy.fallback_namespace,))
    namespaces[policy.fallback_namespace] = None
    return Resolution(
        name=entry.name,
        series=alert_names.series(policy.cluster, entry.received.alert.fingerprint),
        namespaces=tuple(namespaces),
        ended=entry.received.ends_at or at,
    )


def _reachable(subject: subjects.Subject, namespace: str) -> bool:
    if subject.namespace:
        return subject.namespace == namespace
    return alert_subjects.may_be_cluster_scoped(subject.kind)


def _alert(alert: alerts.Alert) -> investigation.Alert:
    optional = {
        "ends_at": alert.ends_at,
        "generator_url": alert.generator_url,
        "annotations": dict(alert.annotations),
        "truncated": alert.truncated,
    }
    return investigation.Alert(
        status=values.AlertStatus(alert.status),
        labels=dict(alert.labels),
        starts_at=alert.starts_at,
        fingerprint=alert.fingerprint,
        **{name: value for name, value in optional.items() if value},
    )
