"""Programs that run and are ready, yet complain in their logs; only where the task is about what they answer."""

from __future__ import annotations

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import Diagnosis, Rule, action, inspect, quotes, short
from kubewhy.adapters.triage.rules import crash
from kubewhy.core import conclusion, loglines


def complaints(found: case.Case) -> Diagnosis | None:
    """The newest error line of a ready container."""
    if not found.about_answers:
        return None
    for item in containers.views(found):
        if item.running is None or item.failing:
            continue
        read = containers.cause(item)
        if read is None or (read[0].strength == 0 and not _telling(read[0])):
            continue
        owner = found.owner(item.running)
        mechanism = crash.kind_of(read[0])
        return Diagnosis(
            score=65,
            mechanism=mechanism,
            subject=owner,
            statement=f"Container {item.name} of {owner} runs, but reports: {short(read[0].text)}.",
            evidence=quotes(read[1]),
            confidence=conclusion.Confidence.MEDIUM,
            actions=(
                action(
                    "Read the log",
                    f"kubectl -n {found.namespace} logs {item.pod.partition('/')[2]} -c"
                    f" {item.name}",
                ),
                inspect(owner),
            ),
        )
    return None


def _telling(cause: loglines.Cause) -> bool:
    return crash.kind_of(cause) != "ApplicationError"


RULES: tuple[Rule, ...] = (complaints,)
