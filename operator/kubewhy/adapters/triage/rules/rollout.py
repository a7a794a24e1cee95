"""Workloads that are switched off or whose rollout does not get on."""

from __future__ import annotations

from kubewhy.adapters.triage import case
from kubewhy.adapters.triage.diagnosis import (
    Diagnosis,
    Rule,
    action,
    inspect,
    kubectl,
    quotes,
    short,
    target,
)
from kubewhy.core import conclusion


def paused(found: case.Case) -> Diagnosis | None:
    """A paused Deployment rolls nothing out."""
    item = found.first("RolloutPaused")
    if item is None:
        return None
    owner = found.owner(item)
    replicas = found.first("WorkloadReplicas", item.fact.object)
    behind = replicas is not None and replicas.number("updated") < replicas.number("desired")
    return Diagnosis(
        score=82 if behind else 62,
        mechanism="RolloutPaused",
        subject=owner,
        statement=(
            f"The rollout of {owner} is paused (spec.paused: true), so changes to it are not rolled"
            " out."
        ),
        evidence=quotes(item.quote(), replicas.quote("status:") if replicas else None),
        actions=(action("Resume the rollout", kubectl(owner, "rollout", "resume", target(owner))),),
    )


def scaled_to_zero(found: case.Case) -> Diagnosis | None:
    """Nothing runs because nothing should."""
    item = found.first("ScaledToZero")
    if item is None:
        return None
    owner = found.owner(item)
    who = f", set by {item.get('manager')}" if item.get("manager") else ""
    return Diagnosis(
        score=84,
        mechanism="ScaledToZero",
        subject=owner,
        statement=f"{owner} is scaled to zero: replicas is 0{who}, so no pod serves.",
        evidence=quotes(item.quote(), item.quote("was set by")),
        actions=(
            action(
                "Scale it up if that was not meant",
                kubectl(owner, "scale", target(owner), "--replicas=1"),
            ),
        ),
    )


def stuck(found: case.Case) -> Diagnosis | None:
    """The deadline of the rollout has passed; the pods' own cause, where one is known, explains more."""
    item = found.first("ObjectCondition", type="Progressing", status="False")
    if item is None or item.get("reason") != "ProgressDeadlineExceeded":
        return None
    owner = found.owner(item)
    change = found.first("RevisionChange")
    text = (
        f"; it changed {change.get('field')} of container {change.get('container')}"
        if change
        else ""
    )
    return Diagnosis(
        score=60,
        mechanism="ProgressDeadlineExceeded",
        subject=owner,
        statement=(
            f"The rollout of {owner} is stuck: its new pods do not become ready"
            f" (ProgressDeadlineExceeded){text}."
        ),
        evidence=quotes(item.quote(), change.quote("revision") if change else None),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(
            action(
                "See the rollout's history", kubectl(owner, "rollout", "history", target(owner))
            ),
            action(
                "Go back to the revision before", kubectl(owner, "rollout", "undo", target(owner))
            ),
        ),
    )


def deleting(found: case.Case) -> Diagnosis | None:
    """The object waits for its finalizers."""
    item = found.first("BeingDeleted")
    if item is None:
        return None
    owner = found.owner(item)
    conditions = [
        seen
        for seen in found.of("ObjectCondition", item.fact.object, status="True")
        if "inalizers" in seen.get("type") or "Content" in seen.get("type")
    ]
    shown = f": {short(conditions[0].text, 300)}" if conditions else ""
    return Diagnosis(
        score=86,
        mechanism="FinalizersRemain",
        subject=owner,
        statement=(
            f"{owner} is being deleted and waits for finalizers"
            f" ({item.get('finalizers') or 'of its content'}){shown}"
        ),
        evidence=quotes(
            item.quote(), item.quote("finalizers:"), *(seen.quote() for seen in conditions[:3])
        ),
        actions=(inspect(owner),),
    )


RULES: tuple[Rule, ...] = (paused, scaled_to_zero, stuck, deleting)
