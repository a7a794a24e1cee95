"""Runs a coroutine test on a loop of its own whose sleeps take no time, whatever the other tests did before.

The looptime plugin finds "the current loop" of the thread, which depends on the tests that ran before; a loop that
the test itself runs on does not.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

import looptime

Parameters = ParamSpec("Parameters")


def in_virtual_time(
    test: Callable[Parameters, Coroutine[Any, Any, None]],
) -> Callable[Parameters, None]:
    """Turn an async test into a plain one that runs in virtual time, beginning at 0."""

    @functools.wraps(test)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        with asyncio.Runner(loop_factory=_loop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def _loop() -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = looptime.new_event_loop(start=0.0)
    return loop
