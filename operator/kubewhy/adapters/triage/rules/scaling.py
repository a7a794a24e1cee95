"""Autoscalers and disruption budgets."""

from __future__ import annotations

import re

from kubewhy.adapters.triage import case
from kubewhy.adapters.triage.diagnosis import Diagnosis, Rule, inspect, quotes, short
from kubewhy.core import conclusion


def autoscaler(found: case.Case) -> Diagnosis | None:
    """The autoscaler can't act, or has reached its bound."""
    for item in found.of("ObjectCondition"):
        if not item.fact.object.startswith("HorizontalPodAutoscaler/"):
            continue
        read = _fault(found, item)
        if read is None:
            continue
        mechanism, text, strong = read
        scaler = found.named(item.fact.object)
        asked = _about(found, r"hpa|autoscal|scal") or _looked_at(found, item.fact.object)
        return Diagnosis(
            score=(88 if strong else 76) if asked else 47,
            mechanism=mechanism,
            subject=scaler,
            statement=f"{scaler} (HPA) {text}: {short(item.text)}",
            evidence=quotes(item.quote(), *_state(found, item)),
            actions=(inspect(scaler),),
        )
    return None


def _fault(found: case.Case, item: case.Seen) -> tuple[str, str, bool] | None:
    kind, status, reason, text = (
        item.get("type"),
        item.get("status"),
        item.get("reason"),
        item.text,
    )
    if kind == "AbleToScale" and status == "False":
        missing = reason == "FailedGetScale"
        return (
            ("ScaleTargetNotFound", "can't read its scaleTargetRef (not found)", True)
            if missing
            else (reason, "can't scale", True)
        )
    if kind == "ScalingActive" and status == "False" and reason != "ScalingDisabled":
        if "missing request" in text:
            return "MissingRequests", "can't compute usage because the pods set no requests", True
        return "MetricsUnavailable", "gets no metrics from the metrics API (metrics-server)", True
    if kind == "ScalingLimited" and status == "True" and reason == "TooManyReplicas":
        state = found.first("AutoscalerState", item.fact.object)
        return (
            "MaxReplicasReached",
            f"has reached its maxReplicas of {state.get('maxReplicas') if state else 'unknown'}",
            False,
        )
    return None


def _state(found: case.Case, item: case.Seen) -> tuple[conclusion.Evidence, ...]:
    state = found.first("AutoscalerState", item.fact.object)
    return (state.quote("maxReplicas"),) if state else ()


def budget(found: case.Case) -> Diagnosis | None:
    """A budget that allows no disruption holds up every drain."""
    item = found.first("DisruptionBudget", allowed="0")
    if item is None:
        return None
    owner = found.named(item.fact.object)
    asked = _looked_at(found, item.fact.object) or _about(
        found, r"drain|pdb|disruption|evict|upgrade"
    )
    blocked = item.number("healthy") >= item.number("expected") > 0
    return Diagnosis(
        score=85 if asked else 42,
        mechanism="DisruptionBudgetBlocks",
        subject=owner,
        statement=(
            f"{owner} (PDB) allows 0 disruptions ({item.get('bound')}),"
            f" {'although all its pods are healthy' if blocked else 'because too few of its pods are healthy'}:"
            " evictions are refused."
        ),
        evidence=quotes(item.quote(), item.quote("status:")),
        actions=(inspect(owner),),
    )


def _looked_at(found: case.Case, of: str) -> bool:
    return any(look.fact.object == of for look in found.of("LookedAt"))


def _about(found: case.Case, pattern: str) -> bool:
    return (
        re.search(pattern, f"{found.alert_names} {found.task.question}", re.IGNORECASE) is not None
    )


RULES: tuple[Rule, ...] = (autoscaler, budget)
