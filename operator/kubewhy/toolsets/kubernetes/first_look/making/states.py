"""Facts about containers: how they wait, ended or run, with the limits, command and image that they were given."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.podstate import Container
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

_IMAGE_WORDS = ("Image", "ErrPull", "Registry")


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The containers of the pods in focus."""
    for index, pod in enumerate(shot.focus):
        for item in podstate.containers(pod):
            yield from _container(shot, item, first=index == 0)


def _container(shot: Snapshot, item: Container, *, first: bool) -> Iterator[Ranked]:
    if item.waiting:
        yield _waiting(item)
    for state, current in ((item.terminated, True), (item.last, False)):
        if state:
            yield _terminated(shot, item, state, current=current)
    if item.running:
        yield _running(shot, item)
    trouble = item.trouble > 10 or podstate.phase(item.pod) == "Failed"  # noqa: PLR2004 - more than just starting
    if trouble or (first and podstate.unscheduled(item.pod)):
        yield from _resources(item, weight=72 if trouble else 50)
    if trouble:
        yield from _command(item)
        yield from _security(item)
        yield _image(item)


def _waiting(item: Container) -> Ranked:
    reason, message = shapes.text(item.waiting, "reason"), shapes.text(item.waiting, "message")
    words = f"state.waiting: reason={reason}"
    starting = reason in podstate.STARTING
    weight = 40 if starting else 84 if reason == "CrashLoopBackOff" else 93
    return ranked(
        weight,
        "ContainerWaiting",
        objects.ref(item.pod),
        words,
        message,
        container=item.name,
        init="true" if item.init else "",
        reason=reason,
        restarts=item.restarts,
    )


def _terminated(shot: Snapshot, item: Container, state: shapes.Object, *, current: bool) -> Ranked:
    where = "state" if current else "lastState"
    parts = [
        f"{key}={shapes.text(state, key)}"
        for key in ("reason", "exitCode", "signal", "startedAt", "finishedAt")
        if shapes.text(state, key)
    ]
    failed = podstate.failed(state)
    return ranked(
        (92 if failed else 48) - (0 if current or not item.terminated else 20),
        "ContainerTerminated",
        objects.ref(item.pod),
        f"{where}.terminated: {' '.join(parts)}",
        shapes.text(state, "message"),
        container=item.name,
        init="true" if item.init else "",
        current="true" if current else "false",
        exitCode=shapes.text(state, "exitCode"),
        reason=shapes.text(state, "reason"),
        restarts=item.restarts,
        lifeSeconds=podstate.life_seconds(state),
        agoSeconds=objects.seconds(shot.now, shapes.moment(state, "finishedAt")),
    )


def _running(shot: Snapshot, item: Container) -> Ranked:
    started = shapes.text(item.running, "startedAt")
    ready = "true" if item.ready else "false"
    return ranked(
        50 if item.ready or item.init else 68,
        "ContainerRunning",
        objects.ref(item.pod),
        f"state.running: startedAt={started} ready={ready} restartCount={item.restarts}",
        container=item.name,
        init="true" if item.init else "",
        ready=ready,
        started="false" if item.status.get("started") is False else "",
        restarts=item.restarts,
        upSeconds=objects.seconds(shot.now, shapes.moment(started)),
    )


def _resources(item: Container, *, weight: int) -> Iterator[Ranked]:
    values: dict[str, str] = {}
    words = []
    for part in ("limits", "requests"):
        for name, value in sorted(objects.labels(item.spec, "resources", part).items()):
            words.append(f"{part}.{name}: {value}")
            if name in {"cpu", "memory", "ephemeral-storage"}:
                values[part.removesuffix("s") + name.title().replace("-", "")] = value
    yield ranked(
        weight,
        "ContainerResources",
        objects.ref(item.pod),
        *(words or ["resources: {}"]),
        container=item.name,
        **values,
    )


def _command(item: Container) -> Iterator[Ranked]:
    words = []
    for key in ("command", "args"):
        parts = objects.words(item.spec, key)
        if parts:
            words.append(f"{key}: {parts}".replace("\n", "\\n")[:300])
    for variable in shapes.mappings(item.spec, "env"):
        value = shapes.text(variable, "value")
        if "-Xm" in value or "MaxRAM" in value:
            words.append(f"env {shapes.text(variable, 'name')}: {value}"[:300])
    for hook in ("postStart", "preStop"):
        handler = shapes.mapping(item.spec, "lifecycle", hook)
        if handler:
            words.append(f"lifecycle.{hook}: {json.dumps(handler, sort_keys=True)}"[:300])
    if words:
        yield ranked(64, "ContainerCommand", objects.ref(item.pod), *words, container=item.name)


def _security(item: Container) -> Iterator[Ranked]:
    merged = {
        **shapes.mapping(item.pod, "spec", "securityContext"),
        **shapes.mapping(item.spec, "securityContext"),
    }
    telling = ("readOnlyRootFilesystem", "runAsNonRoot", "runAsUser", "fsGroup")
    values = {key: shapes.text(merged, key) for key in telling if shapes.text(merged, key)}
    if values:
        words = [f"securityContext.{key}: {value}" for key, value in values.items()]
        yield ranked(
            62, "SecurityContext", objects.ref(item.pod), *words, container=item.name, **values
        )


def _image(item: Container) -> Ranked:
    image = shapes.text(item.spec, "image")
    policy = shapes.text(item.spec, "imagePullPolicy")
    secrets = [
        shapes.text(row, "name") for row in shapes.mappings(item.pod, "spec", "imagePullSecrets")
    ]
    reason = shapes.text(item.waiting, "reason")
    about = any(word in reason for word in _IMAGE_WORDS)
    return ranked(
        83 if about else 46,
        "ContainerImage",
        objects.ref(item.pod),
        f"image: {image}",
        f"imagePullPolicy: {policy}",
        f"imagePullSecrets: {', '.join(secrets) or 'none'}" if about else "",
        container=item.name,
        image=image,
        pullPolicy=policy,
        pullSecrets=",".join(secrets) or "none",
    )
