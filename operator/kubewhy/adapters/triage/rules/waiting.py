"""Pods that are held up by something that runs for ever: an init container that waits, a hook, a starting program."""

from __future__ import annotations

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import (
    Diagnosis,
    Rule,
    action,
    inspect,
    kubectl,
    quotes,
    short,
)
from kubewhy.core import conclusion

_PATIENCE_SECONDS = 20


def init_hangs(found: case.Case) -> Diagnosis | None:
    """An init container runs and does not end."""
    for view in containers.views(found):
        running = view.running
        if (
            not view.init
            or running is None
            or running.number("upSeconds") < _PATIENCE_SECONDS
            or running.get("ready") == "true"
        ):
            continue
        owner = found.owner(running)
        log = next((log for log in view.logs if log.fact.words), None)
        last = log.fact.words[-1] if log else ""
        wide = found.first("SpecSetting", setting="maxUnavailable")
        more = (
            f"; the rollout may take all pods down at once (maxUnavailable {wide.get('value')})"
            if wide
            else ""
        )
        return Diagnosis(
            score=76 if last else 59,
            mechanism="InitContainerWaits",
            subject=owner,
            statement=(
                f"Init container {view.name} of {owner} does not end, so its pods never start:"
                f" {short(last, 300) or 'its log is empty'}{more}."
            ),
            evidence=quotes(
                conclusion.Evidence(call=log.call, quote=last) if log else None,
                running.quote(),
                wide.quote() if wide else None,
            ),
            confidence=conclusion.Confidence.MEDIUM,
            actions=(
                action(
                    "Read its log",
                    kubectl(owner, "logs", view.pod.partition("/")[2], "-c", view.name),
                ),
                inspect(owner),
            ),
        )
    return None


def never_ready(found: case.Case) -> Diagnosis | None:
    """A container runs without being ready and nothing says why."""
    for view in containers.views(found):
        if (
            view.running is None
            or view.init
            or view.running.get("ready") != "false"
            or view.failing
        ):
            continue
        owner = found.owner(view.running)
        read = containers.cause(view)
        return Diagnosis(
            score=54,
            mechanism="NotReady",
            subject=owner,
            statement=f"Container {view.name} of {owner} runs but is not ready"
            + (
                f"; its log ends with: {short(read[0].text)}."
                if read
                else ", and nothing says why."
            ),
            evidence=quotes(view.running.quote(), read[1] if read else None),
            confidence=conclusion.Confidence.LOW,
            verdict=conclusion.Verdict.INCONCLUSIVE,
            actions=(inspect(owner),),
            next_checks=("what its readiness probe asks, and what the program answers",),
        )
    return None


RULES: tuple[Rule, ...] = (init_hangs, never_ready)
