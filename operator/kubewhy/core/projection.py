"""From state to `status`: a pure function, so status can be rebuilt from the journal at any time."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from collections.abc import Iterable

from kubewhy.api import bounds, conditions, status
from kubewhy.core import conclusion, messages, records, report, state, subjects, tools, transcript

TARGET_BYTES = 128 * 1024
"""Size of the JSON that a status usually stays under (design.md §5)."""


_TRACE_SIZES = ((bounds.EXCERPT, bounds.TRACE), (512, bounds.TRACE), (128, 100), (0, 50))
"""Characters per excerpt and number of calls that are tried in turn until the status fits."""


COLUMN_WIDTH = 80
"""Most characters of the subject as a column shows it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the projection needs to know of the object besides the run's state.

    `epoch` is that of the claim in status, which the journal may not know yet.
    """

    name: str
    uid: str
    generation: int
    created: datetime.datetime
    batches: int = 0
    epoch: int = 0
    held: bool = True


def pending(source: Source) -> status.InvestigationStatus:
    """The status on the first visit: all known conditions, nothing started."""
    return status.InvestigationStatus(
        observed_generation=source.generation,
        conditions=conditions.initial(now=source.created, generation=source.generation),
    )


def project(current: state.State, source: Source) -> status.InvestigationStatus:
    """The whole status, its trace shortened step by step until it fits `TARGET_BYTES`."""
    calls = sum(1 for _ in current.calls())
    projected = _projected(current, source, trace=(), complete=not calls)
    for excerpt, entries in _TRACE_SIZES:
        trace = _trace(current, source, excerpt=excerpt, entries=entries)
        projected = _projected(current, source, trace=trace, complete=entries >= calls)
        if _size(projected) <= TARGET_BYTES:
            return projected
    return _minimal(projected)


def _size(projected: status.InvestigationStatus) -> int:
    return len(projected.model_dump_json(by_alias=True, exclude_none=True).encode())


def ending(current: state.State, source: Source) -> status.InvestigationStatus:
    """The end without its large parts: written first, so that it is never lost to its size.

    `finished` and the claim are left as they are, so that after a crash the next holder writes the rest.
    """
    held = dataclasses.replace(source, held=True)
    return small(project(current, held)).model_copy(update={"finished": None})


def small(whole: status.InvestigationStatus) -> status.InvestigationStatus:
    """The status without its large parts."""
    return whole.model_copy(update={"trace": (), "report": None, "findings": (), "ruled_out": ()})


def _minimal(whole: status.InvestigationStatus) -> status.InvestigationStatus:
    found = tuple(
        conditions.condition(
            conditions.TraceCompleteReason.TRUNCATED,
            now=each.last_transition_time,
            generation=each.observed_generation,
        )
        if each.type == conditions.ConditionType.TRACE_COMPLETE.value
        else each
        for each in whole.conditions
    )
    return small(whole).model_copy(update={"conditions": found})


def _projected(
    current: state.State, source: Source, *, trace: tuple[status.TraceCall, ...], complete: bool
) -> status.InvestigationStatus:
    opened, end = current.opened, current.concluded
    answer = end.conclusion if end else None
    return status.InvestigationStatus(
        observed_generation=source.generation,
        conditions=_conditions(current, source, complete=complete),
        start_time=opened.at if opened else None,
        completion_time=end.at if end else None,
        subject=_subject_text(current),
        cost=_cost(current.usage.cost_micro_usd),
        steps=len(current.steps),
        tool_calls=current.executed_calls,
        usage=_usage(current),
        summary=_one_line(answer.summary if answer else end.message) if end else None,
        root_cause=_root_cause(answer.root_cause) if answer and answer.root_cause else None,
        findings=_findings(answer.findings) if answer else (),
        ruled_out=_findings(answer.ruled_out) if answer else (),
        blind_spots=_blind_spots(current, answer) if end else (),
        actions=_actions(answer.actions) if answer else (),
        report=report.render(current) or None,
        trace=trace,
        finished=True if end else None,
        claim=status.Claim(
            holder=current.holder if source.held else "", epoch=max(source.epoch, current.epoch)
        ),
        records=status.Records(count=source.batches, events=current.event_count),
        runtime=_runtime(current),
    )


def _conditions(
    current: state.State, source: Source, *, complete: bool
) -> tuple[conditions.Condition, ...]:
    end = current.concluded
    started = current.opened.at if current.opened else source.created
    ended = end.at if end else source.created
    trace = conditions.TraceCompleteReason
    outcome = trace.COMPLETE if complete else trace.TRUNCATED
    trace_reason = outcome if end else trace.UNDECIDED
    delivered = conditions.DeliveredReason
    succeeded, message = _succeeded(current)
    found = (
        (succeeded, ended, message),
        (conditions.AwaitingApprovalReason.NOTHING_PENDING, started, ""),
        _alert_resolved(current, started),
        (conditions.AttentionNeededReason.AS_EXPECTED, started, ""),
        (trace_reason, ended, ""),
        (delivered.NO_DESTINATION if end else delivered.UNDECIDED, ended, ""),
    )
    return tuple(
        conditions.condition(reason, now=at, message=text, generation=source.generation)
        for reason, at, text in found
    )


def _succeeded(current: state.State) -> tuple[conditions.SucceededReason, str]:
    reasons = conditions.SucceededReason
    if current.concluded is not None:
        return conditions.succeeded_reason(current.concluded.reason), current.concluded.message
    if current.suspended:
        return reasons.SUSPENDED, ""
    return reasons.RUNNING, ""


def _alert_resolved(
    current: state.State, started: datetime.datetime
) -> tuple[conditions.Reason, datetime.datetime, str]:
    if current.alerts_resolved_at is not None:
        return conditions.AlertResolvedReason.RESOLVED, current.alerts_resolved_at, ""
    if current.opened is not None and current.opened.task.alerts:
        return conditions.AlertResolvedReason.FIRING, started, ""
    return conditions.AlertResolvedReason.NO_ALERT, started, ""


def _subject_text(current: state.State) -> str | None:
    if current.opened is None:
        return None
    task = current.opened.task
    if task.subject is not None:
        return _column(str(task.subject))
    return _column(f"Alert/{task.alerts[0].name or 'unnamed'}") if task.alerts else None


def _column(text: str) -> str:
    """Short enough for a column of kubectl's table."""
    return text if len(text) <= COLUMN_WIDTH else text[: COLUMN_WIDTH - 1] + "…"


def _cost(micro_usd: int) -> str:
    """Display form: thousandths of a dollar, rounded up so that no cost reads as none."""
    thousandths = -(-micro_usd // 1000)
    return f"${thousandths // 1000}.{thousandths % 1000:03d}" if micro_usd else "$0"


def _usage(current: state.State) -> status.Usage:
    usage: messages.Usage = current.usage
    return status.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost_micro_usd=usage.cost_micro_usd,
        unaccounted_calls=current.unaccounted_calls,
    )


def _root_cause(cause: conclusion.RootCause) -> status.RootCause:
    return status.RootCause(
        statement=cause.statement,
        mechanism=cause.mechanism or None,
        subject=_reference(cause.subject),
        confidence=cause.confidence,
        evidence=_evidence(cause.evidence),
    )


def _reference(subject: subjects.Subject | None) -> status.ObjectReference | None:
    if subject is None:
        return None
    return status.ObjectReference(
        api_version=subject.api_version or None,
        kind=subject.kind,
        namespace=subject.namespace or None,
        name=subject.name,
    )


def _evidence(evidence: Iterable[conclusion.Evidence]) -> tuple[status.Evidence, ...]:
    return tuple(
        status.Evidence(call=item.call, quote=item.quote, verified=item.verified)
        for item in evidence
    )


def _findings(findings: Iterable[conclusion.Finding]) -> tuple[status.Finding, ...]:
    return tuple(
        status.Finding(statement=item.statement, evidence=_evidence(item.evidence))
        for item in findings
    )


def _actions(actions: Iterable[conclusion.Action]) -> tuple[status.Action, ...]:
    return tuple(
        status.Action(description=item.description, command=item.command or None)
        for item in actions
    )


_NOT_SEEN = frozenset(
    {
        tools.ToolStatus.ERROR,
        tools.ToolStatus.FORBIDDEN,
        tools.ToolStatus.TIMED_OUT,
        tools.ToolStatus.INTERRUPTED,
    }
)


def _blind_spots(
    current: state.State, answer: conclusion.Conclusion | None
) -> tuple[status.BlindSpot, ...]:
    """What the run could not look at: its failed calls, which no model can hide, and what the model names itself."""
    failed = [
        status.BlindSpot(
            call=call.call.id,
            tool=call.call.tool,
            status=call.result.status,
            message=_one_line(call.result.text) or "no text",
        )
        for call in current.calls()
        if call.result is not None and call.result.status in _NOT_SEEN
    ]
    named = [status.BlindSpot(message=text) for text in (answer.blind_spots if answer else ())]
    return tuple((failed + named)[: bounds.BLIND_SPOTS])


def _trace(
    current: state.State, source: Source, *, excerpt: int, entries: int
) -> tuple[status.TraceCall, ...]:
    found = [
        _trace_call(call, step.number, source, excerpt)
        for step in current.steps
        for call in step.calls
    ]
    return tuple(found[:entries])


def _trace_call(call: state.CallState, step: int, source: Source, excerpt: int) -> status.TraceCall:
    result = call.result
    stored_apart = result is not None and call.executed and not result.inline
    return status.TraceCall(
        id=call.call.id,
        step=step,
        tool=call.call.tool or "unnamed",
        arguments=call.call.arguments[: bounds.ARGUMENTS],
        status=result.status if result else None,
        started_at=call.started_at,
        duration_ms=result.duration_ms if result else None,
        bytes=result.total_bytes if result else None,
        excerpt=transcript.excerpt(result.text, excerpt * 7 // 8) if result and excerpt else None,
        truncated=result.truncated or len(result.text) > excerpt * 7 // 8 if result else None,
        record=records.output_name(source.name, source.uid, result.digest)
        if result and stored_apart
        else None,
    )


def _runtime(current: state.State) -> status.Runtime | None:
    opened = current.opened
    if opened is None:
        return None
    offered = tools.canonical([dataclasses.asdict(spec) for spec in opened.tools])
    return status.Runtime(
        version=opened.version or None,
        model=opened.model,
        prompt_digest=_digest(opened.system),
        toolset_digest=_digest(offered),
        limits=status.EffectiveLimits(**dataclasses.asdict(opened.limits)),
    )


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[: bounds.SUMMARY]
