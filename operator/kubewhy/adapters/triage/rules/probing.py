"""Probes that kill a running program or keep it out of service."""

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
from kubewhy.core import conclusion

_GRACE_SECONDS = 35
_REFUSED = re.compile(r"connection refused|no route to host")
_STARTING = re.compile(
    r"start(?:ing|ed in|up)|initiali[sz]|loading|warm|boot|migrat|sleep|wait", re.IGNORECASE
)


def killing(found: case.Case) -> Diagnosis | None:
    """The liveness or startup probe fails, and the kubelet restarts the container for it."""
    for event in found.of("KubeEvent", reason="Unhealthy"):
        kind = next(
            (kind for kind in ("Liveness", "Startup") if event.text.startswith(f"{kind} probe")), ""
        )
        if not kind or not containers.recent(event):
            continue
        probe = _probe(found, event, kind.lower())
        view = containers.view(found, event.fact.object, probe.get("container")) if probe else None
        if view is None or _fine(view):
            continue
        return _killed(found, event, kind.lower(), probe, view)
    return None


def _fine(view: containers.View) -> bool:
    """It was never restarted, or not for long enough ago."""
    if view.running and view.running.get("ready") == "true":
        return view.restarts == 0 or view.recovered
    return False


def _killed(
    found: case.Case, event: case.Seen, kind: str, probe: case.Seen | None, view: containers.View
) -> Diagnosis:
    owner = found.owner(event)
    kill = next(
        (
            seen
            for seen in found.of("KubeEvent", event.fact.object, reason="Killing")
            if "probe" in seen.text
        ),
        None,
    )
    why, mechanism, more = _why(event, kind, probe, view)
    return Diagnosis(
        score=93,
        mechanism=mechanism,
        subject=owner,
        statement=(
            f"The {kind} probe of container {view.name} of {owner} fails, so the kubelet restarts"
            f" it: {why} ({short(event.text, 300)})"
        ),
        evidence=quotes(
            event.quote(), kill.quote() if kill else None, probe.quote() if probe else None, *more
        ),
        confidence=conclusion.Confidence.HIGH if probe else conclusion.Confidence.MEDIUM,
        actions=(
            action(f"Correct the {kind} probe", kubectl(owner, "edit", target(owner))),
            inspect(owner),
        ),
    )


def not_ready(found: case.Case) -> Diagnosis | None:
    """The readiness probe fails: the pod runs, but gets no traffic."""
    for event in found.of("KubeEvent", reason="Unhealthy"):
        if not event.text.startswith("Readiness probe") or not containers.recent(event):
            continue
        probe = _probe(found, event, "readiness")
        view = containers.view(found, event.fact.object, probe.get("container")) if probe else None
        if (
            view is None
            or probe is None
            or view.running is None
            or view.running.get("ready") == "true"
            or view.failing
        ):
            continue
        owner = found.owner(event)
        why, mechanism, more = _why(event, "readiness", probe, view)
        return Diagnosis(
            score=89,
            mechanism=mechanism,
            subject=owner,
            statement=(
                f"The readiness probe of container {view.name} of {owner} fails, so its pods run"
                f" but are not ready: {why} ({short(event.text, 300)})"
            ),
            evidence=quotes(event.quote(), probe.quote(), view.running.quote(), *more),
            actions=(
                action(
                    "Correct the readiness probe or what it asks",
                    kubectl(owner, "edit", target(owner)),
                ),
                inspect(owner),
            ),
        )
    return None


def _probe(found: case.Case, event: case.Seen, kind: str) -> case.Seen | None:
    """The probe that an event is about; with several containers, the one in trouble."""
    probes = found.of("Probe", event.fact.object, probe=kind)
    probes.sort(
        key=lambda item: (
            found.first(
                "ContainerRunning", event.fact.object, container=item.get("container"), ready="true"
            )
            is not None
        )
    )
    return probes[0] if probes else None


_Reading = tuple[str, str, tuple[conclusion.Evidence | None, ...]]
"""What is wrong with the probe: a sentence, the end of the mechanism's name, further evidence."""


def _why(
    event: case.Seen, kind: str, probe: case.Seen | None, view: containers.View
) -> tuple[str, str, tuple[conclusion.Evidence | None, ...]]:
    """What is wrong with the probe: (sentence, mechanism, further evidence)."""
    word = f"{kind.capitalize()}Probe"
    if probe is None:
        return "the probe gets no good answer", f"{word}Failed", ()
    reads = (read(event.text, kind, probe, view) for read in _READINGS)
    found = next((reading for reading in reads if reading), None)
    if found is None:
        what = "its command fails" if probe.get("handler") == "exec" else "it gets no good answer"
        found = (f"{what}{_hasty(probe)}", "Failed", ())
    why, mechanism, more = found
    return why, mechanism if mechanism == "SlowStart" else f"{word}{mechanism}", more


def _wrong_port(text: str, _kind: str, probe: case.Seen, _view: containers.View) -> _Reading | None:
    if not _REFUSED.search(text) or probe.get("portDeclared") != "false":
        return None
    ports = next((line for line in probe.fact.words if line.startswith("ports of")), "")
    why = f"it asks port {probe.get('port')}, where nothing listens; the {ports}"
    return why, "WrongPort", (probe.quote("ports of"),)


def _wrong_scheme(
    text: str, _kind: str, probe: case.Seen, _view: containers.View
) -> _Reading | None:
    if "HTTP response to HTTPS client" not in text and "malformed HTTP response" not in text:
        return None
    return f"it uses the wrong scheme {probe.get('scheme')} for {_place(probe)}", "WrongScheme", ()


def _status(text: str, _kind: str, probe: case.Seen, _view: containers.View) -> _Reading | None:
    read = re.search(r"statuscode: (\d+)", text)
    if not read:
        return None
    wrong = read[1] in {"404", "405"}
    why = f"{_place(probe)} answers with status code {read[1]}"
    return why + (": the path is wrong" if wrong else ""), "WrongPath" if wrong else "Failed", ()


def _slow(text: str, kind: str, probe: case.Seen, view: containers.View) -> _Reading | None:
    if not _REFUSED.search(text) or kind != "liveness" or probe.get("startupProbe") != "false":
        return None
    if not _starting(view, probe):
        return None
    delay = probe.number("initialDelaySeconds")
    why = (
        "the program starts slowly and has no startupProbe: the probe gives it about"
        f" {_patience(probe)} s (initialDelaySeconds {delay})"
    )
    return why, "SlowStart", (_start_line(view),)


def _timeout(text: str, _kind: str, probe: case.Seen, _view: containers.View) -> _Reading | None:
    if not re.search(r"deadline exceeded|timed? ?out|Timeout", text):
        return None
    seconds = probe.number("timeoutSeconds", 1)
    return f"it gets no answer within its timeout of {seconds} s{_hasty(probe)}", "Timeout", ()


def _refused(text: str, _kind: str, probe: case.Seen, _view: containers.View) -> _Reading | None:
    if not _REFUSED.search(text):
        return None
    return f"nothing listens on port {probe.get('port')}{_hasty(probe)}", "Refused", ()


_READINGS = (_wrong_port, _wrong_scheme, _status, _slow, _timeout, _refused)


def _place(probe: case.Seen) -> str:
    port = f"port {probe.get('port')}"
    return f"path {probe.get('path')} on {port}" if probe.get("path") else port


def _patience(probe: case.Seen) -> int:
    """Seconds from the start until the probe gives up for the first time."""
    period = probe.number("periodSeconds", 10)
    return probe.number("initialDelaySeconds") + period * probe.number("failureThreshold", 3)


def _hasty(probe: case.Seen) -> str:
    """Timing that kills at the first hiccup."""
    if probe.number("failureThreshold", 3) == 1:
        return (
            "; it is aggressive: failureThreshold 1 with periodSeconds"
            f" {probe.number('periodSeconds', 10)}"
        )
    return ""


def _starting(view: containers.View, probe: case.Seen) -> bool:
    """Whether each life ended about when the probe lost its patience, or the log speaks of starting."""
    life = view.exit.number("lifeSeconds") if view.exit else 0
    spare = probe.number("periodSeconds", 10) + _GRACE_SECONDS
    return _start_line(view) is not None or 0 < life <= _patience(probe) + spare


def _start_line(view: containers.View) -> conclusion.Evidence | None:
    for log in view.logs:
        for line in reversed(log.fact.words):
            if _STARTING.search(line):
                return conclusion.Evidence(call=log.call, quote=line)
    return None


RULES: tuple[Rule, ...] = (killing, not_ready)
