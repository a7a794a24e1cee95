"""Claims and volumes."""

from __future__ import annotations

import dataclasses
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
    (
        "MultiAttach",
        r"Multi-Attach error",
        "the volume is already attached elsewhere (Multi-Attach)",
    ),
    (
        "CSIDriverMissing",
        r"list of registered CSI drivers",
        "its CSI driver is not registered on the node",
    ),
    (
        "WrongFilesystem",
        r"wrong fs type|unknown filesystem",
        "the filesystem type does not fit (mount)",
    ),
    (
        "NFSUnreachable",
        r"mount\.nfs|nfs.*(?:timed out|timeout|unreachable|refused)|connection timed out",
        "the NFS server (host) does not answer",
    ),
)


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


_Reading = tuple[str, str, tuple[conclusion.Evidence | None, ...]]
"""Why a claim is not bound: mechanism, sentence, further evidence."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Unbound:
    """What is known about a claim that is not bound."""

    claim: case.Seen
    spoken: str
    classes: case.Seen | None
    volume: case.Seen | None
    misfit: str
    same_class: bool


def _why_unbound(found: case.Case, claim: case.Seen, event: case.Seen | None) -> _Reading:
    volume = _fitting_volume(found, claim)
    wanted = claim.get("storageClass")
    known = _Unbound(
        claim=claim,
        spoken=event.text if event else "",
        classes=found.first("StorageClasses", claim.fact.object),
        volume=volume[0] if volume else None,
        misfit=volume[1] if volume else "",
        same_class=bool(wanted and found.of("VolumeState", storageClass=wanted)),
    )
    reading = next((reading for read in _READINGS if (reading := read(known))), None)
    if reading:
        return reading
    waits = known.classes is not None and known.classes.get("binding") == "WaitForFirstConsumer"
    failed = event is not None and event.get("reason") == "ProvisioningFailed"
    if event is None or event.get("type") != "Warning" or (waits and not failed):
        return "", "", ()
    return event.get("reason"), short(known.spoken), ()


def _class_spoken_of(known: _Unbound) -> _Reading | None:
    named = _CLASS.search(known.spoken)
    if not named:
        return None
    return _no_class(named["name"], known)


def _modes(known: _Unbound) -> _Reading | None:
    if "incompatible accessMode" not in known.spoken and known.misfit != "modes":
        return None
    text = (
        f"the access mode {known.claim.get('accessModes')} of the claim does not fit the volume's"
    )
    return "AccessModeMismatch", text, (known.volume.quote() if known.volume else None,)


def _size(known: _Unbound) -> _Reading | None:
    if "too small" not in known.spoken and known.misfit != "size":
        return None
    wanted = known.claim.get("storage")
    text = f"the capacity does not fit: the claim wants {wanted}, the volume offers less"
    return "CapacityMismatch", text, (known.volume.quote() if known.volume else None,)


def _released(known: _Unbound) -> _Reading | None:
    volume = known.volume
    if volume is None or known.misfit != "released":
        return None
    text = f"{volume.fact.object} is Released and still held by the claimRef of an old claim"
    return "VolumeReleased", text, (volume.quote("phase"), volume.quote("claimRef"))


def _selector(known: _Unbound) -> _Reading | None:
    selector = known.claim.get("selector")
    if not selector:
        return None
    labels = known.volume.quote("labels") if known.volume else None
    text = f"no volume fits its selector {selector}"
    return "VolumeSelectorMismatch", text, (known.claim.quote("selector"), labels)


def _no_default(known: _Unbound) -> _Reading | None:
    wanted, classes = known.claim.get("storageClass"), known.classes
    none = not wanted and classes is not None and classes.get("default") == "none"
    if "no storage class is set" not in known.spoken and not none:
        return None
    text = "it names no StorageClass and there is no default StorageClass"
    return "NoDefaultStorageClass", text, (classes.quote() if classes else None,)


def _class_absent(known: _Unbound) -> _Reading | None:
    wanted = known.claim.get("storageClass")
    absent = known.classes is not None and known.classes.get("found") == "false"
    return _no_class(wanted, known) if wanted and absent and not known.same_class else None


def _no_class(name: str, known: _Unbound) -> _Reading:
    proof = known.classes.quote() if known.classes else None
    return "StorageClassNotFound", f"StorageClass {name} does not exist (not found)", (proof,)


_READINGS = (_class_spoken_of, _modes, _size, _released, _selector, _no_default, _class_absent)


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
