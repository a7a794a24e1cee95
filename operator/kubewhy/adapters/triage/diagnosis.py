"""What a rule says: one explanation with its proof and how strongly it speaks."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable

from kubewhy.adapters.triage import case
from kubewhy.core import conclusion, subjects


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One explanation.

    `score` compares explanations: 100 names the fault itself, 60 a symptom that has a cause of its own, below
    `WEAK` is worth a finding only. `verdict` is Inconclusive where the facts show where, but not why.
    `narrow` is an object to look at next, because it may hold the cause behind this explanation.
    """

    score: int
    mechanism: str
    subject: subjects.Subject
    statement: str
    evidence: tuple[conclusion.Evidence, ...]
    confidence: conclusion.Confidence = conclusion.Confidence.HIGH
    actions: tuple[conclusion.Action, ...] = ()
    verdict: conclusion.Verdict = conclusion.Verdict.ROOT_CAUSE_FOUND
    next_checks: tuple[str, ...] = ()


WEAK = 50
"""Below this score an explanation is a finding, not a root cause."""

Rule = Callable[[case.Case], Diagnosis | None]


def quotes(*found: conclusion.Evidence | None) -> tuple[conclusion.Evidence, ...]:
    """Evidence without gaps and repeats."""
    return tuple(dict.fromkeys(item for item in found if item and item.quote.strip()))


def kubectl(of: subjects.Subject | case.Case, *words: str) -> str:
    """A kubectl command that can be pasted; in the object's namespace where it has one."""
    place = ["-n", of.namespace] if of.namespace else []
    return shlex.join(["kubectl", *place, *words])


def target(of: subjects.Subject) -> str:
    """An object as kubectl takes it: `deployment/checkout`."""
    return f"{of.kind.lower()}/{of.name}"


def called(of: subjects.Subject) -> str:
    """An object in a sentence: `Deployment/checkout`."""
    return str(of)


def action(description: str, command: str = "") -> conclusion.Action:
    """A next step."""
    return conclusion.Action(description=description, command=command)


def inspect(of: subjects.Subject) -> conclusion.Action:
    """Look at the object."""
    return action(f"Look at {of}", kubectl(of, "describe", of.kind.lower(), of.name))


def short(text: str, limit: int = 400) -> str:
    """A text cut to a limit, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
