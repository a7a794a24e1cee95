"""A Pod's containers as lines: state, last exit, restarts, image, resources, probes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final

from kubewhy.toolsets.kubernetes import objects, shapes, texts

MESSAGE: Final = 600
COMMAND: Final = 200
_GROUPS: Final = (
    ("initContainers", "initContainerStatuses", "init container"),
    ("containers", "containerStatuses", "container"),
    ("ephemeralContainers", "ephemeralContainerStatuses", "ephemeral container"),
)


def statuses(pod: shapes.Object) -> dict[str, shapes.Object]:
    """The status of each container by its name, init and ephemeral ones included."""
    return {
        shapes.text(status, "name"): status
        for _, group, _ in _GROUPS
        for status in shapes.mappings(pod, "status", group)
    }


def lines(pod: shapes.Object, now: datetime.datetime) -> Iterator[str]:
    """Two lines for each container; none for objects that are no Pods."""
    if shapes.text(pod, "kind") != "Pod":
        return
    known = statuses(pod)
    for group, _, word in _GROUPS:
        for container in shapes.mappings(pod, "spec", group):
            name = shapes.text(container, "name")
            yield f"{word} {name}: {state(known.get(name, {}), now)}"
            yield f"  {_setup(container)}"


def state(status: shapes.Object, now: datetime.datetime) -> str:
    """What the kubelet says about a container, the last exit included."""
    if not status:
        return "no status yet"
    ready = "ready" if status.get("ready") is True else "not ready"
    parts = [_phase(shapes.mapping(status, "state"), now), ready]
    parts.append(f"restarts {shapes.number(status, 'restartCount')}")
    last = shapes.mapping(status, "lastState", "terminated")
    if last:
        parts.append(f"last exit: {exit_text(last, now)}")
    return "; ".join(parts)


def exit_text(ended: shapes.Object, now: datetime.datetime) -> str:
    """A termination with reason, code, signal, time and message."""
    began, finished = shapes.moment(ended, "startedAt"), shapes.moment(ended, "finishedAt")
    parts = [
        f"{shapes.text(ended, 'reason') or 'Terminated'} exit code {shapes.text(ended, 'exitCode')}"
    ]
    if shapes.number(ended, "signal"):
        parts.append(f"signal {shapes.number(ended, 'signal')}")
    if finished:
        parts.append(f"{objects.age(now, finished)} ago")
    if began and finished:
        parts.append(f"after {objects.age(finished, began)}")
    message = texts.line(shapes.text(ended, "message"), MESSAGE)
    return ", ".join(parts) + (f": {message}" if message else "")


def _phase(current: shapes.Object, now: datetime.datetime) -> str:
    running, ended = shapes.mapping(current, "running"), shapes.mapping(current, "terminated")
    if running:
        return f"running for {objects.age(now, shapes.moment(running, 'startedAt'))}"
    if ended:
        return f"terminated: {exit_text(ended, now)}"
    waiting = shapes.mapping(current, "waiting")
    message = texts.line(shapes.text(waiting, "message"), MESSAGE)
    return f"waiting {shapes.text(waiting, 'reason')}" + (f" ({message})" if message else "")


def _setup(container: shapes.Object) -> str:
    parts = [f"image {shapes.text(container, 'image')}"]
    for group in ("requests", "limits"):
        found = shapes.mapping(container, "resources", group)
        amounts = " ".join(f"{key}={item}" for key, item in found.items())
        parts.append(f"{group} {amounts or 'none'}")
    ports = ", ".join(_port(port) for port in shapes.mappings(container, "ports"))
    parts.append(f"ports {ports or 'none declared'}")
    parts += [
        f"{word} {probe(container[key])}" for key, word in _PROBES if shapes.mapping(container, key)
    ]
    return "; ".join(parts)


_PROBES: Final = (
    ("startupProbe", "startup"),
    ("livenessProbe", "liveness"),
    ("readinessProbe", "readiness"),
)


def _port(port: shapes.Object) -> str:
    name = shapes.text(port, "name")
    number = f"{shapes.text(port, 'containerPort')}/{shapes.text(port, 'protocol') or 'TCP'}"
    return f"{name} {number}" if name else number


def probe(value: shapes.Object) -> str:
    """A probe as kubectl describes it: action, then its times and thresholds."""
    times = (
        f"delay={shapes.number(value, 'initialDelaySeconds')}s",
        f"timeout={shapes.number(value, 'timeoutSeconds') or 1}s",
        f"period={shapes.number(value, 'periodSeconds') or 10}s",
        f"#failure={shapes.number(value, 'failureThreshold') or 3}",
    )
    return " ".join((_action(value), *times))


def _action(value: shapes.Object) -> str:
    http = shapes.mapping(value, "httpGet")
    if http:
        scheme = shapes.text(http, "scheme").lower() or "http"
        return f"{scheme}-get {shapes.text(http, 'host')}:{shapes.text(http, 'port')}{shapes.text(http, 'path')}"
    if shapes.mapping(value, "tcpSocket"):
        return f"tcp :{shapes.text(value, 'tcpSocket', 'port')}"
    if shapes.mapping(value, "grpc"):
        return f"grpc :{shapes.text(value, 'grpc', 'port')}"
    command = shapes.dig(value, "exec", "command")
    return (
        f"exec {texts.line(' '.join(map(str, command)), COMMAND)}"
        if isinstance(command, list)
        else "unknown action"
    )
