"""Containers that never start because of their image, command or security settings."""

from __future__ import annotations

import re
from typing import Final

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

_PULL_REASONS: Final = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
    }
)
_FAULTS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "InvalidImageName",
        r"InvalidImageName|invalid reference format|couldn't parse image",
        "the image name is no valid reference (InvalidImageName)",
    ),
    (
        "ImageNotPresent",
        r"pull policy of Never",
        "the image is not present on the node and imagePullPolicy is Never",
    ),
    (
        "ImagePlatformMismatch",
        r"no match for platform|no matching manifest for",
        "the image has no variant for the node's architecture",
    ),
    (
        "RegistryRateLimited",
        r"\b429\b|toomanyrequests|rate limit",
        "the registry limits the rate of pulls (429, rate limit)",
    ),
    (
        "RegistryCertificate",
        r"x509|certificate",
        "the registry's certificate is not trusted (x509)",
    ),
    (
        "ImagePullUnauthorized",
        (
            r"pull access denied|\b401\b|\b403\b|nauthorized|authentication"
            r" required|insufficient_scope|authorization failed|no basic auth"
        ),
        "the registry asks for credentials",
    ),
    (
        "ImageNotFound",
        r"manifest unknown|not found|does not exist|NotFound",
        "no such image or tag exists (not found)",
    ),
    (
        "RegistryUnreachable",
        (
            r"no such host|lookup |server misbehaving|dial tcp|i/o timeout|refused|connection"
            r" reset|no route"
        ),
        "the registry can't be reached",
    ),
)


def pull(found: case.Case) -> Diagnosis | None:
    """The image can't be pulled, or not used."""
    item = next(
        (seen for seen in found.of("ContainerWaiting") if seen.get("reason") in _PULL_REASONS), None
    )
    if item is None:
        return None
    image = found.first("ContainerImage", item.fact.object, container=item.get("container"))
    name = image.get("image") if image else _image_in(item.text)
    owner = found.owner(item)
    proof, line = _most_telling(found, item, name)
    mechanism, meaning = _fault(line, item.get("reason"))
    extra, more = (
        _credentials(found, item, image) if mechanism == "ImagePullUnauthorized" else ("", ())
    )
    dns = (
        "; the registry's name does not resolve (DNS)"
        if "no such host" in line or "lookup " in line
        else ""
    )
    return Diagnosis(
        score=95,
        mechanism=mechanism,
        subject=owner,
        statement=(
            f"Image {name} of container {item.get('container')} of {owner} can't be pulled:"
            f" {meaning}{dns}{extra}. {short(line, 420)}"
        ),
        evidence=quotes(proof, item.quote(), image.quote("image:") if image else None, *more),
        actions=_actions(found, owner, item, name),
    )


def _fault(line: str, reason: str) -> tuple[str, str]:
    for mechanism, pattern, meaning in _FAULTS:
        if mechanism == "ImageNotFound" and re.search(r"no such host|lookup \S+ on", line):
            continue
        if re.search(pattern, line):
            return mechanism, meaning
    return (
        reason if reason in {"InvalidImageName", "ImageInspectError"} else "ImagePullFailed"
    ), "the pull fails"


def _most_telling(found: case.Case, item: case.Seen, image: str) -> tuple[conclusion.Evidence, str]:
    """The line with the cause: the runtime's own error, not the back-off."""
    events = [
        event
        for event in found.of("KubeEvent", item.fact.object)
        if event.get("reason") in {"Failed", "InspectFailed", "ErrImageNeverPull"}
    ]
    lines = [
        (seen, word)
        for seen in (*events, item)
        for word in seen.fact.words
        if not word.startswith("state.waiting")
    ]
    lines.sort(
        key=lambda entry: (image not in entry[1], "Back-off" in entry[1], -_faults(entry[1]))
    )
    if not lines:
        return item.quote(), item.text
    seen, line = lines[0]
    return conclusion.Evidence(call=seen.call, quote=line[: conclusion.QUOTE_LENGTH]), line


def _faults(line: str) -> int:
    return sum(bool(re.search(pattern, line)) for _, pattern, _ in _FAULTS)


def _credentials(
    found: case.Case, item: case.Seen, image: case.Seen | None
) -> tuple[str, tuple[conclusion.Evidence, ...]]:
    absent = next(
        (
            event
            for event in found.of("KubeEvent", item.fact.object)
            if event.get("reason") == "FailedToRetrieveImagePullSecret"
        ),
        None,
    )
    names = image.get("pullSecrets") if image else ""
    if absent:
        secret = re.search(r"\(([^)]*)\)", absent.text)
        name = secret[1].split("/")[-1] if secret else names
        return f"; its imagePullSecret {name} is missing (not found)", (absent.quote(),)
    if names == "none" and image:
        return " and the pod names no imagePullSecrets", (image.quote("imagePullSecrets"),)
    return f"; the imagePullSecrets ({names}) do not fit the registry" if names else "", ()


def _actions(
    found: case.Case, owner: subjects.Subject, item: case.Seen, image: str
) -> tuple[conclusion.Action, ...]:
    steps = [inspect(found.named(item.fact.object))]
    change = found.first("RevisionChange", field="image")
    if change and owner.kind == "Deployment":
        steps.append(
            action(
                f"Go back to revision {change.get('fromRevision')} with image"
                f" {change.get('before')}",
                kubectl(owner, "rollout", "undo", target(owner)),
            )
        )
    elif owner.kind in {"Deployment", "StatefulSet", "DaemonSet"}:
        steps.append(action(f"Correct the image {image}", kubectl(owner, "edit", target(owner))))
    return tuple(steps)


def _image_in(text: str) -> str:
    read = re.search(r'image "([^"]+)"', text)
    return read[1] if read else "(unknown)"


def command(found: case.Case) -> Diagnosis | None:
    """The runtime can't start the command."""
    for item in containers.views(found):
        ended = item.exit or item.waiting
        text = "\n".join(seen.text for seen in (item.waiting, item.exit) if seen)
        started = re.search(r'exec: "(?P<name>[^"]+)": (?P<why>[^:\n]+)', text) or re.search(
            r'unable to start container process: .*?"(?P<name>[^"]+)": (?P<why>[^:\n]+)', text
        )
        if ended is None or not item.failing or not started:
            continue
        proof = next(
            (
                seen.quote(started[0])
                for seen in (item.waiting, item.exit)
                if seen and started[0] in seen.text
            ),
            None,
        )
        spec = found.first("ContainerCommand", item.pod, container=item.name)
        owner = found.owner(ended)
        return Diagnosis(
            score=95,
            mechanism="CommandNotFound",
            subject=owner,
            statement=(
                f"The command {started['name']} of {_kind(item)} {item.name} of {owner} can't be"
                f" started: {started['why'].strip()} (executable not found or not runnable in the"
                " image)."
            ),
            evidence=quotes(proof, spec.quote() if spec else None),
            actions=(
                action(
                    f"Correct command or image of container {item.name}",
                    kubectl(owner, "edit", target(owner)),
                ),
            ),
        )
    return None


def hook_fails(found: case.Case) -> Diagnosis | None:
    """The postStart hook fails, so the kubelet kills the container."""
    event = next(
        (
            item
            for item in found.of("KubeEvent", reason="FailedPostStartHook")
            if containers.recent(item)
        ),
        None,
    )
    if event is None:
        return None
    owner = found.owner(event)
    views = [view for view in containers.views(found) if view.pod == event.fact.object]
    view = next((view for view in views if view.failing), None)
    spec = next(
        (
            item
            for item in found.of("ContainerCommand", event.fact.object)
            if "postStart" in item.text
        ),
        None,
    )
    shown = f" ({short(spec.quote('postStart').quote, 200)})" if spec else ""
    return Diagnosis(
        score=94,
        mechanism="PostStartHookFailed",
        subject=owner,
        statement=(
            f"The postStart hook of container {view.name if view else '(unknown)'} of {owner}"
            f" fails{shown}, so the kubelet kills and restarts it: {short(event.text)}"
        ),
        evidence=quotes(
            spec.quote("postStart") if spec else None,
            event.quote(),
            view.exit.quote("terminated") if view and view.exit else None,
        ),
        actions=(action("Correct the postStart hook", kubectl(owner, "edit", target(owner))),),
    )


def cannot_start(found: case.Case) -> Diagnosis | None:
    """The kubelet refuses to create the container, for a reason in its own words."""
    reasons = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
    item = next(
        (seen for seen in found.of("ContainerWaiting") if seen.get("reason") in reasons), None
    )
    if item is None:
        return None
    owner = found.owner(item)
    words = [word for word in item.fact.words if not word.startswith("state.waiting")]
    text = words[0] if words else item.text
    root = "runAsNonRoot" in text
    what = (
        "the image would run as root, but runAsNonRoot is set"
        if root
        else "the kubelet can't create it"
    )
    return Diagnosis(
        score=93 if root else 80,
        mechanism="RunAsNonRoot" if root else item.get("reason"),
        subject=owner,
        statement=(
            f"Container {item.get('container')} of {owner} does not start: {what}: {short(text)}"
        ),
        evidence=quotes(item.quote(text)),
        actions=(
            inspect(owner),
            action("Correct the pod template", kubectl(owner, "edit", target(owner))),
        ),
    )


def sandbox(found: case.Case) -> Diagnosis | None:
    """The pod's network or sandbox can't be made."""
    item = next(
        (
            event
            for event in found.of("KubeEvent", reason="FailedCreatePodSandBox")
            if containers.recent(event)
        ),
        None,
    )
    if item is None or containers.started(found, item.fact.object):
        return None
    owner = found.owner(item)
    full = re.search(
        r"no more free|no addresses available|no IP addresses available|exhausted",
        item.text,
        re.IGNORECASE,
    )
    what = (
        "no pod IP address is left (exhausted)"
        if full
        else "the network plugin (CNI) or runtime fails"
    )
    return Diagnosis(
        score=90,
        mechanism="PodAddressesExhausted" if full else "SandboxFailed",
        subject=owner,
        statement=f"The sandbox of pods of {owner} can't be created: {what}: {short(item.text)}",
        evidence=quotes(item.quote()),
        actions=(
            action("Look at the network plugin's pods", "kubectl -n kube-system get pods -o wide"),
        ),
    )


def _kind(item: containers.View) -> str:
    return "init container" if item.init else "container"


RULES: tuple[Rule, ...] = (pull, command, hook_fails, cannot_start, sandbox)
