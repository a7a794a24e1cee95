"""Which tools to call next; nothing where all that can help has been asked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.rules import dependencies
from kubewhy.core import messages, subjects, tools
from kubewhy.core.alerting import alert_subjects

MOST_LOOKS = 5
"""Calls of first_look in one run."""

MOST_STEPS = 6

_NAMED = re.compile(
    r"\b(?P<kind>deployment|deploy|statefulset|sts|daemonset|ds|replicaset|job|cronjob|pod|service|svc|node|pvc|"
    r"persistentvolumeclaim|ingress|hpa|namespace)s?(?:/|\s+(?:named\s+|called\s+)?[\"'`]?)(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?<![\w/.-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?![\w/-])")
_KINDS = {
    "deployment": "Deployment",
    "deploy": "Deployment",
    "statefulset": "StatefulSet",
    "sts": "StatefulSet",
    "daemonset": "DaemonSet",
    "ds": "DaemonSet",
    "replicaset": "ReplicaSet",
    "job": "Job",
    "cronjob": "CronJob",
    "pod": "Pod",
    "service": "Service",
    "svc": "Service",
    "node": "Node",
    "pvc": "PersistentVolumeClaim",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "ingress": "Ingress",
    "hpa": "HorizontalPodAutoscaler",
    "namespace": "Namespace",
}
_COMMON_WORDS = (
    "why what when where which who how is are was were does do did the a an of in on at to for "
    "from with my our its it and or not no crash crashes crashing crashed fail fails failing "
    "failed slow down up pod pods deployment service job node container containers restart "
    "restarts restarting restarted keep keeps so often start starts starting stuck pending "
    "wrong problem error errors broken happening happens be can can't cannot don't doesn't "
    "isn't get gets getting this that there any app application running run runs work works "
    "working unhealthy healthy unavailable ready has have had been now today cluster namespace "
    "kubernetes killed killing oom evicted scheduled rollout "
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words of questions that name no object."""


def next_calls(
    found: case.Case, offered: Iterable[str], steps: int
) -> tuple[messages.RequestedCall, ...]:
    """The calls of the next step."""
    names = frozenset(offered)
    if steps >= MOST_STEPS:
        return ()
    if case.FIRST_LOOK not in names:
        return _without_look(found, names)
    looks = [attempt for attempt in found.attempts if attempt.tool == case.FIRST_LOOK]
    if len(looks) >= MOST_LOOKS:
        return ()
    if not found.seen:
        return _fresh(
            found, [(item.kind, item.name) for item in candidates(found)][: 3 if looks else 1]
        )
    return _logs(found, names) or _further_looks(found)


def candidates(found: case.Case) -> list[subjects.Subject]:
    """Objects that the task may be about: its subject, then the alerts' labels, then the question's words."""
    named = [found.task.subject] if found.task.subject else []
    for alert in case.firing(found.task.alerts):
        target = alert_subjects.find(alert.labels, alert.annotations)
        named += [found.subject(item.subject.kind, item.subject.name) for item in target.candidates]
    named += [
        found.subject(_KINDS.get(read["kind"].lower(), read["kind"].capitalize()), read["name"])
        for read in _NAMED.finditer(found.task.question)
        if read["name"].lower() not in _COMMON
    ]
    if not named:
        words = [word for word in _WORD.findall(found.task.question) if word not in _COMMON]
        named = [found.subject("Deployment", word) for word in words[:3]]
    return list(dict.fromkeys(named))


def _fresh(
    found: case.Case, wanted: Iterable[tuple[str, str]]
) -> tuple[messages.RequestedCall, ...]:
    """First looks that were not made yet."""
    made = {
        (str(attempt.arguments.get("kind")).lower(), str(attempt.arguments.get("name")))
        for attempt in found.attempts
        if attempt.tool == case.FIRST_LOOK
    }
    calls = [
        _call(case.FIRST_LOOK, kind=kind, name=name)
        for kind, name in wanted
        if (kind.lower(), name) not in made
    ]
    if calls or made:
        return tuple(calls)
    return ()


def _logs(found: case.Case, names: frozenset[str]) -> tuple[messages.RequestedCall, ...]:
    """The log of a failing container that the first look lacks."""
    if case.LOGS not in names or any(attempt.tool == case.LOGS for attempt in found.attempts):
        return ()
    for view in containers.failing(found):
        if (
            view.exit
            and not view.logs
            and not view.empty
            and not view.unavailable
            and view.exit.get("exitCode")
        ):
            previous = view.exit.get("current") != "true"
            pod = view.pod.partition("/")[2]
            return (_call(case.LOGS, name=pod, container=view.name, previous=previous),)
    return ()


def _further_looks(found: case.Case) -> tuple[messages.RequestedCall, ...]:
    """Objects that the facts lead to: Services that failing programs name, or that select the pods only in part."""
    services = [("Service", name) for name in dependencies.hosts(found)]
    troubled = found.first("PodsOverview")
    if troubled is None or troubled.number("troubled") == 0:
        services += [
            ("Service", item.fact.object.partition("/")[2])
            for item in found.of("ServiceNearMiss")[:1]
        ]
    own = {look.fact.object for look in found.of("LookedAt")}
    return _fresh(found, [entry for entry in services if "/".join(entry) not in own])[:2]


def _without_look(found: case.Case, names: frozenset[str]) -> tuple[messages.RequestedCall, ...]:
    """What other tools can show, once."""
    made = {attempt.tool for attempt in found.attempts}
    subject = next(iter(candidates(found)), None)
    calls = []
    if subject and "kubernetes_describe" in names - made:
        calls.append(_call("kubernetes_describe", kind=subject.kind, name=subject.name))
    if "kubernetes_events" in names - made:
        calls.append(_call("kubernetes_events"))
    return tuple(calls)


def _call(tool: str, **arguments: object) -> messages.RequestedCall:
    values = {name: value for name, value in arguments.items() if value not in ("", False)}
    return messages.RequestedCall(tool=tool, arguments=tools.canonical(values))
