"""Programs that the demo starts: each with a log, each ended by its process id, with all it has started."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from terminal import DemoError

STOP_SECONDS = 40.0
"""Longer than `kubewhy run` gives its two processes."""

_POLL_SECONDS = 0.1
_TAIL_BYTES = 2048
_TAIL_LINES = 12


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program to start.

    Attributes:
        name: what messages call it; also the name of its files.
        argv: argument list; the program's own name is looked up on the PATH.
        environment: the whole environment.
        folder: where its output (`<name>.out`) and its log (`<name>.log`) go.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path

    @property
    def out(self) -> Path:
        """What it writes to stdout."""
        return self.folder / f"{self.name}.out"

    @property
    def log(self) -> Path:
        """What it writes to stderr."""
        return self.folder / f"{self.name}.log"


class Running:
    """A started program."""

    def __init__(self, program: Program, process: subprocess.Popen[bytes]) -> None:
        self.program = program
        self._process = process

    @property
    def ended(self) -> bool:
        """Whether it is over. Does not collect its exit, so that its id stays its own."""
        if self._process.returncode is not None:
            return True
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, how) is not None

    def wait_until(self, met: Callable[[], bool], *, seconds: float, what: str) -> None:
        """Poll `met` until it holds.

        Raises:
            DemoError: the program has ended, or time is up.
        """
        deadline = time.monotonic() + seconds
        while not met():
            self.require()
            if time.monotonic() > deadline:
                raise DemoError(
                    f"{self.program.name} was not {what} within {seconds:.0f} s; {tail(self.program)}"
                )
            time.sleep(_POLL_SECONDS)

    def require(self) -> None:
        """Check that it still runs.

        Raises:
            DemoError: it has ended.
        """
        if self.ended:
            raise DemoError(f"{self.program.name} has ended unexpectedly; {tail(self.program)}")

    def stop(self) -> None:
        """End it, politely at first, and then whatever is left of what it has started."""
        self._process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while not self.ended and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        # Before the exit is collected no stranger can have got the group's id.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def running(program: Program) -> Iterator[Running]:
    """Start the program in a session of its own; it has ended when the context is left."""
    with program.out.open("wb") as out, program.log.open("wb") as log:
        process = subprocess.Popen(
            [*_tied_to_us(), *program.argv],
            env=dict(program.environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=True,
        )
    started = Running(program, process)
    try:
        yield started
    finally:
        started.stop()


def tail(program: Program) -> str:
    """The last lines that it wrote, for an error message."""
    for path in (program.log, program.out):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
        if lines:
            return "\n".join(["its last words:", *lines[-_TAIL_LINES:]])
    return "it said nothing"


def free_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def only_one(what: str) -> socket.socket:
    """Hold a name on this machine for as long as the socket is open, even if we are killed.

    Raises:
        DemoError: another process holds it.
    """
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0kubewhy-{what}-{os.getuid()}")
    except OSError:
        name.close()
        raise DemoError(f"Another {what} is running on this machine: wait for its end.") from None
    return name


def _tied_to_us() -> list[str]:
    """A prefix by which a program ends when we are killed; nothing where util-linux lacks it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []
