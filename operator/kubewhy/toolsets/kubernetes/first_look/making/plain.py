"""Facts about any object: being deleted, conditions of kinds without a module of their own, failed reads."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate, resources
from kubewhy.toolsets.kubernetes.first_look.making import kube_events, workloads
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

_OWN_CONDITIONS = resources.WORKLOADS | {"Node", "HorizontalPodAutoscaler"}
RECENT_SECONDS = 3600


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """What holds for every kind."""
    yield _looked_at(shot)
    yield from _deleting(shot)
    if objects.kind(shot.subject) not in _OWN_CONDITIONS:
        yield from workloads.conditions(shot, shot.subject)
    yield from workloads.healthy_since(shot)
    yield from _quiet(shot)
    for failure in shot.failures:
        yield ranked(
            35 if failure.reason == "BudgetSpent" else 75,
            "ReadFailed",
            f"{failure.resource}/{failure.name.split(' ')[0] or '*'}",
            failure.message,
            verb=failure.verb,
            resource=failure.resource,
            reason=failure.reason,
        )


def _looked_at(shot: Snapshot) -> Ranked:
    replaced = shot.replaced
    words = [f'pods "{replaced}" not found; its workload is looked at instead'] if replaced else []
    created = shapes.text(shot.subject, "metadata", "creationTimestamp")
    return ranked(
        100,
        "LookedAt",
        objects.ref(shot.subject),
        *words,
        f"metadata.creationTimestamp: {created}" if created else "",
        namespace=shot.namespace,
        workload=objects.ref(shot.workload) if shot.workload else "",
        replaced=replaced,
        ageSeconds=podstate.age(shot.now, shot.subject),
    )


def _deleting(shot: Snapshot) -> Iterator[Ranked]:
    at = shapes.text(shot.subject, "metadata", "deletionTimestamp")
    if not at or objects.kind(shot.subject) == "Pod":
        return
    finalizers = objects.words(shot.subject, "metadata", "finalizers") + objects.words(
        shot.subject, "spec", "finalizers"
    )
    yield ranked(
        90,
        "BeingDeleted",
        objects.ref(shot.subject),
        f"metadata.deletionTimestamp: {at}",
        f"finalizers: {', '.join(finalizers)}" if finalizers else "",
        finalizers=",".join(finalizers),
        agoSeconds=objects.seconds(shot.now, shapes.moment(at)),
    )


def _quiet(shot: Snapshot) -> Iterator[Ranked]:
    """No warning lately: a positive fact, and only where the KubeEvents could be read."""
    if any(failure.resource == "events" for failure in shot.failures):
        return
    related = kube_events.related(shot)
    warnings = [
        item
        for item in kube_events.merged(shot.events)
        if item.of in related and item.kind == "Warning" and item.reason not in kube_events.NOISE
    ]
    last = max((item.last for item in warnings if item.last), default=None)
    ago = objects.seconds(shot.now, last)
    if warnings and not ago:
        return
    of = objects.ref(shot.workload or shot.subject)
    words = (
        f"newest KubeEvent of type Warning about {of}, its pods and owners: {ago} seconds ago"
        if warnings
        else f"no KubeEvent of type Warning about {of}, its pods and owners"
    )
    yield ranked(49, "WarningsQuiet", of, words, lastWarningSeconds=ago, warnings=len(warnings))
