"""The structured answer: the `conclude` tool's schema, reading it tolerantly, and checking its evidence.

Evidence counts only if its quote stands verbatim in the stored output of the call that it names (design.md §7): at
least 12 characters, or a whole line. Alert text and arguments don't count, because they are not observations.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from kubewhy.api import bounds, values
from kubewhy.core import subjects, tools

SHORTEST_QUOTE = 12
"""Characters that a quote needs unless it is a whole line of the output."""

STATEMENT_LENGTH = bounds.STATEMENT
QUOTE_LENGTH = bounds.QUOTE
LIST_LENGTH = bounds.FINDINGS


class Verdict(enum.StrEnum):
    """What the run came to."""

    ROOT_CAUSE_FOUND = "RootCauseFound"
    NO_PROBLEM_FOUND = "NoProblemFound"
    INCONCLUSIVE = "Inconclusive"


Confidence = values.Confidence
"""How sure the model says that it is."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A quote of the output of call `call`; `verified` is the engine's word, never the model's."""

    call: str
    quote: str
    verified: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An observed fact (or, in `ruled_out`, an excluded cause) with its evidence."""

    statement: str
    evidence: tuple[Evidence, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """The concluding explanation; `mechanism` is one CamelCase word such as OOMKilled."""

    statement: str
    mechanism: str = ""
    subject: subjects.Subject | None = None
    confidence: Confidence = Confidence.LOW
    evidence: tuple[Evidence, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A next step for a person; `command` is ready to paste, or ""."""

    description: str
    command: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A model's answer. `summary` is one line."""

    verdict: Verdict
    summary: str
    root_cause: RootCause | None = None
    findings: tuple[Finding, ...] = ()
    ruled_out: tuple[Finding, ...] = ()
    blind_spots: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()


_EVIDENCE: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "call": {"type": "string", "description": "Id of the tool call, such as 1-0."},
            "quote": {
                "type": "string",
                "description": "Text copied verbatim from that call's output: a whole line, or at least 12 characters.",
            },
        },
        "required": ["call", "quote"],
    },
}
_FINDINGS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"statement": {"type": "string"}, "evidence": _EVIDENCE},
        "required": ["statement"],
    },
}

CONCLUDE = tools.ToolSpec(
    name="conclude",
    toolset="kubewhy",
    description=(
        "End the investigation with the answer. Every claim needs evidence: verbatim quotes of tool outputs. "
        "Use NoProblemFound when the object is healthy now, Inconclusive when the cause was not found."
    ),
    parameters={
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": [verdict.value for verdict in Verdict]},
            "summary": {"type": "string", "description": "One line, at most 256 characters."},
            "rootCause": {
                "type": "object",
                "properties": {
                    "statement": {"type": "string"},
                    "mechanism": {
                        "type": "string",
                        "description": "One CamelCase word, such as OOMKilled.",
                    },
                    "subject": {
                        "type": "object",
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "name": {"type": "string"},
                            "namespace": {"type": "string"},
                        },
                        "required": ["kind", "name"],
                    },
                    "confidence": {"type": "string", "enum": [level.value for level in Confidence]},
                    "evidence": _EVIDENCE,
                },
                "required": ["statement", "evidence"],
            },
            "findings": _FINDINGS,
            "ruledOut": _FINDINGS,
            "blindSpots": {"type": "array", "items": {"type": "string"}},
            "actions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "description": {"type": "string"},
                        "command": {"type": "string"},
                    },
                    "required": ["description"],
                },
            },
        },
        "required": ["verdict", "summary"],
    },
)


def read(value: Mapping[str, Any]) -> Conclusion:
    """Read an answer, keeping what can be read: wrong types and unknown words are dropped, long texts cut.

    Raises:
        ValueError: neither a verdict nor a summary nor a root cause is there.
    """
    cause = _root_cause(value.get("rootCause") or value.get("root_cause"))
    summary = _line(value.get("summary")) or (_line(cause.statement) if cause else "")
    if not summary:
        raise ValueError("the answer has neither a summary nor a root cause")
    return Conclusion(
        verdict=_verdict(value.get("verdict"), cause),
        summary=summary,
        root_cause=cause,
        findings=_findings(value.get("findings")),
        ruled_out=_findings(value.get("ruledOut") or value.get("ruled_out")),
        blind_spots=tuple(_text(item) for item in _items(value.get("blindSpots")) if _text(item)),
        actions=_actions(value.get("actions")),
    )


def verify(conclusion: Conclusion, outputs: Mapping[str, str]) -> Conclusion:
    """Check every quote against the stored outputs (call id → text) and lower the verdict where proof is missing.

    RootCauseFound needs one verified quote for its root cause, else the run is Inconclusive; a root cause under
    another verdict is kept only when the verdict is Inconclusive.
    """
    cause = conclusion.root_cause
    if cause:
        cause = dataclasses.replace(cause, evidence=_checked(cause.evidence, outputs))
    proven = cause is not None and any(item.verified for item in cause.evidence)
    verdict = conclusion.verdict
    if verdict is Verdict.ROOT_CAUSE_FOUND and not proven:
        verdict = Verdict.INCONCLUSIVE
    return dataclasses.replace(
        conclusion,
        verdict=verdict,
        root_cause=None if verdict is Verdict.NO_PROBLEM_FOUND else cause,
        findings=tuple(_checked_finding(item, outputs) for item in conclusion.findings),
        ruled_out=tuple(_checked_finding(item, outputs) for item in conclusion.ruled_out),
    )


def quoted(quote: str, output: str) -> bool:
    """Whether the quote proves anything: verbatim in the output, and long enough or a whole line."""
    quote = quote.strip("\n")
    bare = quote.strip().removeprefix("> ")
    if not bare or quote not in output:
        return False
    lines = (line.strip().removeprefix("> ") for line in output.splitlines())
    return len(bare) >= SHORTEST_QUOTE or bare in lines


def _checked(evidence: tuple[Evidence, ...], outputs: Mapping[str, str]) -> tuple[Evidence, ...]:
    return tuple(
        dataclasses.replace(item, verified=quoted(item.quote, outputs.get(item.call, "")))
        for item in evidence
    )


def _checked_finding(finding: Finding, outputs: Mapping[str, str]) -> Finding:
    return dataclasses.replace(finding, evidence=_checked(finding.evidence, outputs))


def _verdict(value: object, cause: RootCause | None) -> Verdict:
    for verdict in Verdict:
        if str(value).replace("_", "").lower() == verdict.value.lower():
            return verdict
    return Verdict.ROOT_CAUSE_FOUND if cause else Verdict.INCONCLUSIVE


def _root_cause(value: object) -> RootCause | None:
    if isinstance(value, str) and value.strip():
        return RootCause(statement=_text(value))
    if not isinstance(value, Mapping) or not _text(value.get("statement")):
        return None
    return RootCause(
        statement=_text(value.get("statement")),
        mechanism=_word(value.get("mechanism")),
        subject=_subject(value.get("subject")),
        confidence=_confidence(value.get("confidence")),
        evidence=_evidence(value.get("evidence")),
    )


def _confidence(value: object) -> Confidence:
    return next(
        (level for level in Confidence if level.lower() == str(value).lower()), Confidence.LOW
    )


def _subject(value: object) -> subjects.Subject | None:
    if not isinstance(value, Mapping):
        return None
    kind, name = _word(value.get("kind")), _line(value.get("name"))
    if not kind or not name:
        return None
    return subjects.Subject(
        kind=kind,
        name=name[:253],
        api_version=_line(value.get("apiVersion"))[:128],
        namespace=_line(value.get("namespace"))[:63],
    )


def _evidence(value: object) -> tuple[Evidence, ...]:
    found = (item for item in _items(value) if isinstance(item, Mapping))
    return tuple(
        Evidence(call=_line(item.get("call"))[:64], quote=str(item["quote"])[:QUOTE_LENGTH])
        for item in found
        if isinstance(item.get("quote"), str) and item["quote"].strip()
    )


def _findings(value: object) -> tuple[Finding, ...]:
    found = (
        Finding(statement=item) if isinstance(item, str) else _finding(item)
        for item in _items(value)
    )
    return tuple(item for item in found if item and item.statement)


def _finding(value: object) -> Finding | None:
    if not isinstance(value, Mapping):
        return None
    return Finding(
        statement=_text(value.get("statement")), evidence=_evidence(value.get("evidence"))
    )


def _actions(value: object) -> tuple[Action, ...]:
    found = (
        Action(description=item)
        if isinstance(item, str)
        else Action(description=_text(item.get("description")), command=_text(item.get("command")))
        for item in _items(value)
        if isinstance(item, str | Mapping)
    )
    return tuple(action for action in found if action.description)


def _items(value: object) -> list[Any]:
    return value[:LIST_LENGTH] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value.strip()[:STATEMENT_LENGTH] if isinstance(value, str) else ""


def _line(value: object) -> str:
    return " ".join(value.split())[:256] if isinstance(value, str) else ""


def _word(value: object) -> str:
    return "".join(letter for letter in _text(value)[:64] if letter.isalnum())
