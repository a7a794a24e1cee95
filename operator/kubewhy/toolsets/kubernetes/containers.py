"""A Pod's containers as lines: state, last exit, restarts, image, resources, probes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final

from kubewhy.toolsets.kubernetes import objects, texts

MESSAGE: Final = 600
COMMAND: Final = 200
_GROUPS: Final = (
    ("initContainers", "initContainerStatuses", "init container"),
    ("containers", "containerStatuses", "container"),
    ("ephemeralContainers", "ephemeralContainerStatuses", "ephemeral container"),
)


def statuses(pod: objects.Object) -> dict[str, objects.Object]:
    """The status of each container by its name, init and ephemeral ones included."""
    return {
        objects.text(status, "name"): status
        for _, group, _ in _GROUPS
        for status in objects.mappings(pod, "status", group)
    }


def lines(pod: objects.Object, now: datetime.datetime) -> Iterator[str]:
    """Two lines for each container; none for objects that are no Pods."""
    if objects.text(pod, "kind") != "Pod":
        return
    known = statuses(pod)
    for group, _, word in _GROUPS:
        for container in objects.mappings(pod, "spec", group):
            name = objects.text(container, "name")
            yield f"{word} {name}: {state(known.get(name, {}), now)}"
            yield f"  {_setup(container)}"


def state(status: objects.Object, now: datetime.datetime) -> str:
    """What the kubelet says about a container, the last exit included."""
    if not status:
        return "no status yet"
    ready = "ready" if status.get("ready") is True else "not ready"
    parts = [_phase(objects.mapping(status, "state"), now), ready]
    parts.append(f"restarts {objects.number(status, 'restartCount')}")
    last = objects.mapping(status, "lastState", "terminated")
    if last:
        parts.append(f"last exit: {exit_text(last, now)}")
    return "; ".join(parts)


def exit_text(ended: objects.Object, now: datetime.datetime) -> str:
    """A termination with reason, code, signal, time and message."""
    began, finished = objects.moment(ended, "startedAt"), objects.moment(ended, "finishedAt")
    parts = [
        f"{objects.text(ended, 'reason') or 'Terminated'} exit code {objects.text(ended, 'exitCode')}"
    ]
    if objects.number(ended, "signal"):
        parts.append(f"signal {objects.number(ended, 'signal')}")
    if finished:
        parts.append(f"{objects.age(now, finished)} ago")
    if began and finished:
        parts.append(f"after {objects.age(finished, began)}")
    message = texts.line(objects.text(ended, "message"), MESSAGE)
    return ", ".join(parts) + (f": {message}" if message else "")


def _phase(current: objects.Object, now: datetime.datetime) -> str:
    running, ended = objects.mapping(current, "running"), objects.mapping(current, "terminated")
    if running:
        return f"running for {objects.age(now, objects.moment(running, 'startedAt'))}"
    if ended:
        return f"terminated: {exit_text(ended, now)}"
    waiting = objects.mapping(current, "waiting")
    message = texts.line(objects.text(waiting, "message"), MESSAGE)
    return f"waiting {objects.text(waiting, 'reason')}" + (f" ({message})" if message else "")


def _setup(container: objects.Object) -> str:
    parts = [f"image {objects.text(container, 'image')}"]
    for group in ("requests", "limits"):
        found = objects.mapping(container, "resources", group)
        amounts = " ".join(f"{key}={item}" for key, item in found.items())
        parts.append(f"{group} {amounts or 'none'}")
    ports = ", ".join(_port(port) for port in objects.mappings(container, "ports"))
    parts.append(f"ports {ports or 'none declared'}")
    parts += [
        f"{word} {probe(container[key])}"
        for key, word in _PROBES
        if objects.mapping(container, key)
    ]
    return "; ".join(parts)


_PROBES: Final = (
    ("startupProbe", "startup"),
    ("livenessProbe", "liveness"),
    ("readinessProbe", "readiness"),
)


def _port(port: objects.Object) -> str:
    name = objects.text(port, "name")
    number = f"{objects.text(port, 'containerPort')}/{objects.text(port, 'protocol') or 'TCP'}"
    return f"{name} {number}" if name else number


def probe(value: objects.Object) -> str:
    """A probe as kubectl describes it: action, then its times and thresholds."""
    times = (
        f"delay={objects.number(value, 'initialDelaySeconds')}s",
        f"timeout={objects.number(value, 'timeoutSeconds') or 1}s",
        f"period={objects.number(value, 'periodSeconds') or 10}s",
        f"#failure={objects.number(value, 'failureThreshold') or 3}",
    )
    return " ".join((_action(value), *times))


def _action(value: objects.Object) -> str:
    http = objects.mapping(value, "httpGet")
    if http:
        scheme = objects.text(http, "scheme").lower() or "http"
        return f"{scheme}-get {objects.text(http, 'host')}:{objects.text(http, 'port')}{objects.text(http, 'path')}"
    if objects.mapping(value, "tcpSocket"):
        return f"tcp :{objects.text(value, 'tcpSocket', 'port')}"
    if objects.mapping(value, "grpc"):
        return f"grpc :{objects.text(value, 'grpc', 'port')}"
    command = objects.dig(value, "exec", "command")
    return (
        f"exec {texts.line(' '.join(map(str, command)), COMMAND)}"
        if isinstance(command, list)
        else "unknown action"
    )
