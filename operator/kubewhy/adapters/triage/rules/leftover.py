"""What is left when no rule knows the fault: conditions and warnings in their own words."""

from __future__ import annotations

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import Diagnosis, Rule, inspect, quotes, short
from kubewhy.core import conclusion

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


def warning(found: case.Case) -> Diagnosis | None:
    """The most telling recent warning about something that is not well."""
    if found.first("PodsReady"):
        return None
    for item in found.of("KubeEvent", type="Warning"):
        if not containers.recent(item) or item.get("reason") in {
            "BackOff",
            "MissingClusterDNS",
            "DNSConfigForming",
        }:
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


RULES: tuple[Rule, ...] = (condition, warning)
