"""Facts about Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.making import workloads
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

MOST_JOBS = 3


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The Job and CronJob in the owner chain, and a CronJob's newest Jobs."""
    chain = (shot.subject, *shot.owners)
    jobs = objects.of_kind(chain, "Job") or list(shot.jobs[:MOST_JOBS])
    for job in jobs:
        yield _job(shot, job)
        if job is not shot.workload:
            yield from workloads.conditions(shot, job)
    for cron in objects.of_kind(chain, "CronJob")[:1]:
        yield _cron(shot, cron)


def _job(shot: Snapshot, job: shapes.Object) -> Ranked:
    spec, status = shapes.mapping(job, "spec"), shapes.mapping(job, "status")
    counts = {key: shapes.number(status, key) for key in ("active", "succeeded", "failed")}
    deadline = shapes.text(spec, "activeDeadlineSeconds")
    limit = shapes.number(spec, "backoffLimit", default=6)
    suspended = spec.get("suspend") is True
    words = [
        f"status: {' '.join(f'{key}={value}' for key, value in counts.items())}",
        f"spec.backoffLimit: {limit}",
    ]
    if deadline:
        words.append(f"spec.activeDeadlineSeconds: {deadline}")
    if suspended:
        words.append("spec.suspend: true")
    return ranked(
        76 if counts["failed"] else 51,
        "JobState",
        objects.ref(job),
        *words,
        **counts,
        backoffLimit=limit,
        deadlineSeconds=deadline,
        suspended="true" if suspended else "",
        ageSeconds=podstate.age(shot.now, job),
        completedSeconds=objects.seconds(shot.now, shapes.moment(status, "completionTime")),
    )


def _cron(shot: Snapshot, cron: shapes.Object) -> Ranked:
    spec, status = shapes.mapping(cron, "spec"), shapes.mapping(cron, "status")
    suspended = spec.get("suspend") is True
    active = [shapes.text(row, "name") for row in shapes.mappings(status, "active")]
    policy = shapes.text(spec, "concurrencyPolicy") or "Allow"
    words = [f"schedule: {shapes.text(spec, 'schedule')} concurrencyPolicy: {policy}"]
    if suspended:
        words.append("spec.suspend: true")
    words += [
        f"status.{key}: {shapes.text(status, key)}"
        for key in ("lastScheduleTime", "lastSuccessfulTime")
        if shapes.text(status, key)
    ]
    if active:
        words.append(f"status.active: {', '.join(active)}")
    return ranked(
        88 if suspended else 61,
        "CronJobState",
        objects.ref(cron),
        *words,
        schedule=shapes.text(spec, "schedule"),
        suspended="true" if suspended else "false",
        policy=policy,
        active=",".join(active),
        lastScheduleSeconds=objects.seconds(shot.now, shapes.moment(status, "lastScheduleTime")),
        lastSuccessSeconds=objects.seconds(shot.now, shapes.moment(status, "lastSuccessfulTime")),
        deadlineSeconds=shapes.text(spec, "startingDeadlineSeconds"),
    )
