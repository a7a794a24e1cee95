"""Facts from container logs: the lines that matter, verbatim."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.core import loglines
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Log, Snapshot

FAILING_LINES = 36
HEALTHY_LINES = 10


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """One fact per log that was read."""
    for index, log in enumerate(shot.logs):
        yield _log(shot, log, first=index < 2)  # noqa: PLR2004 - the first two belong to the worst container


def _log(shot: Snapshot, log: Log, *, first: bool) -> Ranked:
    of = objects.Ref("Pod", log.pod)
    shared = {"container": log.container, "previous": "true" if log.previous else "false"}
    which = "previous" if log.previous else "current"
    if log.problem:
        return ranked(60, "LogUnavailable", of, log.problem, **shared)
    if not log.lines:
        words = f"log of the {which} container {log.container}: empty, {log.total_bytes} bytes"
        return ranked(74, "LogEmpty", of, words, **shared)
    failing = _failing(shot, log)
    lines = loglines.excerpt(log.lines, most=FAILING_LINES if failing else HEALTHY_LINES)
    weight = (94 if first else 77) if failing else 36
    cut = "true" if log.cut or len(lines) < len(log.lines) else ""
    return ranked(weight, "LogTail", of, *lines, **shared, lines=len(log.lines), cut=cut)


def _failing(shot: Snapshot, log: Log) -> bool:
    """Whether the log belongs to a container that ended badly or is not ready."""
    pod = next((pod for pod in shot.focus if objects.name(pod) == log.pod), {})
    item = next((item for item in podstate.containers(pod) if item.name == log.container), None)
    if item is None:
        return log.previous
    return log.previous or podstate.failed(item.terminated) or not (item.ready or item.finished)
