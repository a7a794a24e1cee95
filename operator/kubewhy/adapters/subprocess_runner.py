"""Runs programs for tools: no shell, an environment of their own, bounded time and output, nothing left behind.

The output is read as it comes, and only its head and tail are kept, so a program that writes without end costs no
memory. Its process group is ended with it; a child that left the group is found by a mark in its environment. The
wait never depends on the output's end, which such a child could hold back for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kubewhy import errors
from kubewhy.adapters import bounded_output
from kubewhy.core import ports, tools

READ_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of output after which a program is stopped (faults.md 60)."""

GRACE_SECONDS: Final = 1.0
"""From SIGTERM to SIGKILL, and the wait for the output's end after the program has ended."""

SEARCH_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for when the operator itself has no PATH."""

MARK: Final = "KUBEWHY_CALL"
"""Environment variable by which a call's processes are known."""

_CHUNK: Final = 256 * 1024
_PIPE: Final = 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use, in bytes and counts; the kernel enforces them (see prlimit(1)).

    `memory` bounds the private data of each process. `processes` counts all processes of the user and doesn't bind
    root.
    """

    memory: int = 1024 * 1024 * 1024
    file: int = 64 * 1024 * 1024
    open_files: int = 1024
    processes: int = 1024

    def arguments(self) -> tuple[str, ...]:
        """Options of prlimit(1), which sets the limits before the program starts."""
        return (
            f"--data={self.memory}",
            f"--fsize={self.file}",
            f"--nofile={self.open_files}",
            f"--nproc={self.processes}",
            "--core=0",
            "--",
        )


class SubprocessRunner:
    """See `ports.ProcessRunner`. Where prlimit(1) is missing, only time and output are bounded.

    Programs get the operator's PATH and a home that doesn't exist, so that they find nobody's credentials there, and
    else only what a call gives them.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        prlimit = shutil.which("prlimit", path=SEARCH_PATH)
        self._prefix = (prlimit, *(limits or Limits()).arguments()) if prlimit else ()
        self._base = {
            "PATH": os.environ.get("PATH") or SEARCH_PATH,
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
        """See `ports.ProcessRunner.run`; takes at most 3 seconds more than the time limit."""
        given = {**self._base, **environment}
        program = _program(argv, given)
        mark = secrets.token_hex(16)
        reading, writing = _pipe()
        try:
            try:
                command = (*self._prefix, program, *argv[1:])
                process = _start(program, command, {**given, MARK: mark}, writing)
            finally:
                os.close(writing)
            call = _watched(process, reading, bounded_output.BoundedOutput(limit_bytes), mark)
            try:
                return await call.finish(timeout_seconds)
            finally:
                call.leave()
        finally:
            os.close(reading)


class _Call:
    """One running program: reads its output, waits for its end, stops it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reading: int,
        output: bounded_output.BoundedOutput,
        mark: str,
    ) -> None:
        self._process = process
        self._reading = reading
        self._output = output
        self._mark = mark
        self._loop = asyncio.get_running_loop()
        self._pidfd = os.pidfd_open(process.pid)
        self._ended = asyncio.Event()
        self._closed = asyncio.Event()
        self._over = asyncio.Event()
        self._loop.add_reader(self._pidfd, self._end)
        self._loop.add_reader(reading, self._read)

    async def finish(self, seconds: float) -> ports.ProcessResult:
        """Wait for the end or the time-out, stop what is left, and say what came of it."""
        in_time = await _within(seconds, self._over)
        if not self._ended.is_set():
            await self._stop()
        notes = [*self._too_much(), *self._end_the_rest()]
        await _within(GRACE_SECONDS, self._closed)
        code = self._process.poll()
        text, truncated = self._output.text()
        return ports.ProcessResult(
            exit_code=-signal.SIGKILL if code is None else code,
            output="\n".join([text.rstrip("\n"), *notes]).lstrip("\n") if notes else text,
            total_bytes=self._output.total,
            truncated=truncated,
            timed_out=not in_time,
        )

    def leave(self) -> None:
        """Give everything back at once; also where the wait was cancelled and the program still runs."""
        self._loop.remove_reader(self._reading)
        self._loop.remove_reader(self._pidfd)
        if self._process.poll() is None:
            self._end_the_rest()
            self._loop.add_reader(self._pidfd, self._reap)
        else:
            os.close(self._pidfd)

    def _end(self) -> None:
        # The descriptor stays readable, so a reader that is left in place would never rest.
        self._loop.remove_reader(self._pidfd)
        self._ended.set()
        self._over.set()

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._process.wait()

    def _read(self) -> None:
        try:
            data = os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._reading)
            self._closed.set()
            return
        self._output.add(data)
        if self._output.total > READ_LIMIT:
            self._over.set()

    async def _stop(self) -> None:
        self._signal(signal.SIGTERM)
        if not await _within(GRACE_SECONDS, self._ended):
            self._signal(signal.SIGKILL)
            await _within(GRACE_SECONDS, self._ended)

    def _too_much(self) -> list[str]:
        much = self._output.total > READ_LIMIT
        return [f"[stopped after {READ_LIMIT} bytes of output]"] if much else []

    def _end_the_rest(self) -> list[str]:
        """End the group and what has left it; the remark for the reader if there was something."""
        left = [pid for pid in _marked(self._mark) if pid != self._process.pid]
        self._signal(signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return ["[it left processes behind, which were ended]"] if left else []

    def _signal(self, number: signal.Signals) -> None:
        # The leader is not reaped yet, so its group's number can't belong to anybody else.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _watched(
    process: subprocess.Popen[bytes],
    reading: int,
    output: bounded_output.BoundedOutput,
    mark: str,
) -> _Call:
    try:
        return _Call(process, reading, output, mark)
    except OSError as error:  # no descriptor is left to watch it with
        process.kill()
        process.wait()
        raise _short(error) from error


def _short(error: OSError) -> errors.ToolFailure:
    text = f"no program can be started now: {error.strerror}; fewer calls at once may help"
    return errors.ToolFailure(tools.ToolStatus.ERROR, text)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether the event came in time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _program(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """The program's full path, so that a missing one is told from one that fails."""
    if not argv or not argv[0]:
        raise errors.ToolFailure(tools.ToolStatus.ERROR, "there is no program to run")
    found = shutil.which(argv[0], path=environment["PATH"])
    if found is None:
        raise errors.ToolFailure(
            tools.ToolStatus.ERROR,
            f"the program {argv[0][:200]!r} is not in {environment['PATH'][:500]}: "
            "install it in the operator's image",
        )
    return found


def _pipe() -> tuple[int, int]:
    try:
        reading, writing = os.pipe2(os.O_CLOEXEC)
    except OSError as error:
        raise _short(error) from error
    os.set_blocking(reading, False)
    with contextlib.suppress(OSError):
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, _PIPE)
    return reading, writing


def _start(
    program: str, argv: Sequence[str], environment: Mapping[str, str], output: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - a list of words, never a shell
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            reason = "its arguments are too long; pass shorter ones"
        text = f"the program {program!r} can't be started: {reason}"
        raise errors.ToolFailure(tools.ToolStatus.ERROR, text) from error


def _marked(mark: str) -> list[int]:
    """The living processes that carry the mark: those of the group and those that left it."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found
