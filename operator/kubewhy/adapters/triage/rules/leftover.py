"""What is left when no rule knows the fault: conditions and warnings in their own words."""

from __future__ import annotations

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import (
    Diagnosis,
    Rule,
    action,
    inspect,
    kubectl,
    quotes,
    short,
)
from kubewhy.core import conclusion

QUOTE = conclusion.QUOTE_LENGTH
_COMPLAINT_SECONDS = 3600
_VAGUE = frozenset(
    {"BackOff", "Unhealthy", "Failed", "FailedSync", "FailedGetResourceMetric", "NodeNotReady"}
)
_BEFORE_START = frozenset(
    {"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedScheduling"}
)
_IGNORED = frozenset({"MissingClusterDNS", "DNSConfigForming"})
_KNOWN = frozenset(
    {
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "Pod",
        "HorizontalPodAutoscaler",
        "Service",
        "PersistentVolumeClaim",
        "Node",
        "PodDisruptionBudget",
    }
)


def condition(found: case.Case) -> Diagnosis | None:
    """A custom resource's own condition that is False, with its reason."""
    for item in found.of("ObjectCondition"):
        kind = item.fact.object.partition("/")[0]
        if kind in _KNOWN or item.get("status") != "False":
            continue
        owner = found.named(item.fact.object)
        return Diagnosis(
            score=78,
            mechanism=item.get("reason") or f"{item.get('type')}False",
            subject=owner,
            statement=(
                f"{owner} reports {item.get('type')}=False, reason {item.get('reason') or 'none'}:"
                f" {short(item.text)}"
            ),
            evidence=quotes(item.quote()),
            confidence=conclusion.Confidence.MEDIUM,
            actions=(inspect(owner),),
        )
    return None


def complaint(found: case.Case) -> Diagnosis | None:
    """A controller's warning about the very object that was asked about, where nothing shows that it is well."""
    look = found.first("LookedAt")
    if look is None or found.first("PodsReady"):
        return None
    for item in found.of("KubeEvent", look.fact.object, type="Warning"):
        if not containers.recent(item, _COMPLAINT_SECONDS) or item.get("reason") in _VAGUE:
            continue
        owner = found.named(item.fact.object)
        return Diagnosis(
            score=66,
            mechanism=item.get("reason"),
            subject=owner,
            statement=(
                f"{owner} can't be brought to its wanted state: {item.get('reason')}:"
                f" {short(item.text)}"
            ),
            evidence=quotes(item.quote()),
            confidence=conclusion.Confidence.MEDIUM,
            actions=(inspect(owner),),
        )
    return None


def gone(found: case.Case) -> Diagnosis | None:
    """The object does not exist any more, but KubeEvents tell what happened to it."""
    if found.first("LookedAt"):
        return None
    events = [
        item for item in found.of("KubeEvent", type="Warning") if item.get("reason") not in _IGNORED
    ]
    events.sort(key=lambda item: item.get("reason") in _VAGUE)
    missing = next(
        (
            attempt
            for attempt in found.attempts
            if attempt.tool == case.FIRST_LOOK and attempt.status.value == "NotFound"
        ),
        None,
    )
    if missing is None or not events:
        return None
    kind, name = (str(missing.arguments.get(key, "")) for key in ("kind", "name"))
    told = "; ".join(
        f"{item.fact.object}: {item.get('reason')}: {short(item.text, 200)}" for item in events[:2]
    )
    line = conclusion.Evidence(call=missing.id, quote=missing.text.split("\n")[0][:QUOTE])
    return Diagnosis(
        score=60,
        mechanism=events[0].get("reason"),
        subject=found.subject(kind, name),
        statement=(
            f"{kind}/{name} does not exist any more (its pods are gone, deleted); its KubeEvents"
            f" say: {told}"
        ),
        evidence=quotes(*(item.quote() for item in events[:2]), line),
        confidence=conclusion.Confidence.LOW,
        actions=(
            action(
                "Look at what is left of it",
                kubectl(
                    found.subject(kind, name),
                    "get",
                    "events",
                    f"--field-selector=involvedObject.name={name}",
                ),
            ),
        ),
    )


def warning(found: case.Case) -> Diagnosis | None:
    """The most telling recent warning about something that is not well."""
    if found.first("PodsReady"):
        return None
    for item in found.of("KubeEvent", type="Warning"):
        reason = item.get("reason")
        over = reason in _BEFORE_START and containers.started(found, item.fact.object)
        if over or not containers.recent(item) or reason in _IGNORED | {"BackOff"}:
            continue
        owner = found.owner(item)
        return Diagnosis(
            score=53,
            mechanism=item.get("reason"),
            subject=owner,
            statement=(
                f"{owner} is not well, and its newest warning is {item.get('reason')}:"
                f" {short(item.text)}"
            ),
            evidence=quotes(item.quote()),
            confidence=conclusion.Confidence.LOW,
            verdict=conclusion.Verdict.INCONCLUSIVE,
            actions=(inspect(owner),),
            next_checks=(f"what the warning {item.get('reason')} means for {owner}",),
        )
    return None


RULES: tuple[Rule, ...] = (condition, complaint, gone, warning)
