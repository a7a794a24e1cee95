"""Facts about claims, volumes and storage classes."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

_DEFAULT = "storageclass.kubernetes.io/is-default-class"
MOST_VOLUMES = 5


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The claims of the pod in focus (or the claim asked for); classes and volumes where a claim is not bound."""
    claims = objects.of_kind(shot.found.values(), "PersistentVolumeClaim")
    pending = [claim for claim in claims if shapes.text(claim, "status", "phase") != "Bound"]
    for claim in claims:
        yield _claim(claim)
    for claim in pending:
        yield from _class_of(shot, claim)
    wanted = {shapes.text(claim, "spec", "volumeName") for claim in claims} - {""}
    volumes = sorted(shot.volumes, key=lambda item: objects.name(item) not in wanted)
    for volume in volumes[:MOST_VOLUMES]:
        yield _volume(volume, weight=75 if pending or objects.name(volume) in wanted else 40)


def _claim(claim: shapes.Object) -> Ranked:
    spec = shapes.mapping(claim, "spec")
    phase = shapes.text(claim, "status", "phase")
    storage = shapes.text(spec, "resources", "requests", "storage")
    storage_class = shapes.text(spec, "storageClassName")
    modes = ",".join(objects.words(spec, "accessModes"))
    selector = objects.labels(spec, "selector", "matchLabels")
    words = [
        f"phase: {phase} storageClassName: {storage_class or 'none'} storage: {storage}"
        f" accessModes: {modes}"
    ]
    if selector:
        words.append(f"selector: {objects.selector_text(selector)}")
    return ranked(
        48 if phase == "Bound" else 81,
        "ClaimState",
        objects.ref(claim),
        *words,
        phase=phase,
        storageClass=storage_class,
        storage=storage,
        accessModes=modes,
        volume=shapes.text(spec, "volumeName"),
        selector=objects.selector_text(selector),
        staticOnly="true" if spec.get("storageClassName") == "" else "",
    )


def _class_of(shot: Snapshot, claim: shapes.Object) -> Iterator[Ranked]:
    wanted = shapes.text(claim, "spec", "storageClassName")
    names = {objects.name(item): item for item in shot.storage_classes}
    defaults = [
        name
        for name, item in names.items()
        if objects.labels(item, "metadata", "annotations").get(_DEFAULT) == "true"
    ]
    found = "true" if wanted in names else "false"
    yield ranked(
        77,
        "StorageClasses",
        objects.ref(claim),
        f"StorageClasses: {', '.join(sorted(names)) or 'none'}; default:"
        f" {', '.join(defaults) or 'none'}",
        wanted=wanted,
        found=found if wanted else "",
        default=",".join(defaults) or "none",
        binding=shapes.text(names.get(wanted, {}), "volumeBindingMode"),
        provisioner=shapes.text(names.get(wanted, {}), "provisioner"),
    )


def _volume(volume: shapes.Object, *, weight: int) -> Ranked:
    spec = shapes.mapping(volume, "spec")
    phase = shapes.text(volume, "status", "phase")
    held = shapes.mapping(spec, "claimRef")
    size = shapes.text(spec, "capacity", "storage")
    modes = ",".join(objects.words(spec, "accessModes"))
    words = [
        f"phase: {phase} storage: {size} accessModes: {modes} "
        f"storageClassName: {shapes.text(spec, 'storageClassName')}"
    ]
    if held:
        words.append(
            f"claimRef: {shapes.text(held, 'namespace')}/{shapes.text(held, 'name')}"
            f" uid={shapes.text(held, 'uid')}"
        )
    labels = objects.labels(volume, "metadata", "labels")
    if labels:
        words.append(f"labels: {objects.selector_text(labels)}")
    affinity = shapes.dig(spec, "nodeAffinity", "required")
    if affinity:
        words.append(f"nodeAffinity: {affinity}"[:400])
    return ranked(
        weight,
        "VolumeState",
        objects.ref(volume),
        *words,
        phase=phase,
        storage=size,
        accessModes=modes,
        storageClass=shapes.text(spec, "storageClassName"),
        claim=shapes.text(held, "name"),
        claimNamespace=shapes.text(held, "namespace"),
        labels=objects.selector_text(labels),
    )
