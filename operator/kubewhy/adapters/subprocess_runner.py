"""Runs programs for tools: no shell, an environment of their own, bounded time and output, nothing left behind.

The output is read as it comes, and only its head and tail are kept, so a program that writes without end costs no
memory. Its own process group is stopped when time is up; a child that left the group is found by a mark in its
environment. The wait never depends on the output's end, which such a child could hold back for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from kubewhy import errors
from kubewhy.core import ports, tools, untrusted

READ_LIMIT = 256 * 1024 * 1024
"""Bytes of output after which a program is stopped (faults.md 60)."""

GRACE_SECONDS = 1.0
"""From SIGTERM to SIGKILL, and the wait for the output's end after the program has ended."""

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where programs are looked for when the environment has no PATH."""

MARK = "KUBEWHY_CALL"
"""Environment variable by which a call's processes are known."""

_CHUNK = 256 * 1024
_PIPE = 1024 * 1024
_CUT = 4096
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,16}[@-~]|[\]PX^_][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)|[ -/]{0,4}[0-Z\\^-~])"
)


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
    """See `ports.ProcessRunner`. Where prlimit(1) is missing, only time and output are bounded."""

    def __init__(self, limits: Limits | None = None) -> None:
        prlimit = shutil.which("prlimit", path=SEARCH_PATH)
        self._prefix = (prlimit, *(limits or Limits()).arguments()) if prlimit else ()

    async def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        limit_bytes: int = tools.STORED_TEXT_BYTES,
    ) -> ports.ProcessResult:
        """See `ports.ProcessRunner.run`."""
        program = _program(argv, environment)
        mark = secrets.token_hex(16)
        command = (*self._prefix, program, *argv[1:])
        reading, writing = _pipe()
        try:
            try:
                process = _start(command, {**environment, MARK: mark}, writing)
            finally:
                os.close(writing)
            call = _Call(process, reading, Output(limit_bytes), mark)
            try:
                return await call.finish(timeout_seconds)
            finally:
                call.leave()
        finally:
            os.close(reading)


class Output:
    """Head and tail of a stream of bytes within `limit`, and the count of all that passed."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    @property
    def truncated(self) -> bool:
        """Whether something was left out."""
        return self.total > self._limit

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self.total += len(data)
        room = self._limit // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data)
        self._tail_bytes += len(data)
        most = self._limit - self._limit // 2
        while self._tail_bytes - len(self._tail[0]) >= most:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self) -> str:
        """The kept text without escape sequences and control characters; a cut is made between lines and said."""
        tail = b"".join(self._tail)[-(self._limit - self._limit // 2) :]
        if not self.truncated:
            return _clean(bytes(self._head) + tail)
        head, tail = _whole_head(bytes(self._head)), _whole_tail(tail)
        left_out = self.total - len(head) - len(tail)
        return f"{_clean(head)}\n[{left_out} bytes left out]\n{_clean(tail)}"


class _Call:
    """One running program: reads its output, waits for its end, stops it."""

    def __init__(
        self, process: subprocess.Popen[bytes], reading: int, output: Output, mark: str
    ) -> None:
        self._process = process
        self._reading = reading
        self._output = output
        self._mark = mark
        self._loop = asyncio.get_running_loop()
        self._pidfd = os.pidfd_open(process.pid)
        self._ended = asyncio.Event()
        self._closed = asyncio.Event()
        self._enough = asyncio.Event()
        self._loop.add_reader(self._pidfd, self._end)
        self._loop.add_reader(reading, self._read)

    async def finish(self, seconds: float) -> ports.ProcessResult:
        """Wait for the end or the time-out, stop what is left, and say what came of it."""
        in_time = await self._wait(seconds, self._ended, self._enough)
        if not self._ended.is_set():
            await self._stop()
        note = await self._drain()
        self._process.wait()
        text = self._output.text()
        return ports.ProcessResult(
            exit_code=self._process.returncode,
            output=f"{text.rstrip()}\n[{note}]".lstrip() if note else text,
            total_bytes=self._output.total,
            truncated=self._output.truncated,
            timed_out=not in_time,
        )

    def leave(self) -> None:
        """Give everything back at once; also where the wait was cancelled and the program still runs."""
        self._loop.remove_reader(self._reading)
        self._loop.remove_reader(self._pidfd)
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._loop.add_reader(self._pidfd, self._reap)
        else:
            os.close(self._pidfd)

    def _end(self) -> None:
        # The descriptor stays readable, so a reader that is left in place would never rest.
        self._loop.remove_reader(self._pidfd)
        self._ended.set()

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
            self._enough.set()

    async def _stop(self) -> None:
        self._signal(signal.SIGTERM)
        if not await self._wait(GRACE_SECONDS, self._ended):
            self._signal(signal.SIGKILL)
            await self._wait(GRACE_SECONDS, self._ended)

    async def _drain(self) -> str:
        """Read what is left after the program's end; children that still hold the output are ended.

        Returns:
            A remark for the reader, "" where there is nothing to remark.
        """
        remark = ""
        if self._enough.is_set():
            remark = f"stopped after {self._output.total} bytes of output"
        if await self._wait(0.05, self._closed):
            return remark
        self._signal(signal.SIGKILL)
        if not await self._wait(0.05, self._closed):
            _end_marked(self._mark)
            await self._wait(GRACE_SECONDS, self._closed)
        return remark or "the program ended and left children behind, which were ended too"

    def _signal(self, number: signal.Signals) -> None:
        # The leader is not reaped yet, so its group's number can't belong to anybody else.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _wait(self, seconds: float, *events: asyncio.Event) -> bool:
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for wait in waits:
                wait.cancel()
        return bool(done)


def _program(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """The program's full path, so that a missing one is told from one that fails."""
    if not argv or not argv[0]:
        raise errors.ToolFailure(tools.ToolStatus.ERROR, "there is no program to run")
    path = environment.get("PATH") or SEARCH_PATH
    found = shutil.which(argv[0], path=path)
    if found is None:
        raise errors.ToolFailure(
            tools.ToolStatus.ERROR,
            f"the program {argv[0]!r} is not in {path}: install it in the operator's image",
        )
    return found


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reading, False)
    with contextlib.suppress(OSError):
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, _PIPE)
    return reading, writing


def _start(
    argv: Sequence[str], environment: Mapping[str, str], output: int
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
        program = argv[argv.index("--") + 1] if "--" in argv else argv[0]
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise errors.ToolFailure(
            tools.ToolStatus.ERROR, f"the program {program!r} can't be started: {reason}"
        ) from error


def _end_marked(mark: str) -> None:
    """End the processes that carry the mark but left the program's group."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)


def _clean(data: bytes) -> str:
    return untrusted.clean(_ESCAPES.sub("", data.decode("utf-8", "replace")))


def _whole_head(data: bytes) -> bytes:
    """Without the line that was cut, so that no half of a credential passes the redaction."""
    end = data.rfind(b"\n")
    return data[: end if end >= 0 else max(0, len(data) - _CUT)]


def _whole_tail(data: bytes) -> bytes:
    start = data.find(b"\n")
    return data[start + 1 if start >= 0 else min(len(data), _CUT) :]
