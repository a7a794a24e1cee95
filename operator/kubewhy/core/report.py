"""The answer as Markdown for people: what was found, on which evidence, and what could not be seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubewhy.api import bounds
from kubewhy.core import conclusion, state, transcript

_NEEDS_ESCAPE = str.maketrans({"<": "&lt;", ">": "&gt;", "|": "\\|"})


def render(current: state.State) -> str:
    """The report of a concluded run, at most `bounds.REPORT` characters; "" before the end."""
    if current.concluded is None:
        return ""
    return transcript.excerpt("\n".join(_lines(current)), bounds.REPORT - 64)


def _lines(current: state.State) -> Iterator[str]:
    end = current.concluded
    if end is None:
        return
    yield f"# {end.reason}: {_inert(end.message)}"
    if end.conclusion is not None:
        yield from _answer(end.conclusion)
    yield from _calls(current)


def _answer(answer: conclusion.Conclusion) -> Iterator[str]:
    cause = answer.root_cause
    if cause is not None:
        yield "\n## Root cause\n"
        where = f" ({cause.subject})" if cause.subject else ""
        yield f"{_inert(cause.statement)}{where}. Confidence: {cause.confidence}."
        yield from _evidence(cause.evidence)
    yield from _findings("Findings", answer.findings)
    yield from _findings("Ruled out", answer.ruled_out)
    if answer.blind_spots:
        yield "\n## Not seen\n"
        yield from (f"- {_inert(spot)}" for spot in answer.blind_spots)
    if answer.actions:
        yield "\n## Next steps\n"
        for action in answer.actions:
            yield f"- {_inert(action.description)}"
            if action.command:
                yield f"\n      {_inert(action.command)}\n"


def _findings(title: str, findings: Iterable[conclusion.Finding]) -> Iterator[str]:
    found = tuple(findings)
    if found:
        yield f"\n## {title}\n"
    for finding in found:
        yield f"- {_inert(finding.statement)}"
        yield from _evidence(finding.evidence)


def _evidence(evidence: Iterable[conclusion.Evidence]) -> Iterator[str]:
    for item in evidence:
        mark = "" if item.verified else " (not found in that output)"
        for line in item.quote.splitlines():
            yield f"  > {_inert(line)}"
        yield f"  — call {item.call}{mark}"


def _calls(current: state.State) -> Iterator[str]:
    calls = tuple(current.calls())
    if calls:
        yield "\n## Tool calls\n"
    for call in calls:
        status = call.result.status if call.result else "not finished"
        yield f"- {call.call.id} {_inert(call.call.tool)} {_inert(call.call.arguments[:200])}: {status}"


def _inert(text: str) -> str:
    """Text from outside, made unable to open a tag or a table cell."""
    return text.translate(_NEEDS_ESCAPE)
