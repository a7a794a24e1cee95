"""Facts about change: what differs between the last two revisions, and who wrote to an object lately."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

MOST_CHANGES = 8
RECENT_SECONDS = 24 * 3600
_CONTROLLERS = frozenset({"kube-controller-manager", "kubelet", "kube-scheduler"})
_FIELDS = (
    "image",
    "command",
    "args",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "envFrom",
)


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """ReplicaSets of the last two revisions with their differences, and recent writers of the objects involved."""
    newest, before = _revisions(shot)
    for item in (newest, before):
        if item:
            yield _replica_set(shot, item, newest=item is newest)
    if newest and before:
        yield from _changes(shot, newest, before)
    read = (shot.subject, shot.workload, *shot.found.values())
    chain = {objects.ref(item): item for item in read if objects.name(item)}
    for item in chain.values():
        yield from _writers(shot, item)


def writer_of(value: shapes.Object, *path: str) -> shapes.Object:
    """The managedFields entry that owns the field at the path, empty where nobody does."""
    entries = shapes.mappings(value, "metadata", "managedFields")
    owners = [row for row in entries if shapes.dig(row, "fieldsV1", *path) is not None]
    owners.sort(key=lambda row: shapes.text(row, "time"))
    return owners[-1] if owners else {}


def _revisions(shot: Snapshot) -> tuple[shapes.Object, shapes.Object]:
    """The newest ReplicaSet, and of the others the one that still has pods, else the one before."""
    sets = shot.replica_sets
    if not sets:
        return {}, {}
    others = sets[1:]
    alive = next((item for item in others if shapes.number(item, "spec", "replicas")), None)
    return sets[0], alive or (others[0] if others else {})


def _replica_set(shot: Snapshot, item: shapes.Object, *, newest: bool) -> Ranked:
    desired = shapes.number(item, "spec", "replicas")
    ready = shapes.number(item, "status", "readyReplicas")
    revision = objects.revision(item)
    return ranked(
        56 if newest and ready < desired else 41,
        "ReplicaSetState",
        objects.ref(item),
        f"revision {revision}: replicas={desired} readyReplicas={ready}",
        revision=revision,
        newest="true" if newest else "false",
        desired=desired,
        ready=ready,
        ageSeconds=podstate.age(shot.now, item),
    )


def _changes(shot: Snapshot, newest: shapes.Object, before: shapes.Object) -> Iterator[Ranked]:
    first, second = objects.revision(before), objects.revision(newest)
    old = {
        shapes.text(item, "name"): item for item in objects.containers(objects.pod_template(before))
    }
    new = {
        shapes.text(item, "name"): item for item in objects.containers(objects.pod_template(newest))
    }
    found: list[tuple[str, str, str, str]] = [
        (
            name,
            "container",
            "absent" if name not in old else "present",
            "absent" if name not in new else "present",
        )
        for name in sorted(old.keys() ^ new.keys())
    ]
    for name in sorted(old.keys() & new.keys()):
        found += [(name, *change) for change in _container_changes(old[name], new[name])]
    weight = (
        65
        if shapes.number(newest, "status", "readyReplicas")
        < shapes.number(newest, "spec", "replicas")
        else 43
    )
    for name, field, was, now in found[:MOST_CHANGES]:
        yield ranked(
            weight,
            "RevisionChange",
            objects.ref(shot.workload),
            f"revision {first}: {field}: {was}",
            f"revision {second}: {field}: {now}",
            container=name,
            field=field,
            before=was[:120],
            after=now[:120],
            fromRevision=first,
            toRevision=second,
            agoSeconds=podstate.age(shot.now, newest),
        )


def _container_changes(old: shapes.Object, new: shapes.Object) -> Iterator[tuple[str, str, str]]:
    for field in _FIELDS:
        if old.get(field) != new.get(field):
            yield field, _short(old.get(field)), _short(new.get(field))
    was = {shapes.text(row, "name"): row for row in shapes.mappings(old, "env")}
    now = {shapes.text(row, "name"): row for row in shapes.mappings(new, "env")}
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            yield f"env.{name}", _variable(was.get(name)), _variable(now.get(name))


def _variable(row: shapes.Object | None) -> str:
    if row is None:
        return "absent"
    return _short(row.get("valueFrom")) if row.get("valueFrom") else shapes.text(row, "value")[:200]


def _short(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{key}: {_short(item)}" for key, item in sorted(value.items())) + "}"
        )
    return str(value)[:300]


def _writers(shot: Snapshot, item: shapes.Object) -> Iterator[Ranked]:
    entries = [
        row
        for row in shapes.mappings(item, "metadata", "managedFields")
        if shapes.text(row, "manager") not in _CONTROLLERS
        and shapes.text(row, "subresource") != "status"
    ]
    entries.sort(key=lambda row: shapes.text(row, "time"), reverse=True)
    for row in entries[:2]:
        ago = objects.seconds(shot.now, shapes.moment(row, "time"))
        if not ago or int(ago) > RECENT_SECONDS:
            continue
        manager, operation = shapes.text(row, "manager"), shapes.text(row, "operation")
        yield ranked(
            28,
            "RecentChange",
            objects.ref(item),
            f"managedFields: manager={manager} operation={operation}"
            f" time={shapes.text(row, 'time')}",
            manager=manager,
            operation=operation,
            agoSeconds=ago,
            created="true" if _created_with(item, row) else "",
        )


def _created_with(item: shapes.Object, row: shapes.Object) -> bool:
    return shapes.text(item, "metadata", "creationTimestamp") == shapes.text(row, "time")
