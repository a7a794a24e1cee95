"""Positive proof that nothing is wrong now; without it there is no verdict NoProblemFound."""

from __future__ import annotations

import dataclasses

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import quotes, short
from kubewhy.core import conclusion, loglines, subjects


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What shows that an object is well: one sentence with its proof, and what was wrong before, if anything."""

    subject: subjects.Subject
    statement: str
    evidence: tuple[conclusion.Evidence, ...]
    past: tuple[conclusion.Finding, ...] = ()


def health(found: case.Case) -> Health | None:
    """Proof that the object asked about is well now, None where there is no such proof."""
    subject = found.asked
    if subject is None:
        return None
    checks = (_replicas, _service, _job, _cron, _pods, _node, _claim, _scaler)
    return next((proof for check in checks if (proof := check(found, subject))), None)


def _replicas(found: case.Case, subject: subjects.Subject) -> Health | None:
    item = found.first("WorkloadReplicas", str(subject))
    if item is None or item.number("desired") == 0 or _service_asked(found):
        return None
    desired = item.number("desired")
    behind = item.get("observed") and item.get("observed") != item.get("generation")
    whole = all(item.number(name) >= desired for name in ("ready", "available", "updated"))
    if behind or not whole or not _quiet(found):
        return None
    ready = found.first("PodsReady")
    available = next(
        (
            seen
            for seen in found.of("ObjectCondition", str(subject), type="Available", status="True")
        ),
        None,
    )
    return Health(
        subject=subject,
        statement=(
            f"{subject} is healthy now: {item.number('available')} of {desired} replicas are"
            f" available{_since(ready)}"
        ),
        evidence=quotes(
            item.quote("status:"),
            ready.quote() if ready else None,
            available.quote() if available else None,
            _warnings(found),
        ),
        past=_past(found),
    )


def _service(found: case.Case, _subject: subjects.Subject) -> Health | None:
    item = _service_asked(found)
    if item is None:
        return None
    selector = found.first("ServiceSelector", item.fact.object)
    endpoints = found.first("ServiceEndpoints", item.fact.object)
    if selector is None or endpoints is None or endpoints.number("ready") == 0 or not _quiet(found):
        return None
    if selector.number("ready") < selector.number("pods") or found.of(
        "ServicePort", item.fact.object, fits="false"
    ):
        return None
    service = found.named(item.fact.object)
    return Health(
        subject=service,
        statement=(
            f"{service} is healthy now: {endpoints.get('ready')} ready endpoints, and all"
            f" {selector.get('pods')} pods that fit its selector are ready"
        ),
        evidence=quotes(endpoints.quote(), selector.quote("pods that fit"), _warnings(found)),
        past=_past(found),
    )


def _service_asked(found: case.Case) -> case.Seen | None:
    looks = found.of("LookedAt")
    return looks[0] if looks and looks[0].fact.object.startswith("Service/") else None


def _job(found: case.Case, subject: subjects.Subject) -> Health | None:
    item = found.first("JobState", str(subject))
    if item is None or item.number("succeeded") == 0:
        return None
    done = next(
        (
            seen
            for seen in found.of("ObjectCondition", str(subject), type="Complete", status="True")
        ),
        None,
    )
    if done is None:
        return None
    return Health(
        subject=subject,
        statement=f"{subject} has completed: {item.get('succeeded')} pods succeeded",
        evidence=quotes(item.quote("status:"), done.quote()),
        past=_past(found),
    )


def _cron(found: case.Case, subject: subjects.Subject) -> Health | None:
    item = found.first("CronJobState", str(subject), suspended="false")
    if item is None or not item.get("lastSuccessSeconds") or not _quiet(found):
        return None
    if item.number("lastSuccessSeconds") > item.number("lastScheduleSeconds") and not item.get(
        "active"
    ):
        return None
    return Health(
        subject=subject,
        statement=f"{subject} runs on schedule: its last run succeeded",
        evidence=quotes(item.quote("lastSuccessfulTime"), item.quote()),
        past=_past(found),
    )


def _pods(found: case.Case, subject: subjects.Subject) -> Health | None:
    ready = found.first("PodsReady", str(subject))
    if subject.kind != "Pod" or ready is None or not _quiet(found):
        return None
    return Health(
        subject=subject,
        statement=f"{subject} is healthy now: it is ready{_since(ready)}",
        evidence=quotes(ready.quote(), _warnings(found)),
        past=_past(found),
    )


def _node(found: case.Case, subject: subjects.Subject) -> Health | None:
    ready = found.first("NodeCondition", str(subject), type="Ready", status="True")
    bad = [item for item in found.of("NodeCondition", str(subject)) if item.get("type") != "Ready"]
    if (
        subject.kind != "Node"
        or ready is None
        or bad
        or found.first("NodeState", str(subject), unschedulable="true")
    ):
        return None
    return Health(
        subject=subject,
        statement=f"{subject} is healthy now: its condition Ready is True",
        evidence=quotes(ready.quote()),
    )


def _claim(found: case.Case, subject: subjects.Subject) -> Health | None:
    item = found.first("ClaimState", str(subject), phase="Bound")
    if subject.kind != "PersistentVolumeClaim" or item is None:
        return None
    return Health(subject=subject, statement=f"{subject} is Bound", evidence=quotes(item.quote()))


def _scaler(found: case.Case, _subject: subjects.Subject) -> Health | None:
    look = found.first("LookedAt")
    if look is None or not look.fact.object.startswith(
        ("HorizontalPodAutoscaler/", "PodDisruptionBudget/")
    ):
        return None
    item = found.first("AutoscalerState", look.fact.object) or found.first(
        "DisruptionBudget", look.fact.object
    )
    active = found.first("ObjectCondition", look.fact.object, type="ScalingActive", status="True")
    if (
        item is None
        or (item.fact.kind == "AutoscalerState" and active is None)
        or item.get("allowed") == "0"
    ):
        return None
    named = found.named(look.fact.object)
    return Health(
        subject=named,
        statement=f"{named} works",
        evidence=quotes(item.quote(), active.quote() if active else None),
    )


def _quiet(found: case.Case) -> bool:
    """Whether no container of any pod looked at is in trouble now."""
    views = containers.views(found)
    if any(view.failing for view in views):
        return False
    if any(
        view.running and view.running.get("ready") == "false" and not view.init for view in views
    ):
        return False
    overview = found.first("PodsOverview")
    return overview is None or overview.number("ready") > 0 or overview.number("troubled") == 0


def _since(ready: case.Seen | None) -> str:
    if ready is None:
        return ""
    restarts = ready.number("restarts")
    again = (
        f", {restarts} restart{'s' if restarts != 1 else ''} in the past"
        if restarts
        else ", no restarts"
    )
    return f", all pods are ready since {_span(ready.number('sinceSeconds'))}{again}"


def _span(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _warnings(found: case.Case) -> conclusion.Evidence | None:
    item = found.first("WarningsQuiet")
    return item.quote() if item and item.get("warnings") in {"", "0"} else None


def _past(found: case.Case) -> tuple[conclusion.Finding, ...]:
    """What went wrong before and is over: it is named, but asks for nothing."""
    findings = []
    for view in containers.views(found):
        if view.exit is None or not view.failed or view.failing or view.init:
            continue
        read = containers.cause(view) if view.exit.get("current") != "true" else None
        why = _reason(view, read)
        ago = _span(view.exit.number("agoSeconds"))
        findings.append(
            conclusion.Finding(
                statement=(
                    f"Container {view.name} of {view.pod} ended {ago} ago ({why}) and has recovered"
                    " since."
                ),
                evidence=quotes(view.exit.quote("terminated"), read[1] if read else None),
            )
        )
    return tuple(findings[:3])


def _reason(view: containers.View, read: tuple[loglines.Cause, conclusion.Evidence] | None) -> str:
    if view.exit and view.exit.get("reason") == "OOMKilled":
        return "OOMKilled"
    code = view.exit.get("exitCode") if view.exit else ""
    previous = any(log.get("previous") == "true" for log in view.logs)
    return (
        f"exit code {code}: {short(read[0].text, 200)}"
        if read and previous
        else f"exit code {code}"
    )
