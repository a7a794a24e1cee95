"""Facts about autoscalers and disruption budgets of the workload (or the one asked for)."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects
from kubewhy.toolsets.kubernetes.first_look.making import workloads
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

_GOOD = {"ScalingActive": "True", "AbleToScale": "True", "ScalingLimited": "False"}


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """Autoscalers that target the workload, and budgets that cover its pods."""
    workload = objects.ref(shot.workload)
    for scaler in _of_subject(shot, "HorizontalPodAutoscaler", shot.autoscalers):
        target = shapes.mapping(scaler, "spec", "scaleTargetRef")
        named = objects.Ref(shapes.text(target, "kind"), shapes.text(target, "name"))
        if scaler is shot.subject or named == workload:
            yield from _scaler(shot, scaler, named)
    labels = objects.labels(objects.pod_template(shot.workload), "metadata", "labels")
    for budget in _of_subject(shot, "PodDisruptionBudget", shot.budgets):
        selector = objects.labels(budget, "spec", "selector", "matchLabels")
        if budget is shot.subject or objects.selects(selector, labels):
            yield _budget(budget, asked=budget is shot.subject)


def _of_subject(
    shot: Snapshot, kind: str, others: tuple[shapes.Object, ...]
) -> tuple[shapes.Object, ...]:
    return (shot.subject,) if objects.kind(shot.subject) == kind else others


def _scaler(shot: Snapshot, scaler: shapes.Object, target: objects.Ref) -> Iterator[Ranked]:
    spec, status = shapes.mapping(scaler, "spec"), shapes.mapping(scaler, "status")
    current, desired = (
        shapes.number(status, "currentReplicas"),
        shapes.number(status, "desiredReplicas"),
    )
    most = shapes.number(spec, "maxReplicas")
    yield ranked(
        55,
        "AutoscalerState",
        objects.ref(scaler),
        f"minReplicas: {shapes.number(spec, 'minReplicas', default=1)} maxReplicas: {most} "
        f"currentReplicas: {current} desiredReplicas: {desired}",
        f"scaleTargetRef: {target}",
        maxReplicas=most,
        current=current,
        desired=desired,
        target=target,
    )
    for item in workloads.conditions(shot, scaler):
        kind, state = item.fact.get("type"), item.fact.get("status")
        good = _GOOD.get(kind, state) == state
        yield Ranked(weight=39 if good else 84, fact=item.fact)
    missing = shot.missing.get(target)
    if missing:
        yield ranked(
            92,
            "MissingReference",
            objects.ref(scaler),
            f"scaleTargetRef: {target}",
            missing,
            referenced=target,
        )


def _budget(budget: shapes.Object, *, asked: bool) -> Ranked:
    spec, status = shapes.mapping(budget, "spec"), shapes.mapping(budget, "status")
    allowed = shapes.number(status, "disruptionsAllowed")
    bounds = [
        f"{key}: {shapes.text(spec, key)}"
        for key in ("minAvailable", "maxUnavailable")
        if key in spec
    ]
    counts = {
        key: shapes.number(status, key)
        for key in ("currentHealthy", "desiredHealthy", "expectedPods")
    }
    return ranked(
        (86 if asked else 47) if allowed == 0 else 38,
        "DisruptionBudget",
        objects.ref(budget),
        f"disruptionsAllowed: {allowed} {' '.join(bounds)}",
        f"status: {' '.join(f'{key}={value}' for key, value in counts.items())}",
        allowed=allowed,
        bound=" ".join(bounds),
        healthy=counts["currentHealthy"],
        desiredHealthy=counts["desiredHealthy"],
        expected=counts["expectedPods"],
    )
