"""The one writer of status: compare-and-swap against everything an API server can answer."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

import crash_world as world_
from kubewhy import errors
from kubewhy.api import conditions
from kubewhy.core import projection, snapshots
from kubewhy.engine import ledger, publish


def _snapshot(**changes: Any) -> snapshots.Snapshot:
    base = snapshots.Snapshot(
        key=world_.KEY,
        resource_version="1",
        generation=1,
        created=world_.START,
        spec=None,
    )
    return dataclasses.replace(base, **changes)


class Store:
    """Answers each write with the next of `answers` (an error, or None for success); `fresh` is what a re-read sees."""

    def __init__(self, *answers: Exception | None, fresh: snapshots.Snapshot | None = None) -> None:
        self.answers = list(answers)
        self.fresh = fresh or _snapshot(resource_version="9")
        self.writes: list[tuple[str, Mapping[str, Any]]] = []

    async def read(self, key: snapshots.RunKey) -> snapshots.Snapshot:
        assert key == world_.KEY
        return self.fresh

    async def unfinished(self) -> list[snapshots.Snapshot]:
        raise AssertionError("the publisher never lists")

    async def finished(self) -> AsyncIterator[Mapping[str, Any]]:
        nothing: tuple[Mapping[str, Any], ...] = ()
        for document in nothing:
            yield document
        raise AssertionError("the publisher never lists")

    async def delete(self, key: snapshots.RunKey, *, resource_version: str) -> None:
        raise AssertionError(f"the publisher never deletes, here {key} at {resource_version}")

    async def write_status(
        self, key: snapshots.RunKey, status: Mapping[str, Any], *, resource_version: str
    ) -> str:
        assert key == world_.KEY
        self.writes.append((resource_version, status))
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        return str(len(self.writes) + 100)


@pytest.fixture
def book() -> ledger.Ledger:
    world = world_.World((world_.reply("a"), world_.conclude("1-0", "the decisive line of a")))
    world_.live(world)
    found = ledger.Ledger(world_.KEY, world, world.clock)
    world_.run(found.load())
    return found


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are recorded, not slept."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def recorded(seconds: float) -> None:
        if seconds:
            pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", recorded)
    return pauses


def _conflict() -> errors.ApiConflict:
    return errors.ApiConflict("stale", status=409)


def test_the_end_is_written_small_first_then_whole(book: ledger.Ledger) -> None:
    store = Store()
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    small, whole = (status for _, status in store.writes)
    assert "finished" not in small, "it is set last: a crash in between is caught up on"
    assert small["claim"]["holder"] == "holder"
    assert not small.get("trace")
    assert whole["trace"]
    assert whole["finished"] is True
    assert whole["claim"]["holder"] == ""
    assert [version for version, _ in store.writes] == ["1", "101"]


def test_a_conflict_is_read_again_and_repeated_with_the_new_version(book: ledger.Ledger) -> None:
    store = Store(_conflict(), _conflict())
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert [version for version, _ in store.writes] == ["1", "9", "9", "103"]


def test_conflicts_for_ever_end_after_ten_tries(book: ledger.Ledger) -> None:
    store = Store(*[_conflict() for _ in range(50)])
    with pytest.raises(errors.ApiConflict):
        world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert len(store.writes) == publish.TRIES


def test_a_newer_claim_fences(book: ledger.Ledger) -> None:
    store = Store(_conflict(), fresh=_snapshot(resource_version="9", epoch=7, holder="other"))
    with pytest.raises(errors.Fenced, match="epoch 7"):
        world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert len(store.writes) == 1


def test_a_status_that_is_too_large_shrinks_once(book: ledger.Ledger) -> None:
    store = Store(None, errors.ApiTooLarge("etcdserver: request is too large", status=500))
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert [bool(status.get("trace")) for _, status in store.writes] == [False, True, False]


def test_a_small_status_that_is_too_large_is_not_repeated_for_ever(book: ledger.Ledger) -> None:
    store = Store(*[errors.ApiTooLarge("no", status=413) for _ in range(9)])
    with pytest.raises(errors.ApiTooLarge):
        world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert len(store.writes) == 1


def test_an_absent_api_server_is_waited_for_as_it_asks(
    book: ledger.Ledger, no_waiting: list[float]
) -> None:
    store = Store(
        errors.ApiUnavailable("busy", status=429, retry_after=5.0),
        errors.ApiForbidden("no", status=403),
    )
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert no_waiting[0] == 5.0
    assert len(store.writes) == 4


def test_a_vanished_object_ends_the_writing(book: ledger.Ledger) -> None:
    store = Store(errors.ApiNotFound("gone", status=404))
    with pytest.raises(errors.ApiNotFound):
        world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert len(store.writes) == 1


def test_a_refused_status_ends_the_run_as_status_rejected(book: ledger.Ledger) -> None:
    store = Store(errors.ApiInvalid("status.trace: Too many", status=422))
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    last = store.writes[-1][1]
    (succeeded,) = (each for each in last["conditions"] if each["type"] == "Succeeded")
    assert succeeded["reason"] == "StatusRejected"
    assert last["finished"] is True


def test_the_first_claim_brings_all_conditions_and_the_next_epoch() -> None:
    store = Store()
    publisher = publish.Publisher(store, _snapshot(epoch=4))
    world_.run(publisher.claim("me"))
    (_, status) = store.writes[0]
    assert status["claim"] == {"holder": "me", "epoch": 5}
    assert len(status["conditions"]) == len(conditions.ConditionType)
    assert publisher.epoch == 5


def test_a_later_claim_leaves_the_conditions_alone() -> None:
    store = Store()
    world_.run(publish.Publisher(store, _snapshot(reason="Suspended")).claim("me"))
    assert "conditions" not in store.writes[0][1]


def test_no_status_is_ever_sent_above_the_hard_stop(
    book: ledger.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "HARD_STOP_BYTES", 10)
    store = Store()
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    assert all(not status.get("trace") for _, status in store.writes)


def test_projections_in_between_are_dropped_on_conflict_and_throttled(
    no_waiting: list[float],
) -> None:
    world = world_.World((world_.reply("a"),))
    running = ledger.Ledger(world_.KEY, world, world.clock)
    store = Store(_conflict())

    async def play() -> None:
        await running.claim(1, "me", world_.opened())
        publisher = publish.Publisher(store, _snapshot())
        publisher.watch(running)
        for _ in range(3):
            publisher.changed()
            for _ in range(10):
                await _tick()
        await publisher.stop()

    world_.run(play())
    assert store.writes[0][0] == "1"
    assert store.writes[1][0] == "9"
    assert set(no_waiting) <= {publish.INTERVAL_SECONDS}


async def _tick() -> None:
    """Let other tasks run once."""
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await future


def test_pending_is_all_conditions_and_nothing_else() -> None:
    store = Store()
    world_.run(publish.Publisher(store, _snapshot()).show_pending())
    assert store.writes[0][1]["conditions"][0]["reason"] == "Pending"
    assert (
        projection.pending(
            projection.Source(name="a", uid="b", generation=1, created=world_.START)
        ).claim
        is None
    )


def test_large_parts_that_are_refused_do_not_take_the_end_back(book: ledger.Ledger) -> None:
    store = Store(None, errors.ApiInvalid("status.trace[0].id: too odd", status=422))
    world_.run(publish.Publisher(store, _snapshot()).finish(book))
    last = store.writes[-1][1]
    assert last["finished"] is True
    assert not last.get("trace")
    (succeeded,) = (each for each in last["conditions"] if each["type"] == "Succeeded")
    assert succeeded["reason"] == "RootCauseFound"
