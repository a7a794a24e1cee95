"""The thread and its loop, with a module that loads at once, late, or not at all."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import runtime


class Module:
    """Stands for the imported library."""


def quick() -> Any:
    return Module()


Make = Callable[..., runtime.Runtime]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes runtimes and stops them when the test ends."""
    made: list[runtime.Runtime] = []

    def make_one(load: Callable[[], Any] = quick) -> runtime.Runtime:
        made.append(runtime.Runtime(load))
        return made[-1]

    yield make_one
    for each in made:
        await each.stop()


async def test_nothing_starts_before_it_is_asked_for(make: Make) -> None:
    made = make()
    assert not made.started
    assert isinstance(await made.ready(), Module)
    assert made.started


async def test_the_module_is_loaded_once_for_many_callers(make: Make) -> None:
    loads: list[str] = []

    def load() -> Any:
        loads.append(threading.current_thread().name)
        time.sleep(0.05)
        return Module()

    made = make(load)
    found = await asyncio.gather(*(made.ready() for _ in range(5)))
    assert len(set(found)) == 1
    assert loads == ["litellm"]


async def test_work_runs_in_the_thread_and_does_not_block_the_caller(make: Make) -> None:
    made = make()

    async def block(_: Any) -> str:
        time.sleep(0.3)  # noqa: ASYNC251 - a provider client that blocks its loop
        return threading.current_thread().name

    task = asyncio.ensure_future(made.call(block))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert await task == "litellm"
    assert ticks > 5


async def test_cancelling_the_caller_cancels_the_work(make: Make) -> None:
    made = make()
    began, ended = threading.Event(), threading.Event()

    async def hang(_: Any) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.set()
            raise

    task = asyncio.ensure_future(made.call(hang))
    await asyncio.to_thread(began.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 5)


async def test_a_caller_that_gives_up_does_not_spoil_the_load_for_others(make: Make) -> None:
    release = threading.Event()

    def load() -> Any:
        release.wait(5)
        return Module()

    made = make(load)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(made.ready(), 0.05)
    release.set()
    assert isinstance(await made.ready(), Module)


async def test_a_failed_load_is_told_to_every_caller(make: Make) -> None:
    def load() -> Any:
        raise ImportError("no such wheel")

    made = make(load)
    for _ in range(2):
        with pytest.raises(
            errors.ModelUnavailable, match="LiteLLM can't be loaded: ImportError: no such wheel"
        ):
            await made.ready()


async def test_a_load_that_takes_too_long_is_given_up(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "IMPORT_SECONDS", 0.05)
    release = threading.Event()
    made = make(lambda: release.wait(5))
    with pytest.raises(errors.ModelUnavailable, match="not loaded within"):
        await made.ready()
    release.set()
    monkeypatch.undo()
    await made.ready()


async def test_errors_of_the_work_reach_the_caller(make: Make) -> None:
    async def fail(_: Any) -> None:
        raise errors.ModelRefused("no")

    with pytest.raises(errors.ModelRefused):
        await make().call(fail)


async def test_stopping_what_never_started_does_nothing(make: Make) -> None:
    made = make()
    await made.stop()
    assert not made.started


async def test_a_stopped_runtime_cancels_its_work_and_takes_no_more(make: Make) -> None:
    made = make()
    began = threading.Event()

    async def hang(_: Any) -> None:
        began.set()
        await asyncio.sleep(60)

    task = asyncio.ensure_future(made.call(hang))
    await asyncio.to_thread(began.wait, 5)
    await made.stop()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(errors.ModelUnavailable, match="stopping"):
        await made.call(hang)
    await made.stop()
