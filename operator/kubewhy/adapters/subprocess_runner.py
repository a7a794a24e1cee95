"""Runs one program without a shell, bounded in time and output: implements `core.ports.ProcessRunner`.

The program gets a session and process group of its own, nothing on standard input, and only the variables it is given.
Output is read by the event loop as it comes, so the program never waits for us, and memory stays flat. Whatever ends
the run (its own end, the time limit, cancellation), nothing of its process group is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Final

from kubewhy import errors
from kubewhy.adapters import bounded_output
from kubewhy.core import ports, tools

GRACE_SECONDS: Final = 1.0
"""Between SIGTERM and SIGKILL."""
DRAIN_SECONDS: Final = 0.3
"""How long output is still read when the program has ended but something it started holds its output open."""
MEMORY_BYTES: Final = 1024**3
"""Most memory that a program may write to; HolmesGPT's limit is 800 MB (toolsets.md §5.4)."""
FILE_BYTES: Final = 64 * 1024**2
"""Largest file that a program may write."""

_CHUNK: Final = 256 * 1024


class SubprocessRunner:
    """See `core.ports.ProcessRunner`.

    Programs are looked for in this process's PATH, and get a home that doesn't exist, so that they find nobody's
    credentials there.
    """

    def __init__(self, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory = memory_bytes
        self._base = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
        }

    async def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        limit_bytes: int = tools.STORED_TEXT_BYTES,
    ) -> ports.ProcessResult:
        """See `core.ports.ProcessRunner.run`; takes at most a second and a half more than the time limit."""
        output = bounded_output.BoundedOutput(limit_bytes)
        async with _pipe(output) as (write_end, ended):
            process = await self._start(argv, {**self._base, **environment}, write_end)
            timed_out = await _finish(process, ended, timeout_seconds)
        text, truncated = output.text()
        return ports.ProcessResult(
            exit_code=process.returncode if process.returncode is not None else -signal.SIGKILL,
            output=text,
            total_bytes=output.total,
            truncated=truncated,
            timed_out=timed_out,
        )

    async def _start(
        self, argv: Sequence[str], environment: Mapping[str, str], write_end: int
    ) -> asyncio.subprocess.Process:
        program = argv[0] if argv else ""
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError, TypeError) as error:
            raise errors.ToolFailure("Error", _not_started(program, error)) from None
        finally:
            os.close(write_end)
        # Not in the child before exec: code between fork and exec can deadlock in a process with threads.
        _limit(process.pid, resource.RLIMIT_DATA, self._memory)
        _limit(process.pid, resource.RLIMIT_FSIZE, FILE_BYTES)
        _limit(process.pid, resource.RLIMIT_CORE, 0)
        return process


@contextlib.asynccontextmanager
async def _pipe(
    output: bounded_output.BoundedOutput,
) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """A pipe that flows into `output`: the end to write to, which the caller closes, and its end as an event."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        try:
            data = os.read(read_end, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        if data:
            output.add(data)
            return
        loop.remove_reader(read_end)
        ended.set()

    loop.add_reader(read_end, read)
    try:
        yield write_end, ended
    finally:
        loop.remove_reader(read_end)
        os.close(read_end)


async def _finish(
    process: asyncio.subprocess.Process, ended: asyncio.Event, timeout_seconds: float
) -> bool:
    """Wait for the end of program and output, or make one; whether the time limit did."""
    timed_out = False
    try:
        if not await _within(timeout_seconds, process.wait()):
            timed_out = True
            _signal(process.pid, signal.SIGTERM)
            await _within(GRACE_SECONDS, process.wait())
        if process.returncode is not None:
            await _within(DRAIN_SECONDS, ended.wait())
    finally:
        # Not only the program: what it has started in its group ends with it.
        _signal(process.pid, signal.SIGKILL)
        if await _within(GRACE_SECONDS, process.wait()):
            _reap(process.pid)
    if timed_out:
        await _within(DRAIN_SECONDS, ended.wait())
    return timed_out


async def _within(seconds: float, wait: Awaitable[object]) -> bool:
    """Whether `wait` ended in time."""
    try:
        async with asyncio.timeout(seconds):
            await wait
    except TimeoutError:
        return False
    return True


def _signal(group: int, number: signal.Signals) -> None:
    """Signal what is left of the group; a number just freed is not given out again so soon."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _reap(group: int) -> None:
    """Collect orphans of the group: where this process is the container's first, they are its children now."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass


def _limit(pid: int, kind: int, most: int) -> None:
    # It may have ended already; and where the system has no prlimit, it runs without.
    with contextlib.suppress(OSError, AttributeError):
        resource.prlimit(pid, kind, (most, most))


def _not_started(program: str, error: Exception) -> str:
    name = program[:200] or "a program without a name"
    if isinstance(error, FileNotFoundError):
        return f"{name} can't be started: there is no such program; install it in kubewhy's image"
    if isinstance(error, PermissionError):
        return f"{name} can't be started: it is not executable for kubewhy's user"
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return f"{name} can't be started: its arguments are too long; pass shorter ones"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{name} can't be started: {reason}"
