"""Jobs and CronJobs."""

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
    target,
)
from kubewhy.core import conclusion, subjects

_MISSED_SECONDS = 2 * 24 * 3600


def failed_job(found: case.Case) -> Diagnosis | None:
    """A Job has given up."""
    item = next(
        (
            seen
            for seen in found.of("ObjectCondition", type="Failed", status="True")
            if seen.fact.object.startswith("Job/")
        ),
        None,
    )
    if item is None:
        return None
    job = found.named(item.fact.object)
    reason = item.get("reason")
    state = found.first("JobState", item.fact.object)
    if reason == "DeadlineExceeded":
        limit = state.get("deadlineSeconds") if state else ""
        return Diagnosis(
            score=92,
            mechanism="DeadlineExceeded",
            subject=job,
            statement=(
                f"{job} was ended because it ran longer than its activeDeadlineSeconds of"
                f" {limit or 'unknown'} s (DeadlineExceeded)."
            ),
            evidence=quotes(item.quote(), state.quote("activeDeadlineSeconds") if state else None),
            actions=(inspect(job),),
        )
    return _gave_up(found, job, item, state)


def _gave_up(
    found: case.Case, job: subjects.Subject, item: case.Seen, state: case.Seen | None
) -> Diagnosis:
    view = next((view for view in containers.views(found) if view.failed), None)
    read = containers.cause(view) if view else None
    code = view.exit.get("exitCode") if view and view.exit else ""
    oom = bool(view and view.exit and view.exit.get("reason") == "OOMKilled")
    limit = f" (BackoffLimit {state.get('backoffLimit')})" if state else ""
    why = ""
    if view and oom:
        memory = view.resources.get("limitMemory") if view.resources else ""
        why = (
            f" because container {view.name} is OOMKilled at its memory limit of {memory or 'none'}"
        )
    elif view and read:
        why = f" because container {view.name} exits with code {code}: {short(read[0].text)}"
    return Diagnosis(
        score=96 if why else 75,
        mechanism=item.get("reason") or "JobFailed",
        subject=job,
        statement=f"{job} failed with {item.get('reason')}{limit}{why}.",
        evidence=quotes(
            read[1] if read else None,
            item.quote(),
            view.exit.quote("terminated") if view and view.exit else None,
            state.quote("backoffLimit") if state else None,
        ),
        confidence=conclusion.Confidence.HIGH if why else conclusion.Confidence.MEDIUM,
        actions=(
            action("Read the log of the Job's pods", kubectl(job, "logs", target(job))),
            inspect(job),
        ),
    )


def suspended(found: case.Case) -> Diagnosis | None:
    """A CronJob or Job that is told not to run."""
    item = found.first("CronJobState", suspended="true") or found.first(
        "JobState", suspended="true"
    )
    if item is None:
        return None
    owner = found.named(item.fact.object)
    return Diagnosis(
        score=90,
        mechanism="Suspended",
        subject=owner,
        statement=f"{owner} is suspended (spec.suspend: true), so it starts nothing.",
        evidence=quotes(item.quote("suspend")),
        actions=(
            action(
                "Let it run again",
                kubectl(
                    owner,
                    "patch",
                    target(owner),
                    "--type=merge",
                    "-p",
                    '{"spec":{"suspend":false}}',
                ),
            ),
        ),
    )


def blocked_cron(found: case.Case) -> Diagnosis | None:
    """concurrencyPolicy Forbid, and the old Job does not end."""
    item = found.first("CronJobState", policy="Forbid")
    if item is None or not item.get("active"):
        return None
    event = found.first("KubeEvent", reason="JobAlreadyActive")
    cron = found.named(item.fact.object)
    done = next(
        (
            view
            for view in containers.views(found)
            if view.exit and view.exit.get("current") == "true" and not view.init
        ),
        None,
    )
    runs = next(
        (
            view
            for view in containers.views(found)
            if view.running and not view.exit and done and view.pod == done.pod
        ),
        None,
    )
    if event is None and runs is None:
        return None
    why = (
        f": its container {done.name} has ended, but the sidecar {runs.name} is still running and"
        " never exits"
        if done and runs
        else ""
    )
    return Diagnosis(
        score=91 if runs else 80,
        mechanism="CronJobBlocked",
        subject=cron,
        statement=(
            f"{cron} starts no new Job because Job {item.get('active')} is still active and"
            f" concurrencyPolicy is Forbid{why}."
        ),
        evidence=quotes(
            event.quote() if event else None,
            item.quote("status.active"),
            done.exit.quote() if done and done.exit else None,
            runs.running.quote() if runs and runs.running else None,
        ),
        actions=(inspect(cron),),
    )


def missed(found: case.Case) -> Diagnosis | None:
    """The controller has counted too many missed start times."""
    event = next(
        (
            item
            for item in found.of("KubeEvent")
            if "missed start time" in item.text
            or item.get("reason") in {"TooManyMissedTimes", "MissSchedule"}
        ),
        None,
    )
    item = found.first("CronJobState")
    if item is None or event is None:
        return None
    cron = found.named(item.fact.object)
    return Diagnosis(
        score=82,
        mechanism="MissedSchedule",
        subject=cron,
        statement=f"{cron} missed its schedule: {short(event.text)}",
        evidence=quotes(event.quote(), item.quote("lastScheduleTime")),
        actions=(inspect(cron),),
    )


RULES: tuple[Rule, ...] = (failed_job, suspended, blocked_cron, missed)
