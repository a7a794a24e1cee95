"""The facts about one container taken together, and whether it is in trouble now or has recovered."""

from __future__ import annotations

import dataclasses

from kubewhy.adapters.triage import case
from kubewhy.core import conclusion, facts, loglines

STARTING = frozenset({"ContainerCreating", "PodInitializing", ""})
RECOVERED_SECONDS = 45
STEADY_SECONDS = 600
LONG_STEADY_SECONDS = 6 * 3600
_GO_ON_WHILE_READY = frozenset({"Unhealthy", "Killing", "BackOff"})
"""Reasons of KubeEvents that come again although the pod is ready for moments."""

RECENT_SECONDS = 900
"""KubeEvents older than this say nothing about now by themselves."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One container of one pod."""

    pod: str
    name: str
    waiting: case.Seen | None
    exit: case.Seen | None
    running: case.Seen | None
    logs: tuple[case.Seen, ...]
    empty: case.Seen | None
    unavailable: case.Seen | None
    resources: case.Seen | None

    @property
    def init(self) -> bool:
        """Whether it is an init container."""
        found = self.waiting or self.exit or self.running
        return found is not None and found.get("init") == "true"

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return max(
            (item.number("restarts") for item in (self.waiting, self.exit, self.running) if item),
            default=0,
        )

    @property
    def failed(self) -> bool:
        """Whether its newest end was a failure."""
        return self.exit is not None and (
            self.exit.number("exitCode") != 0 or self.exit.get("reason") not in {"", "Completed"}
        )

    @property
    def recovered(self) -> bool:
        """Whether it runs well again: much longer than its last life, or long at all after one restart."""
        if self.running is None or self.waiting or self.running.get("ready") == "false":
            return False
        up = self.running.number("upSeconds")
        life = self.exit.number("lifeSeconds") if self.exit else 0
        if up >= LONG_STEADY_SECONDS or (up >= STEADY_SECONDS and self.restarts <= 1):
            return True
        return up >= max(RECOVERED_SECONDS, 2 * life)

    @property
    def failing(self) -> bool:
        """Whether it is in trouble now because it ended."""
        if self.waiting and self.waiting.get("reason") not in STARTING:
            return True
        if self.exit is None:
            return False
        if self.failed:
            return not self.recovered
        return bool(self.waiting) and self.restarts > 0 and not self.init


def views(found: case.Case) -> list[View]:
    """All containers that facts speak of, the most decisive first."""
    kinds = ("ContainerWaiting", "ContainerTerminated", "ContainerRunning", "LogTail", "LogEmpty")
    keys = dict.fromkeys(
        (item.fact.object, item.get("container")) for item in found.seen if item.fact.kind in kinds
    )
    return [view(found, pod, name) for pod, name in keys]


def view(found: case.Case, pod: str, name: str) -> View:
    """The facts about one container."""
    exits = found.of("ContainerTerminated", pod, container=name)
    exits.sort(key=lambda item: item.get("current") != "true")
    return View(
        pod=pod,
        name=name,
        waiting=found.first("ContainerWaiting", pod, container=name),
        exit=exits[0] if exits else None,
        running=found.first("ContainerRunning", pod, container=name),
        logs=tuple(_logs(found, pod, name, exits[0] if exits else None)),
        empty=found.first("LogEmpty", pod, container=name),
        unavailable=found.first("LogUnavailable", pod, container=name),
        resources=found.first("ContainerResources", pod, container=name),
    )


def failing(found: case.Case) -> list[View]:
    """The containers that are in trouble now because they ended."""
    return [item for item in views(found) if item.failing]


def cause(item: View) -> tuple[loglines.Cause, conclusion.Evidence] | None:
    """The error that ended the container, and the log line to quote."""
    for log in item.logs:
        found = loglines.cause(log.fact.words)
        if found:
            return found, conclusion.Evidence(call=log.call, quote=found.headline)
    return None


def recent(item: case.Seen, seconds: int = RECENT_SECONDS) -> bool:
    """Whether a KubeEvent is new enough to say something about now."""
    over = item.get("readyNow") == "true" and item.get("reason") not in _GO_ON_WHILE_READY
    return item.number("agoSeconds") <= seconds and item.get("gone") != "true" and not over


def started(found: case.Case, pod: str) -> bool:
    """Whether any container of the pod has ever run: then its sandbox and volumes are in order."""
    return bool(found.of("ContainerRunning", pod) or found.of("ContainerTerminated", pod))


def _logs(found: case.Case, pod: str, name: str, ended: case.Seen | None) -> list[case.Seen]:
    """The logs of a container, that of its newest end first."""
    logs = [*found.of("LogTail", pod, container=name), *_asked_for(found, pod, name)]
    previous = "false" if ended is None or ended.get("current") == "true" else "true"
    logs.sort(key=lambda item: item.get("previous") != previous)
    return logs


def _asked_for(found: case.Case, pod: str, name: str) -> list[case.Seen]:
    """Logs that came from the logs tool, in the form of first_look's facts."""
    logs = []
    for attempt in found.attempts:
        arguments = attempt.arguments
        if attempt.tool != case.LOGS or attempt.status.value != "Success":
            continue
        if f"Pod/{arguments.get('name')}" != pod or arguments.get("container", name) != name:
            continue
        lines = tuple(line[2:] for line in attempt.text.split("\n") if line.startswith("> "))
        previous = "true" if arguments.get("previous") else "false"
        fact = facts.Fact(
            kind="LogTail",
            object=pod,
            fields={"container": name, "previous": previous},
            words=lines,
        )
        logs.append(case.Seen(fact, attempt.id))
    return logs
