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
    why, mechanism, more = _why(found, event, kind, probe, view)
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
        why, mechanism, more = _why(found, event, "readiness", probe, view)
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


def _why(
    found: case.Case, event: case.Seen, kind: str, probe: case.Seen | None, view: containers.View
) -> tuple[str, str, tuple[conclusion.Evidence | None, ...]]:
    """What is wrong with the probe: (sentence, mechanism, further evidence)."""
    text, word = event.text, f"{kind.capitalize()}Probe"
    if probe is None:
        return "the probe gets no good answer", f"{word}Failed", ()
    place = (
        f"path {probe.get('path')} on port {probe.get('port')}"
        if probe.get("path")
        else f"port {probe.get('port')}"
    )
    refused = re.search(r"connection refused|no route to host", text)
    if refused and probe.get("portDeclared") == "false":
        ports = next((line for line in probe.fact.words if line.startswith("ports of")), "")
        return (
            f"it asks port {probe.get('port')}, where nothing listens; the {ports}",
            f"{word}WrongPort",
            (probe.quote("ports of"),),
        )
    if "HTTP response to HTTPS client" in text or "malformed HTTP response" in text:
        return (
            f"it uses the wrong scheme {probe.get('scheme')} for {place}",
            f"{word}WrongScheme",
            (),
        )
    status = re.search(r"statuscode: (\d+)", text)
    if status and status[1] in {"404", "405"}:
        return (
            f"{place} answers with status code {status[1]}: the path is wrong",
            f"{word}WrongPath",
            (),
        )
    if status:
        return f"{place} answers with status code {status[1]}", f"{word}Failed", ()
    slow = (
        refused
        and kind == "liveness"
        and probe.get("startupProbe") == "false"
        and _starting(view, probe)
    )
    if slow:
        patience = probe.number("initialDelaySeconds") + probe.number(
            "periodSeconds", 10
        ) * probe.number("failureThreshold", 3)
        return (
            (
                "the program starts slowly and has no startupProbe: the probe gives it about"
                f" {patience} s (initialDelaySeconds {probe.number('initialDelaySeconds')})"
            ),
            "SlowStart",
            (_start_line(view),),
        )
    if re.search(r"deadline exceeded|timed? ?out|Timeout", text):
        return (
            (
                f"it gets no answer within its timeout of {probe.number('timeoutSeconds', 1)}"
                f" s{_hasty(probe)}"
            ),
            f"{word}Timeout",
            (),
        )
    if refused:
        return f"nothing listens on port {probe.get('port')}{_hasty(probe)}", f"{word}Refused", ()
    if probe.get("handler") == "exec":
        return f"its command fails{_hasty(probe)}", f"{word}Failed", ()
    return f"it gets no good answer{_hasty(probe)}", f"{word}Failed", ()


def _hasty(probe: case.Seen) -> str:
    """Timing that kills at the first hiccup."""
    if probe.number("failureThreshold", 3) == 1:
        return (
            "; it is aggressive: failureThreshold 1 with periodSeconds"
            f" {probe.number('periodSeconds', 10)}"
        )
    return ""


def _starting(view: containers.View, probe: case.Seen) -> bool:
    """Whether each life ended about when the probe lost its patience, with a log that speaks of starting."""
    patience = probe.number("initialDelaySeconds") + probe.number("periodSeconds", 10) * (
        probe.number("failureThreshold", 3) + 1
    )
    life = view.exit.number("lifeSeconds") if view.exit else 0
    grace = 35
    return _start_line(view) is not None or 0 < life <= patience + grace


def _start_line(view: containers.View) -> conclusion.Evidence | None:
    for log in view.logs:
        for line in reversed(log.fact.words):
            if _STARTING.search(line):
                return conclusion.Evidence(call=log.call, quote=line)
    return None


RULES: tuple[Rule, ...] = (killing, not_ready)
