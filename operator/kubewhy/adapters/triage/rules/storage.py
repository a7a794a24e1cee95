"""Claims and volumes."""

from __future__ import annotations

import re

from kubewhy.adapters.triage import case, containers
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
from kubewhy.core import conclusion, subjects

_CLASS = re.compile(r'storageclass(?:\.storage\.k8s\.io)? "(?P<name>[^"]+)" not found')
_CLAIM = re.compile(r'persistentvolumeclaims? "(?P<name>[^"]+)" not found')
_MOUNT_FAULTS = (
    ("MultiAttach", r"Multi-Attach error", "the volume is already attached elsewhere (Multi-Attach)"),
    ("CSIDriverMissing", r"list of registered CSI drivers", "its CSI driver is not registered on the node"),
    ("WrongFilesystem", r"wrong fs type|unknown filesystem", "the filesystem type does not fit (mount)"),
    ("NFSUnreachable", r"mount\.nfs|nfs.*(?:timed out|timeout|unreachable|refused)|connection timed out", "the NFS server (host) does not answer"),
)  # fmt: skip


def missing_claim(found: case.Case) -> Diagnosis | None:
    """The pod names a claim that does not exist."""
    fact = next(
        (
            item
            for item in found.of("MissingReference")
            if item.get("referenced").startswith("PersistentVolumeClaim/")
        ),
        None,
    )
    spoken = next(
        (
            item
            for item in (
                *found.of("PodCondition"),
                *found.of("KubeEvent", reason="FailedScheduling"),
            )
            if _CLAIM.search(item.text)
        ),
        None,
    )
    item = fact or spoken
    if item is None or found.first("PodsReady"):
        return None
    read = _CLAIM.search(item.text)
    name = fact.get("referenced").partition("/")[2] if fact else read["name"] if read else ""
    owner = found.owner(item)
    return Diagnosis(
        score=95,
        mechanism="ClaimNotFound",
        subject=owner,
        statement=(
            f'{owner} uses the claim {name}, which does not exist: persistentvolumeclaim "{name}"'
            " not found."
        ),
        evidence=quotes(
            spoken.quote("not found") if spoken else None,
            fact.quote() if fact else None,
            fact.quote("not found") if fact else None,
        ),
        actions=(
            action("Check which claims there are", kubectl(owner, "get", "persistentvolumeclaims")),
            action("Correct the claim's name", kubectl(owner, "edit", target(owner))),
        ),
    )


def unbound(found: case.Case) -> Diagnosis | None:
    """A claim is not bound: why, from its events, the classes and the volumes."""
    claim = next(
        (item for item in found.of("ClaimState") if item.get("phase") not in {"Bound", ""}), None
    )
    if claim is None:
        return None
    event = next((item for item in found.of("KubeEvent", claim.fact.object)), None)
    mechanism, text, more = _why_unbound(found, claim, event)
    if not mechanism:
        return None
    owner = _owner(found, claim)
    return Diagnosis(
        score=95,
        mechanism=mechanism,
        subject=owner,
        statement=(
            f"{claim.fact.object} is"
            f" {claim.get('phase')}{'' if owner.kind == 'PersistentVolumeClaim' else f' and {owner} waits for it'}:"
            f" {text}."
        ),
        evidence=quotes(event.quote() if event else None, *more, claim.quote()),
        actions=(
            inspect(found.named(claim.fact.object)),
            action(
                "Compare with classes and volumes", "kubectl get storageclasses,persistentvolumes"
            ),
        ),
    )


def _owner(found: case.Case, claim: case.Seen) -> subjects.Subject:
    """The StatefulSet for a claim made from its template, else the claim."""
    look = next((item for item in found.of("LookedAt") if item.call == claim.call), None)
    workload = look.get("workload") if look else ""
    kind, _, name = workload.partition("/")
    if kind == "StatefulSet" and re.search(rf"-{re.escape(name)}-\d+$", claim.fact.object):
        return found.named(workload)
    return found.named(claim.fact.object)


def _why_unbound(
    found: case.Case, claim: case.Seen, event: case.Seen | None
) -> tuple[str, str, tuple[conclusion.Evidence | None, ...]]:
    spoken = event.text if event else ""
    classes = found.first("StorageClasses", claim.fact.object)
    wanted = claim.get("storageClass")
    named = _CLASS.search(spoken)
    if named:
        return (
            "StorageClassNotFound",
            f"StorageClass {named['name']} does not exist (not found)",
            (classes.quote() if classes else None,),
        )
    volume = _fitting_volume(found, claim)
    if "incompatible accessMode" in spoken or (volume and volume[1] == "modes"):
        return (
            "AccessModeMismatch",
            f"the access mode {claim.get('accessModes')} of the claim does not fit the volume's",
            (volume[0].quote() if volume else None,),
        )
    if "too small" in spoken or (volume and volume[1] == "size"):
        return (
            "CapacityMismatch",
            (
                f"the capacity does not fit: the claim wants {claim.get('storage')}, the volume"
                " offers less"
            ),
            (volume[0].quote() if volume else None,),
        )
    if volume and volume[1] == "released":
        return (
            "VolumeReleased",
            f"{volume[0].fact.object} is Released and still held by the claimRef of an old claim",
            (volume[0].quote("phase"), volume[0].quote("claimRef")),
        )
    if claim.get("selector"):
        return (
            "VolumeSelectorMismatch",
            f"no volume fits its selector {claim.get('selector')}",
            (claim.quote("selector"), volume[0].quote("labels") if volume else None),
        )
    if "no storage class is set" in spoken or (
        not wanted and classes and classes.get("default") == "none"
    ):
        return (
            "NoDefaultStorageClass",
            "it names no StorageClass and there is no default StorageClass",
            (classes.quote() if classes else None,),
        )
    if (
        wanted
        and classes
        and classes.get("found") == "false"
        and not found.of("VolumeState", storageClass=wanted)
    ):
        return (
            "StorageClassNotFound",
            f"StorageClass {wanted} does not exist (not found)",
            (classes.quote(),),
        )
    if (
        classes
        and classes.get("binding") == "WaitForFirstConsumer"
        and event
        and event.get("reason") != "ProvisioningFailed"
    ):
        return "", "", ()
    if event and event.get("type") == "Warning":
        return event.get("reason"), short(spoken), ()
    return "", "", ()


def _fitting_volume(found: case.Case, claim: case.Seen) -> tuple[case.Seen, str] | None:
    """The volume that the claim seems to be meant for, and what does not fit."""
    same = [
        item
        for item in found.of("VolumeState")
        if item.get("storageClass") == claim.get("storageClass")
        or item.fact.object == f"PersistentVolume/{claim.get('volume')}"
    ]
    name = claim.fact.object.partition("/")[2]
    static = bool(claim.get("storageClass") or claim.get("staticOnly") or claim.get("volume"))
    for item in sorted(same, key=lambda item: item.get("claim") != name):
        own = item.get("claim") == name and item.get("claimNamespace") in {"", found.namespace}
        if item.get("phase") == "Released" and (own or (static and not _free(same))):
            return item, "released"
    for item in same:
        if item.get("phase") == "Available" and set(claim.get("accessModes").split(",")) - set(
            item.get("accessModes").split(",")
        ):
            return item, "modes"
        if item.get("phase") == "Available" and _bytes(item.get("storage")) < _bytes(
            claim.get("storage")
        ):
            return item, "size"
    return (same[0], "") if same else None


def _free(volumes: list[case.Seen]) -> bool:
    return any(item.get("phase") == "Available" for item in volumes)


def _bytes(size: str) -> float:
    read = re.match(r"^(\d+(?:\.\d+)?)([KMGTP]i?|)", size)
    if not read:
        return 0.0
    factor = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}.get(read[2])
    power = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}.get(read[2], 0)
    return float(read[1]) * (factor if factor is not None else 1024**power)


def mount(found: case.Case) -> Diagnosis | None:
    """The volume is bound, but can't be attached or mounted."""
    for event in found.of("KubeEvent"):
        if event.get("reason") not in {
            "FailedAttachVolume",
            "FailedMount",
        } or not containers.recent(event):
            continue
        if containers.started(found, event.fact.object):
            continue
        for mechanism, pattern, text in _MOUNT_FAULTS:
            if re.search(pattern, event.text):
                owner = found.owner(event)
                return Diagnosis(
                    score=93,
                    mechanism=mechanism,
                    subject=owner,
                    statement=(
                        f"A volume of {owner} can't be attached or mounted: {text}:"
                        f" {short(event.text)}"
                    ),
                    evidence=quotes(event.quote()),
                    actions=(inspect(owner),),
                )
    return None


def mount_other(found: case.Case) -> Diagnosis | None:
    """Any other failure to mount, in the kubelet's own words."""
    event = next(
        (
            item
            for item in found.of("KubeEvent")
            if item.get("reason") in {"FailedAttachVolume", "FailedMount"}
            and containers.recent(item)
            and not containers.started(found, item.fact.object)
        ),
        None,
    )
    if event is None:
        return None
    owner = found.owner(event)
    return Diagnosis(
        score=78,
        mechanism=event.get("reason"),
        subject=owner,
        statement=f"A volume of {owner} can't be attached or mounted: {short(event.text)}",
        evidence=quotes(event.quote()),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(inspect(owner),),
    )


RULES: tuple[Rule, ...] = (missing_claim, unbound, mount, mount_other)
