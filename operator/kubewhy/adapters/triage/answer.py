"""From explanations to the structured answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from kubewhy.adapters.triage import asking, case, healthy
from kubewhy.adapters.triage.diagnosis import WEAK, Diagnosis, quotes, short
from kubewhy.adapters.triage.rules import RULES
from kubewhy.core import conclusion, subjects

NO_LANGUAGE_MODEL: Final = (
    "No language model was used: the built-in triage rules made this answer from what the tools"
    " returned."
)
SUMMARY_LENGTH: Final = 256
MOST_FINDINGS: Final = 6
WORTH_A_FINDING: Final = 40
_HURTS: Final = frozenset({"pods", "events", "pods/log"})


def conclude(found: case.Case) -> dict[str, Any]:
    """The answer in the form of `core.conclusion.CONCLUDE`."""
    ranked = sorted(_diagnoses(found), key=lambda item: -item.score)
    strong = [item for item in ranked if item.score >= WEAK]
    proof = healthy.health(found)
    if strong and not (proof and strong[0].verdict is conclusion.Verdict.INCONCLUSIVE):
        return _explained(found, strong[0], ranked[1:])
    if proof:
        return _well(found, proof, ranked)
    return _open(found, ranked)


def _diagnoses(found: case.Case) -> list[Diagnosis]:
    return [item for rule in RULES if (item := rule(found)) and item.evidence]


def _explained(found: case.Case, best: Diagnosis, others: Sequence[Diagnosis]) -> dict[str, Any]:
    added = [_rollout(found, best), _order(found, best)]
    statement = "".join((best.statement, *(text for text, _ in added)))
    statement = statement[: conclusion.STATEMENT_LENGTH]
    evidence = quotes(*best.evidence, *(item for _, proof in added for item in proof))
    cause = {
        "statement": statement,
        "mechanism": best.mechanism,
        "subject": _subject(best.subject),
        "confidence": best.confidence.value,
        "evidence": [_evidence(item) for item in evidence],
    }
    answer: dict[str, Any] = {
        "verdict": best.verdict.value,
        "summary": short(best.statement, SUMMARY_LENGTH),
        "rootCause": cause,
        "findings": _findings(found, best, others),
        "ruledOut": _ruled_out(found, best),
        "blindSpots": [*best.next_checks, *_blind_spots(found)],
        "actions": [_action(item) for item in best.actions],
    }
    if best.verdict is conclusion.Verdict.INCONCLUSIVE:
        answer["actions"] += [{"description": f"Check {text}"} for text in best.next_checks]
    return answer


def _rollout(found: case.Case, best: Diagnosis) -> tuple[str, tuple[conclusion.Evidence, ...]]:
    """That the fault came with a rollout, where the older revision still serves or the deadline has passed."""
    if best.subject.kind != "Deployment" or best.mechanism in {
        "ProgressDeadlineExceeded",
        "ScaledToZero",
        "RolloutPaused",
    }:
        return "", ()
    late = next(
        (
            item
            for item in found.of(
                "ObjectCondition", str(best.subject), type="Progressing", status="False"
            )
            if item.get("reason") == "ProgressDeadlineExceeded"
        ),
        None,
    )
    old = next(
        (item for item in found.of("ReplicaSetState", newest="false") if item.number("ready") > 0),
        None,
    )
    if late is None and old is None:
        return "", ()
    change = found.first("RevisionChange")
    what = (
        f", which changed {change.get('field')} of container {change.get('container')}"
        if change
        else ""
    )
    number = f" of revision {change.get('toRevision')}" if change else ""
    text = f" The rollout{number}{what} is stuck by this" + (
        "; the older revision still serves." if old else "."
    )
    return text, quotes(
        late.quote() if late else None, change.quote("revision") if change else None
    )


def _order(found: case.Case, best: Diagnosis) -> tuple[str, tuple[conclusion.Evidence, ...]]:
    """Of a StatefulSet that starts its pods in order: which ordinal holds up the rest."""
    policy = found.first("SpecSetting", str(best.subject), setting="podManagementPolicy")
    pods = [item for item in found.of("PodState") if found.owner(item) == best.subject]
    replicas = found.first("WorkloadReplicas", str(best.subject))
    if best.subject.kind != "StatefulSet" or policy is None or not pods or replicas is None:
        return "", ()
    if policy.get("value") != "OrderedReady" or replicas.number("desired") < 2:  # noqa: PLR2004 - one pod waits for none
        return "", ()
    pod = pods[0].fact.object.partition("/")[2]
    text = (
        f" Pod {pod} (ordinal {pod.rpartition('-')[2]}) holds up the ones after it (OrderedReady)."
    )
    return text, quotes(policy.quote())


def _findings(
    found: case.Case, best: Diagnosis, others: Sequence[Diagnosis]
) -> list[dict[str, Any]]:
    """The other explanations, and the workload's numbers; each with its proof."""
    findings = [
        _finding(item.statement, item.evidence)
        for item in others
        if item.score >= WORTH_A_FINDING and item.statement != best.statement
    ]
    replicas = found.first("WorkloadReplicas")
    if replicas:
        text = (
            f"{replicas.fact.object}: {replicas.get('ready')} of {replicas.get('desired')} replicas"
            " are ready."
        )
        findings.append(_finding(text, quotes(replicas.quote("status:"))))
    return findings[:MOST_FINDINGS]


def _ruled_out(found: case.Case, best: Diagnosis) -> list[dict[str, Any]]:
    """Near explanations that a fact excludes."""
    ruled = []
    exits = found.of("ContainerTerminated")
    failed = next((item for item in exits if item.get("reason") == "Error"), None)
    if failed and best.mechanism not in {"OOMKilled", "KilledBySignal", "NodeOutOfMemory"}:
        ruled.append(
            _finding(
                "Out of memory: the container's end has reason Error, not OOMKilled.",
                quotes(failed.quote("terminated")),
            )
        )
    herring = next(
        (
            item
            for item in found.of("ReplicaSetState", newest="false")
            if item.number("desired") == 0 and best.subject.kind == "Deployment"
        ),
        None,
    )
    if herring:
        ruled.append(
            _finding(
                f"The older {herring.fact.object}: it runs no pods any more.",
                quotes(herring.quote("revision")),
            )
        )
    return ruled


def _well(found: case.Case, proof: healthy.Health, ranked: Sequence[Diagnosis]) -> dict[str, Any]:
    resolved = " The alert is resolved." if found.resolved else ""
    recovered = f" It recovered: {proof.past[0].statement}" if proof.past else ""
    findings = [_finding(f"{proof.statement}.", proof.evidence)]
    findings += [_finding(item.statement, item.evidence) for item in proof.past]
    findings += [
        _finding(item.statement, item.evidence)
        for item in ranked
        if WORTH_A_FINDING <= item.score < WEAK
    ]
    return {
        "verdict": conclusion.Verdict.NO_PROBLEM_FOUND.value,
        "summary": short(
            f"No current fault: {proof.statement}.{resolved}{recovered}", SUMMARY_LENGTH
        ),
        "findings": findings[:MOST_FINDINGS],
        "ruledOut": [],
        "blindSpots": _blind_spots(found),
        "actions": [],
    }


def _open(found: case.Case, ranked: Sequence[Diagnosis]) -> dict[str, Any]:
    """Nothing explains it: what was seen, what is missing."""
    findings = [_finding(item.statement, item.evidence) for item in ranked] + _seen(found)
    return {
        "verdict": conclusion.Verdict.INCONCLUSIVE.value,
        "summary": short(_why_open(found), SUMMARY_LENGTH),
        "findings": findings[:MOST_FINDINGS],
        "ruledOut": [],
        "blindSpots": _blind_spots(found),
        "actions": _open_actions(found),
    }


def _why_open(found: case.Case) -> str:
    gone = _gone(found)
    if gone:
        return _why_gone(found, gone)
    failed = next(
        (
            attempt
            for attempt in found.attempts
            if attempt.status.value not in {"Success", "NoData"}
        ),
        None,
    )
    if failed and not found.seen:
        return (
            f"The cause was not found: {failed.tool} gave {failed.status.value}:"
            f" {short(failed.text, 160)}"
        )
    if not asking.candidates(found):
        return (
            "The cause was not found: the task names no object, and neither do the alerts' labels."
        )
    if not found.attempts:
        return "The cause was not found: no tool that the triage rules can use was offered."
    forbidden = found.first("ReadFailed", reason="Forbidden")
    if forbidden:
        return (
            f"The cause was not found: a read was forbidden ({forbidden.get('verb')}"
            f" {forbidden.get('resource')})."
        )
    return "The cause was not found: what the tools returned fits none of the triage rules."


def _why_gone(found: case.Case, gone: case.Attempt) -> str:
    first = gone.text.split("\n")[0]
    if "serves no kind" in first and " not found" not in first:
        return f"The cause was not found: {short(first)}."
    near = re.search(r"^names that come near: (.+)$", gone.text, re.MULTILINE)
    named = f"{gone.arguments.get('kind', '')} {gone.arguments.get('name', '')}".strip() or first
    where = f" in namespace {found.namespace}" if " not found in namespace " in first else ""
    return f"{named} was not found{where}." + (
        f" The nearest existing name is {near[1]}." if near else ""
    )


def _gone(found: case.Case) -> case.Attempt | None:
    if found.seen and found.first("LookedAt"):
        return None
    return next(
        (
            attempt
            for attempt in found.attempts
            if attempt.status.value == "NotFound" and attempt.tool == case.FIRST_LOOK
        ),
        None,
    )


def _seen(found: case.Case) -> list[dict[str, Any]]:
    """What the tools showed, for a reader who must go on alone."""
    gone = _gone(found)
    findings = []
    if gone:
        line = gone.text.split("\n")[0]
        findings.append(
            _finding(
                short(line),
                quotes(conclusion.Evidence(call=gone.id, quote=line[: conclusion.QUOTE_LENGTH])),
            )
        )
    events = [item for item in found.of("KubeEvent") if item.fact.words]
    findings += [
        _finding(
            f"{item.fact.object}: {item.get('reason')}: {short(item.text)}", quotes(item.quote())
        )
        for item in events[:4]
    ]
    replicas = found.first("WorkloadReplicas")
    if replicas:
        text = (
            f"{replicas.fact.object}: {replicas.get('ready')} of {replicas.get('desired')} replicas"
            " are ready."
        )
        findings.append(_finding(text, quotes(replicas.quote("status:"))))
    for attempt in found.attempts:
        if attempt.tool != case.FIRST_LOOK and attempt.status.value == "Success":
            lines = [
                line
                for line in attempt.text.split("\n")
                if re.search(r"Warning|Failed|Error|BackOff", line)
            ]
            findings += [
                _finding(
                    short(line),
                    quotes(
                        conclusion.Evidence(call=attempt.id, quote=line[: conclusion.QUOTE_LENGTH])
                    ),
                )
                for line in lines[:3]
            ]
    return findings


def _open_actions(found: case.Case) -> list[dict[str, Any]]:
    subject = found.asked or next(iter(asking.candidates(found)), None)
    place = f"kubectl -n {found.namespace}"
    if subject is None:
        return [
            {
                "description": "Look at the newest KubeEvents",
                "command": f"{place} get events --sort-by=.lastTimestamp",
            }
        ]
    if _gone(found):
        return [
            {
                "description": f"List what there is of kind {subject.kind}",
                "command": f"{place} get {subject.kind.lower()}",
            }
        ]
    return [
        {
            "description": f"Look at {subject}",
            "command": f"{place} describe {subject.kind.lower()} {subject.name}",
        }
    ]


def _blind_spots(found: case.Case) -> list[str]:
    spots = []
    for item in found.of("ReadFailed"):
        if item.get("reason") == "BudgetSpent":
            continue
        name = item.fact.object.partition("/")[2]
        where = "" if name == "*" else f" {name}"
        spots.append(
            f"{item.get('reason')}: could not {item.get('verb')} {item.get('resource')}{where}:"
            f" {short(item.text, 300)}"
        )
    spots += [
        f"{attempt.status.value}: {attempt.tool}: {short(attempt.text, 300)}"
        for attempt in found.attempts
        if attempt.status.value not in {"Success", "NoData", "NotFound"}
    ]
    spots.append(NO_LANGUAGE_MODEL)
    return list(dict.fromkeys(spots))


def _subject(of: subjects.Subject) -> dict[str, str]:
    values = {
        "apiVersion": of.api_version,
        "kind": of.kind,
        "name": of.name,
        "namespace": of.namespace,
    }
    return {name: value for name, value in values.items() if value}


def _evidence(item: conclusion.Evidence) -> dict[str, str]:
    return {"call": item.call, "quote": item.quote}


def _finding(statement: str, evidence: tuple[conclusion.Evidence, ...]) -> dict[str, Any]:
    return {
        "statement": statement[: conclusion.STATEMENT_LENGTH],
        "evidence": [_evidence(item) for item in evidence],
    }


def _action(item: conclusion.Action) -> dict[str, str]:
    return (
        {"description": item.description, "command": item.command}
        if item.command
        else {"description": item.description}
    )
