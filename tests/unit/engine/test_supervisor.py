"""One task per Investigation, whatever wakes us: late, doubled and lost events make no difference."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

import crash_world as world_
from kubewhy.api import investigation
from kubewhy.core import snapshots
from kubewhy.engine import inbox, supervisor


def _snapshot(name: str = "a", **changes: Any) -> snapshots.Snapshot:
    base = snapshots.Snapshot(
        key=snapshots.RunKey(namespace="shop", name=name, uid=f"uid-{name}"),
        resource_version="1",
        generation=1,
        created=world_.START,
        spec=investigation.InvestigationSpec(question="why?"),
    )
    return dataclasses.replace(base, **changes)


def _spec(**changes: Any) -> investigation.InvestigationSpec:
    return investigation.InvestigationSpec(question="why?", **changes)


class Job:
    """Work that ends when it is told to, and records what it saw."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.boxes: dict[str, inbox.Inbox] = {}
        self.cancelled: list[str] = []
        self.waited: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.failures: dict[str, Exception] = {}

    async def work(self, snapshot: snapshots.Snapshot, box: inbox.Inbox) -> None:
        name = snapshot.key.name
        self.started.append(name)
        self.boxes[name] = box
        try:
            if name in self.failures:
                raise self.failures.pop(name)
            await self.ends.setdefault(name, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise

    async def on_wait(self, snapshot: snapshots.Snapshot) -> None:
        self.waited.append(snapshot.key.name)


@pytest.fixture
def job() -> Job:
    return Job()


def _supervisor(job: Job, concurrent: int = 5) -> supervisor.Supervisor:
    return supervisor.Supervisor(job.work, concurrent=concurrent, on_wait=job.on_wait)


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_same_object_seen_many_times_has_one_task(job: Job) -> None:
    boss = _supervisor(job)
    for _ in range(5):
        boss.observe(_snapshot())
        await _settle()
    assert job.started == ["a"]
    await boss.stop()


@pytest.mark.parametrize(
    "changes",
    [{"finished": True}, {"deleting": True}, {"reason": "Suspended", "spec": _spec(suspend=True)}],
)
async def test_an_object_at_rest_starts_nothing(job: Job, changes: dict[str, Any]) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot(**changes))
    await _settle()
    assert job.started == []


async def test_a_suspended_run_that_is_cancelled_is_worked_on(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot(reason="Suspended", spec=_spec(suspend=True, cancel=True)))
    await _settle()
    assert job.started == ["a"]
    await boss.stop()


async def test_no_more_than_the_limit_work_at_once_and_the_rest_wait_in_order(job: Job) -> None:
    boss = _supervisor(job, concurrent=2)
    for name in "abcd":
        boss.observe(_snapshot(name))
    await _settle()
    assert job.started == ["a", "b"]
    assert job.waited == ["c", "d"]
    job.ends["b"].set()
    await _settle()
    assert job.started == ["a", "b", "c"]
    await boss.stop()


async def test_cancelling_one_that_waits_needs_no_slot(job: Job) -> None:
    boss = _supervisor(job, concurrent=1)
    boss.observe(_snapshot("a"))
    await _settle()
    boss.observe(_snapshot("b", spec=_spec(cancel=True)))
    await _settle()
    assert job.started == ["a", "b"]
    await boss.stop()


async def test_cancelling_one_that_is_already_waiting_needs_no_slot(job: Job) -> None:
    boss = _supervisor(job, concurrent=1)
    boss.observe(_snapshot("a"))
    boss.observe(_snapshot("b"))
    await _settle()
    boss.observe(_snapshot("b", spec=_spec(cancel=True)))
    await _settle()
    assert job.started == ["a", "b"]
    await boss.stop()


async def test_wishes_reach_the_running_task(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot())
    await _settle()
    boss.observe(_snapshot(spec=_spec(cancel=True)))
    assert job.boxes["a"].wishes.cancel
    assert job.boxes["a"].changed.is_set()
    await boss.stop()


async def test_other_peoples_labels_wake_nobody(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot())
    await _settle()
    boss.observe(_snapshot(resource_version="2"))
    assert not job.boxes["a"].changed.is_set()
    await boss.stop()


async def test_a_vanished_object_is_cancelled_and_marked_as_gone(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot())
    await _settle()
    boss.forget(_snapshot().key)
    await _settle()
    assert job.cancelled == ["a"]
    assert job.boxes["a"].gone
    assert boss.known == 0


async def test_an_object_in_deletion_counts_as_gone(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot())
    await _settle()
    boss.observe(_snapshot(deleting=True))
    await _settle()
    assert job.cancelled == ["a"]


async def test_a_list_names_what_is_missing_from_it(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    boss.observe(_snapshot("b"))
    await _settle()
    assert boss.missing([_snapshot("b")]) == [_snapshot("a").key]
    await boss.stop()


async def test_a_run_that_fails_does_not_end_the_others_and_is_tried_again(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervisor, "BACKOFF_SECONDS", (0.0,))
    job.failures["a"] = RuntimeError("a bug")
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    boss.observe(_snapshot("b"))
    await _settle()
    await asyncio.sleep(0.01)
    boss.observe(_snapshot("a"))
    await _settle()
    assert job.started == ["a", "b", "a"]
    assert "a bug" in caplog.text
    await boss.stop()


async def test_wishes_that_come_as_the_task_ends_are_looked_at_again(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot(spec=_spec(suspend=True)))
    await _settle()
    job.ends["a"].set()
    boss.observe(_snapshot(spec=_spec(suspend=False)))
    await _settle()
    assert job.started == ["a", "a"]
    await boss.stop()


async def test_nothing_starts_after_stop(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    await _settle()
    await boss.stop()
    boss.observe(_snapshot("b"))
    await _settle()
    assert job.started == ["a"]
    assert job.cancelled == ["a"]


async def test_a_run_that_failed_is_tried_again_without_being_seen_again(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACKOFF_SECONDS", (0.01,))
    job.failures["a"] = RuntimeError("a bug")
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    await asyncio.sleep(0.1)
    assert job.started == ["a", "a"]
    await boss.stop()


async def test_cancelling_a_run_that_failed_does_not_wait_for_the_pause(job: Job) -> None:
    job.failures["a"] = RuntimeError("a bug")
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    await _settle()
    boss.observe(_snapshot("a", generation=2, spec=_spec(cancel=True)))
    await _settle()
    assert job.started == ["a", "a"]
    assert job.boxes["a"].wishes.cancel
    await boss.stop()


async def test_a_list_that_is_older_than_the_watch_takes_no_wish_back(job: Job) -> None:
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    await _settle()
    boss.observe(_snapshot("a", generation=2, spec=_spec(suspend=True)))
    boss.observe(_snapshot("a", generation=1))
    assert job.boxes["a"].wishes.suspend
    await boss.stop()


async def test_nothing_is_left_of_one_that_vanishes_while_it_waits_for_a_slot(job: Job) -> None:
    boss = _supervisor(job, concurrent=1)
    boss.observe(_snapshot("a"))
    boss.observe(_snapshot("b"))
    await _settle()
    before = asyncio.all_tasks()
    boss.forget(_snapshot("b").key)
    await _settle()
    assert len(asyncio.all_tasks()) == len(before) - 3, "the task, its slot and its wake-up"
    await boss.stop()


async def test_nothing_is_remembered_of_one_that_failed_and_vanished(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACKOFF_SECONDS", (60.0,))
    job.failures["a"] = RuntimeError("a bug")
    boss = _supervisor(job)
    boss.observe(_snapshot("a"))
    await _settle()
    boss.observe(_snapshot("a", generation=2, spec=_spec(suspend=True)))
    boss.forget(_snapshot("a").key)
    await _settle()
    assert job.started == ["a"], "what is gone is not started again"
    assert boss.known == 0
    assert boss._failures == {}
    await boss.stop()
