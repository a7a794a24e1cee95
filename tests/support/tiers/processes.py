"""Child processes that never outlive the runner, and the signals that end it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

# How long a child may take to tidy up after each of these, before the next one is sent.
_ENDINGS = ((signal.SIGINT, 60.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TAIL_LINES = 50


class InterruptedRunError(Exception):
    """A signal asked the runner to end; `number` is its number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a child ended.

    Attributes:
        code: its exit code, negative for the signal that ended it.
        timed_out: it was ended because its time was over.
        output: its standard output, empty unless it was asked for.
        last_words: the last line that is not empty of its standard error, if that was asked for.
    """

    code: int
    timed_out: bool = False
    output: str = ""
    last_words: str = ""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise InterruptedRunError in the main thread on the first SIGINT, SIGTERM or SIGHUP."""

    def interrupt(number: int, _: FrameType | None) -> None:
        _ignore_signals()
        raise InterruptedRunError(number)

    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold SIGINT, SIGTERM and SIGHUP back while the block tidies up."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    capture: bool = False,
) -> Ended:
    """Run `command` in a session of its own and wait for its end, at most `seconds`.

    Its output goes to ours; with `capture`, its standard output is kept instead, and its standard
    error shown and its last line kept. However this returns, the child is gone; while it still
    runs, its whole process group is ended with it.
    """
    pipe = subprocess.PIPE if capture else None
    child = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    readers = (_Reader(child.stdout), _Reader(child.stderr, show=_show))
    try:
        timed_out = _outlasts(child, seconds)
    finally:
        _end(child)
    output, errors = (reader.lines() for reader in readers)
    return Ended(
        code=child.returncode,
        timed_out=timed_out,
        output="".join(output),
        last_words=next((line.strip() for line in reversed(errors) if line.strip()), ""),
    )


def _outlasts(child: subprocess.Popen[str], seconds: float) -> bool:
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _end(child: subprocess.Popen[str]) -> None:
    for number, seconds in _ENDINGS:
        if child.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=seconds)


def _show(line: str) -> None:
    print(line, end="", flush=True)


class _Reader:
    """Reads a pipe to its end in a thread and keeps its last lines."""

    def __init__(self, pipe: IO[str] | None, *, show: Callable[[str], None] | None = None) -> None:
        self._lines: list[str] = []
        self._thread: threading.Thread | None = None
        if pipe is not None:
            self._thread = threading.Thread(target=self._read, args=(pipe, show), daemon=True)
            self._thread.start()

    def _read(self, pipe: IO[str], show: Callable[[str], None] | None) -> None:
        with pipe:
            for line in pipe:
                self._lines.append(line)
                del self._lines[:-_TAIL_LINES]
                if show:
                    show(line)

    def lines(self) -> list[str]:
        """The last lines, once the pipe is closed or has been silent for a second."""
        if self._thread is not None:
            self._thread.join(timeout=1)
        return list(self._lines)
