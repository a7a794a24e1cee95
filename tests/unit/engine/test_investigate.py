"""One Investigation from claim to rest, on an object store with compare-and-swap and a journal in memory."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import pytest

import crash_world as world_
from kubewhy import errors
from kubewhy.core import events, ports, snapshots
from kubewhy.engine import inbox, investigate, ledger, perform
from virtual_time import in_virtual_time

SCRIPT = (world_.reply("a"), world_.conclude("1-0", "the decisive line of a"))


class Store:
    """One object as an API server holds it. `before_write` runs before each write, as another writer would."""

    def __init__(self, **status: Any) -> None:
        self.document: dict[str, Any] = {
            "metadata": {
                "namespace": world_.KEY.namespace,
                "name": world_.KEY.name,
                "uid": world_.KEY.uid,
                "resourceVersion": "1",
                "generation": 1,
                "creationTimestamp": world_.START.isoformat(),
            },
            "spec": {"question": "why?"},
            "status": status,
        }
        self.writes: list[Mapping[str, Any]] = []
        self.before_write: Callable[[], None] = lambda: None
        self.deleted = False

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["status"]
        return found

    @property
    def condition(self) -> dict[str, Any]:
        """The condition Succeeded; {} before the first visit."""
        found = self.status.get("conditions", [])
        return next((each for each in found if each["type"] == "Succeeded"), {})

    def snapshot(self) -> snapshots.Snapshot:
        return snapshots.read(copy.deepcopy(self.document))

    def touch(self, **status: Any) -> None:
        """A write by somebody else."""
        self.status.update(status)
        meta = self.document["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)

    async def read(self, _key: ports.RunKey) -> snapshots.Snapshot:
        if self.deleted:
            raise errors.ApiNotFound("it is gone", status=404)
        return self.snapshot()

    async def unfinished(self) -> Sequence[snapshots.Snapshot]:
        return (self.snapshot(),)

    async def finished(self) -> AsyncIterator[Mapping[str, Any]]:
        none: tuple[Mapping[str, Any], ...] = ()
        for document in none:
            yield document

    async def delete(self, _key: ports.RunKey, *, resource_version: str) -> None:
        raise AssertionError(f"an engine never deletes what it works on, at {resource_version}")

    async def write_status(
        self, _key: ports.RunKey, status: Mapping[str, Any], *, resource_version: str
    ) -> str:
        self.before_write()
        if self.deleted:
            raise errors.ApiNotFound("it is gone", status=404)
        if resource_version != self.document["metadata"]["resourceVersion"]:
            raise errors.ApiConflict("stale", status=409)
        self.writes.append(status)
        self.touch(**status)
        version: str = self.document["metadata"]["resourceVersion"]
        return version


class Holders:
    def __init__(self, *live: str) -> None:
        self._live = frozenset(live)

    async def live(self) -> frozenset[str]:
        return self._live


class Posts:
    """Takes Kubernetes Events; `failing` makes every post an error."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.failing = False

    async def post(self, _key: ports.RunKey, *, kind: str, reason: str, message: str) -> None:
        assert kind in {"Normal", "Warning"}
        assert message
        if self.failing:
            raise errors.ApiForbidden("no events for you", status=403)
        self.reasons.append(reason)


class Bench:
    """Makes runs of the script; `opening` and `performing` are what goes wrong there."""

    def __init__(self, world: world_.World) -> None:
        self._world = world
        self.opening: errors.KubewhyError | None = None
        self.performing: errors.KubewhyError | None = None
        self.opened_with: list[events.Opened] = []
        self.model: Any = world_.ScriptedModel(world)

    async def open(self, _snapshot: snapshots.Snapshot) -> events.Opened:
        if self.opening:
            raise self.opening
        return world_.opened()

    def unusable(self, _snapshot: snapshots.Snapshot) -> events.Opened:
        return dataclasses.replace(world_.opened(), tools=(), system="")

    async def performer(
        self, _snapshot: snapshots.Snapshot, opened: events.Opened
    ) -> perform.Performer:
        if self.performing:
            raise self.performing
        self.opened_with.append(opened)
        return perform.Performer(
            model=self.model,
            toolbox={world_.SPEC.name: world_.Look(self._world)},
            context=ports.ToolContext(
                namespace="shop", subject=None, kube=world_.NO_KUBE, now=self._world.clock.now
            ),
            clock=self._world.clock,
            redact=lambda text: text,
            parallel=asyncio.Semaphore(4),
        )


class Silent(world_.ScriptedModel):
    """Never answers."""

    async def ask(self, request: Any) -> Any:
        del request
        await asyncio.sleep(1e9)


class Scene:
    """One object, one journal, one holder."""

    def __init__(self, world: world_.World | None = None, **status: Any) -> None:
        self.world = world or world_.World(SCRIPT)
        self.store = Store(**status)
        self.posts = Posts()
        self.bench = Bench(self.world)
        self.box = inbox.Inbox(inbox.Wishes())
        self.holders = Holders("me")
        self.conflicts = 0

    async def play(self, *, snapshot: snapshots.Snapshot | None = None) -> None:
        """Work on the object as it is now."""
        await investigate.investigate(snapshot or self.store.snapshot(), self.box, self.desk())

    def desk(self) -> investigate.Desk:
        """The connections of the holder `me`."""
        return investigate.Desk(
            holder="me",
            clock=self.world.clock,
            investigations=self.store,
            journal=self.world,
            holders=self.holders,
            kube_events=self.posts,
            workbench=self.bench,
            on_conflict=self._conflict,
        )

    def _conflict(self) -> None:
        self.conflicts += 1

    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.world.journaled()]


async def _half_done() -> world_.World:
    """A world whose first holder died after the first tool had started."""
    world = world_.World(SCRIPT, [8])
    with pytest.raises(world_.Crash):
        await world_.live_once(world)
    return world


# --- the whole way ----------------------------------------------------------------------------------------------------


@in_virtual_time
async def test_a_run_is_claimed_driven_published_and_given_back() -> None:
    scene = Scene()
    await scene.play()
    status = scene.store.status
    assert scene.store.condition["reason"] == "RootCauseFound"
    assert status["finished"] is True
    assert status["claim"] == {"holder": "", "epoch": 1}
    assert status["records"]["count"] == len(scene.world.batches)
    assert scene.posts.reasons == ["Started", "RootCauseFound"]
    assert scene.store.writes[0]["claim"] == {"holder": "me", "epoch": 1}


@in_virtual_time
async def test_a_finished_object_is_left_alone() -> None:
    scene = Scene(finished=True)
    await scene.play()
    assert scene.store.writes == []
    assert scene.world.batches == []


@in_virtual_time
async def test_kubernetes_events_that_are_refused_are_no_fault() -> None:
    scene = Scene()
    scene.posts.failing = True
    await scene.play()
    assert scene.store.condition["reason"] == "RootCauseFound"


# --- claims -----------------------------------------------------------------------------------------------------------


@in_virtual_time
async def test_a_live_holder_keeps_its_claim() -> None:
    scene = Scene(claim={"holder": "other", "epoch": 3})
    scene.holders = Holders("me", "other")
    await scene.play()
    assert scene.store.writes == []
    assert scene.world.batches == []


@in_virtual_time
async def test_the_claim_of_a_dead_holder_is_taken_and_its_run_goes_on() -> None:
    scene = Scene(await _half_done(), claim={"holder": "other", "epoch": 1})
    before = len(scene.world.batches)
    await scene.play()
    assert scene.store.condition["reason"] == "RootCauseFound"
    assert scene.store.status["claim"]["epoch"] == 2
    assert scene.world.batches[before].epoch == 2
    assert scene.names().count("Opened") == 1
    assert scene.bench.opened_with == [world_.opened()], "the input is the frozen one"
    assert scene.posts.reasons == ["Resumed", "RootCauseFound"]


@in_virtual_time
async def test_the_same_holder_after_a_restart_takes_its_own_claim() -> None:
    scene = Scene(await _half_done(), claim={"holder": "me", "epoch": 1})
    scene.holders = Holders("me")
    await scene.play()
    assert scene.store.condition["reason"] == "RootCauseFound"


@in_virtual_time
async def test_who_loses_the_race_for_a_claim_steps_back() -> None:
    scene = Scene()
    scene.holders = Holders("me", "other")
    stale = scene.store.snapshot()
    scene.store.touch(claim={"holder": "other", "epoch": 1})
    await scene.play(snapshot=stale)
    assert scene.conflicts == 1
    assert scene.store.writes == []
    assert scene.world.batches == []


@in_virtual_time
async def test_a_conflict_that_is_no_claim_is_read_again() -> None:
    scene = Scene()
    stale = scene.store.snapshot()
    scene.store.touch()
    await scene.play(snapshot=stale)
    assert scene.store.condition["reason"] == "RootCauseFound"


@in_virtual_time
async def test_an_object_that_never_stands_still_is_given_up_for_now() -> None:
    scene = Scene()
    scene.store.before_write = scene.store.touch
    await scene.play()
    assert scene.conflicts == investigate.CLAIM_TRIES
    assert scene.world.batches == []


@in_virtual_time
async def test_a_holder_that_was_fenced_writes_nothing_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()

    async def usurped(key: ports.RunKey, batch: ports.Batch) -> None:
        if batch.number == 2:
            scene.store.touch(claim={"holder": "other", "epoch": 2})
            raise errors.Fenced("another holder has that number")
        await append(key, batch)

    append = scene.world.append
    scene.world.append = usurped  # type: ignore[method-assign, assignment]
    await scene.play()
    assert scene.store.status["claim"] == {"holder": "other", "epoch": 2}
    assert "finished" not in scene.store.status
    assert "fenced" in caplog.text


# --- what can't be worked on ------------------------------------------------------------------------------------------


@in_virtual_time
async def test_a_spec_that_cannot_be_read_is_invalid() -> None:
    scene = Scene()
    scene.store.document["spec"] = {"question": "why?", "limits": {"steps": 0}}
    await scene.play()
    assert scene.store.condition["reason"] == "InvalidSpec"
    assert "spec.limits.steps" in scene.store.condition["message"]
    assert scene.store.status["finished"] is True
    assert scene.names() == ["Claimed", "Opened", "Concluded"]
    assert scene.posts.reasons == ["Started", "InvalidSpec"]


@in_virtual_time
async def test_a_spec_that_names_what_is_not_there_is_invalid() -> None:
    scene = Scene()
    scene.bench.opening = errors.ConfigError("spec.model: there is no model 'gpt-9'")
    await scene.play()
    assert scene.store.condition["reason"] == "InvalidSpec"
    assert scene.store.condition["message"] == "spec.model: there is no model 'gpt-9'"
    assert scene.world.asked == []


@in_virtual_time
async def test_a_run_whose_model_is_gone_after_a_restart_ends_and_keeps_its_trace() -> None:
    scene = Scene(await _half_done(), claim={"holder": "other", "epoch": 1})
    scene.bench.performing = errors.ConfigError("spec.model: there is no model 'scripted'")
    await scene.play()
    assert scene.store.condition["reason"] == "InvalidSpec"
    assert scene.names().count("Opened") == 1
    assert scene.store.status["trace"][0]["tool"] == "look"


@in_virtual_time
async def test_deleted_records_are_a_lost_journal() -> None:
    scene = Scene(records={"count": 3, "events": 9})
    await scene.play()
    assert scene.store.condition["reason"] == "JournalLost"
    assert "3 records" in scene.store.condition["message"]
    assert scene.store.status["finished"] is True
    assert scene.store.status["claim"]["holder"] == ""
    assert scene.world.batches == []


@in_virtual_time
@pytest.mark.parametrize("damage", ["missing", "changed", "unreadable"])
async def test_a_damaged_journal_is_lost_and_nothing_is_run(damage: str) -> None:
    world = await _half_done()
    if damage == "missing":
        del world.batches[1]
    elif damage == "changed":
        world.batches[0] = dataclasses.replace(
            world.batches[0], data=world.batches[0].data.replace(b"holder", b"hOlder")
        )
    else:
        world.batches[-1] = dataclasses.replace(world.batches[-1], data=b"\x00")
    asked, ran = len(world.asked), len(world.ran)
    scene = Scene(world, claim={"holder": "other", "epoch": 1})
    await scene.play()
    assert scene.store.condition["reason"] == "JournalLost"
    assert (len(world.asked), len(world.ran)) == (asked, ran)


@in_virtual_time
async def test_a_lost_journal_under_a_newer_claim_is_left_to_its_holder() -> None:
    scene = Scene(records={"count": 3, "events": 9})

    def usurp() -> None:
        if scene.store.writes:
            scene.store.touch(claim={"holder": "other", "epoch": 9})

    scene.store.before_write = usurp
    await scene.play()
    assert scene.store.status["claim"] == {"holder": "other", "epoch": 9}
    assert "finished" not in scene.store.status


@in_virtual_time
async def test_a_journal_that_cannot_be_read_for_a_while_is_waited_for() -> None:
    scene = Scene()
    load, tries = scene.world.load, iter(range(6))

    async def away(key: ports.RunKey) -> Sequence[ports.Batch]:
        if next(tries) < 5:
            raise errors.JournalUnavailable("away")
        return await load(key)

    scene.world.load = away  # type: ignore[method-assign, assignment]
    await scene.play()
    assert scene.store.condition["reason"] == "RootCauseFound"
    assert asyncio.get_running_loop().time() >= sum(ledger.RETRY_SECONDS[:5])


@in_virtual_time
async def test_an_object_that_vanishes_ends_the_work() -> None:
    scene = Scene()
    stale = scene.store.snapshot()
    scene.store.deleted = True
    with pytest.raises(errors.ApiNotFound):
        await scene.play(snapshot=stale)
    assert scene.world.batches == []


# --- the end of the process, and of the object ------------------------------------------------------------------------


async def _stopped(scene: Scene, *, gone: bool) -> None:
    scene.bench.model = Silent(scene.world)
    task = asyncio.ensure_future(scene.play())
    await asyncio.sleep(3)
    scene.store.writes.clear()
    scene.box.gone = gone
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


@in_virtual_time
async def test_a_holder_that_stops_gives_its_claim_back() -> None:
    scene = Scene()
    await _stopped(scene, gone=False)
    assert scene.store.status["claim"] == {"holder": "", "epoch": 1}
    assert scene.store.condition["reason"] == "Running"
    assert not scene.store.status.get("finished")


@in_virtual_time
async def test_nothing_is_written_to_an_object_that_is_gone() -> None:
    scene = Scene()
    await _stopped(scene, gone=True)
    assert scene.store.writes == []


@in_virtual_time
async def test_giving_back_a_claim_takes_no_longer_than_a_moment() -> None:
    scene = Scene()

    def refuse() -> None:
        raise errors.ApiUnavailable("down", status=503)

    scene.bench.model = Silent(scene.world)
    began = asyncio.get_running_loop().time()
    task = asyncio.ensure_future(scene.play())
    await asyncio.sleep(3)
    scene.store.writes.clear()
    scene.store.before_write = refuse
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert asyncio.get_running_loop().time() - began <= 3 + investigate.RELEASE_SECONDS + 0.1


# --- waiting for a slot -----------------------------------------------------------------------------------------------


@in_virtual_time
@pytest.mark.parametrize(("reason", "written"), [("", 1), ("Running", 0)])
async def test_pending_is_shown_on_the_first_visit_only(reason: str, written: int) -> None:
    scene = Scene()
    snapshot = dataclasses.replace(scene.store.snapshot(), reason=reason)
    await investigate.show_pending(snapshot, scene.desk())
    assert len(scene.store.writes) == written


@in_virtual_time
async def test_pending_that_is_not_shown_is_no_fault() -> None:
    scene = Scene()
    stale = scene.store.snapshot()
    scene.store.touch()
    await investigate.show_pending(stale, scene.desk())
    assert scene.store.writes == []


def _desk(scene: Scene) -> investigate.Desk:
    return investigate.Desk(
        holder="me",
        clock=scene.world.clock,
        investigations=scene.store,
        journal=scene.world,
        holders=scene.holders,
        kube_events=scene.posts,
        workbench=scene.bench,
    )


# --- between the two writes of an end ---------------------------------------------------------------------------------


async def _died_while_finishing(*, conclude: bool = True) -> Scene:
    """A scene whose holder `other` died after the end was told, before the rest of the status was there."""
    world = world_.World(SCRIPT, () if conclude else [8])
    scene = Scene(world)
    if conclude:

        def die() -> None:
            if scene.store.condition.get("status") == "True":
                raise world_.Crash

        scene.store.before_write = die
        with pytest.raises(world_.Crash):
            await scene.play()
    again = Scene(world)
    again.store = scene.store
    again.store.before_write = lambda: None
    return again


@in_virtual_time
async def test_a_crash_after_the_end_was_told_loses_nothing_of_it() -> None:
    scene = await _died_while_finishing()
    assert not scene.store.status.get("trace")
    asked = len(scene.world.asked)
    await scene.play()
    assert scene.store.status["trace"]
    assert scene.store.status["report"]
    assert scene.store.status["finished"] is True
    assert scene.store.status["claim"]["holder"] == ""
    assert scene.store.condition["reason"] == "RootCauseFound"
    assert len(scene.world.asked) == asked


@in_virtual_time
async def test_an_end_that_was_told_stays_when_its_journal_is_lost() -> None:
    scene = await _died_while_finishing()
    scene.world.batches.clear()
    await scene.play()
    assert scene.store.condition["reason"] == "RootCauseFound"
    assert scene.store.status["rootCause"]
    assert scene.store.status["finished"] is True
    assert scene.store.status["claim"]["holder"] == ""


@in_virtual_time
async def test_an_end_that_the_journal_does_not_know_stops_the_run() -> None:
    told = {"type": "Succeeded", "status": "True", "reason": "NoProblemFound"}
    scene = Scene(await _half_done(), conditions=[told], claim={"holder": "", "epoch": 1})
    asked = len(scene.world.asked)
    await scene.play()
    assert len(scene.world.asked) == asked
    assert scene.store.condition == told
    assert scene.store.status["finished"] is True


@in_virtual_time
async def test_a_run_that_has_concluded_needs_no_model_any_more() -> None:
    scene = await _died_while_finishing()
    scene.bench.performing = errors.ConfigError("spec.model: there is no model 'scripted'")
    await scene.play()
    assert scene.names().count("Concluded") == 1
    assert "InvalidSpec" not in scene.posts.reasons


# --- epochs and last words --------------------------------------------------------------------------------------------


@in_virtual_time
async def test_a_claim_given_back_before_the_journal_knows_it_keeps_its_epoch() -> None:
    scene = Scene(await _half_done(), claim={"holder": "other", "epoch": 1})

    async def slow(*_: Any) -> perform.Performer:
        await asyncio.sleep(1e9)
        raise AssertionError("never")

    scene.bench.performer = slow  # type: ignore[method-assign, assignment]
    task = asyncio.ensure_future(scene.play())
    await asyncio.sleep(3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert scene.store.status["claim"] == {"holder": "", "epoch": 2}


@in_virtual_time
async def test_a_holder_is_not_fenced_by_the_epoch_it_wrote_itself() -> None:
    scene = Scene(await _half_done())  # the status was lost, the journal was not
    calls = iter(range(99))

    def meddle() -> None:
        if next(calls) == 2:
            scene.store.touch()

    scene.store.before_write = meddle
    await scene.play()
    assert scene.conflicts == 1
    assert scene.store.status["finished"] is True


@in_virtual_time
async def test_a_post_that_hangs_does_not_keep_the_process_from_stopping() -> None:
    scene = Scene()

    async def hang(*_: Any, **__: Any) -> None:
        await asyncio.sleep(1e9)

    scene.posts.post = hang  # type: ignore[method-assign]
    began = asyncio.get_running_loop().time()
    await scene.play()
    assert scene.store.status["finished"] is True
    assert asyncio.get_running_loop().time() - began <= investigate.RELEASE_SECONDS + 2


@in_virtual_time
async def test_the_start_names_the_model() -> None:
    scene = Scene()
    said: list[str] = []

    async def post(_key: ports.RunKey, *, kind: str, reason: str, message: str) -> None:
        said.append(f"{kind} {reason}: {message}")

    scene.posts.post = post  # type: ignore[method-assign]
    await scene.play()
    assert said[0] == "Normal Started: Investigation started by me with model scripted"


@in_virtual_time
async def test_a_run_whose_first_holder_died_before_it_was_opened_is_started_once() -> None:
    scene = Scene(claim={"holder": "other", "epoch": 1})
    await scene.play()
    assert scene.posts.reasons == ["Started", "RootCauseFound"]
