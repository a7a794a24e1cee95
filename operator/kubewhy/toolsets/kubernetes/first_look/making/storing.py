"""Facts about claims, volumes and storage classes."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes.first_look import objects
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

_DEFAULT = "storageclass.kubernetes.io/is-default-class"
MOST_VOLUMES = 5


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The claims of the pod in focus (or the claim asked for); classes and volumes where a claim is not bound."""
    claims = objects.of_kind(shot.found.values(), "PersistentVolumeClaim")
    pending = [claim for claim in claims if objects.text(claim, "status", "phase") != "Bound"]
    for claim in claims:
        yield _claim(claim)
    for claim in pending:
        yield from _class_of(shot, claim)
    wanted = {objects.text(claim, "spec", "volumeName") for claim in claims} - {""}
    volumes = sorted(shot.volumes, key=lambda item: objects.name(item) not in wanted)
    for volume in volumes[:MOST_VOLUMES]:
        yield _volume(volume, weight=75 if pending or objects.name(volume) in wanted else 40)


def _claim(claim: objects.Object) -> Ranked:
    spec = objects.table(claim, "spec")
    phase = objects.text(claim, "status", "phase")
    storage = objects.text(spec, "resources", "requests", "storage")
    storage_class = objects.text(spec, "storageClassName")
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
        volume=objects.text(spec, "volumeName"),
        selector=objects.selector_text(selector),
        staticOnly="true" if spec.get("storageClassName") == "" else "",
    )


def _class_of(shot: Snapshot, claim: objects.Object) -> Iterator[Ranked]:
    wanted = objects.text(claim, "spec", "storageClassName")
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
        binding=objects.text(names.get(wanted, {}), "volumeBindingMode"),
        provisioner=objects.text(names.get(wanted, {}), "provisioner"),
    )


def _volume(volume: objects.Object, *, weight: int) -> Ranked:
    spec = objects.table(volume, "spec")
    phase = objects.text(volume, "status", "phase")
    held = objects.table(spec, "claimRef")
    size = objects.text(spec, "capacity", "storage")
    modes = ",".join(objects.words(spec, "accessModes"))
    words = [
        f"phase: {phase} storage: {size} accessModes: {modes} "
        f"storageClassName: {objects.text(spec, 'storageClassName')}"
    ]
    if held:
        words.append(
            f"claimRef: {objects.text(held, 'namespace')}/{objects.text(held, 'name')}"
            f" uid={objects.text(held, 'uid')}"
        )
    labels = objects.labels(volume, "metadata", "labels")
    if labels:
        words.append(f"labels: {objects.selector_text(labels)}")
    affinity = objects.dig(spec, "nodeAffinity", "required")
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
        storageClass=objects.text(spec, "storageClassName"),
        claim=objects.text(held, "name"),
        claimNamespace=objects.text(held, "namespace"),
        labels=objects.selector_text(labels),
    )
