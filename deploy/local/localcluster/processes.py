"""Start programs that outlive us, and end them without ever hitting a stranger."""

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from localcluster import identity, store
from localcluster.errors import ClusterError
from localcluster.identity import Identity

_TAIL_BYTES = 4096
_TAIL_LINES = 15
_DEATH_SECONDS = 20.0
_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Program:
    """A program to start: `name` names its record and log; argv[0] is an absolute path."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    record: Path
    log: Path


def nothing() -> None:
    """The default preparation of a child."""


def start(program: Program, *, prepare: Callable[[], None] = nothing) -> Identity:
    """Start `program` in a session of its own and return who it is.

    The child writes its own record before it becomes the program, so there is no moment at which
    the program runs without one. `prepare` runs in the child first. Raises ClusterError.
    """
    program.log.parent.mkdir(parents=True, exist_ok=True)
    # Interrupted between fork and exec, we would not know the child by what it is recorded as.
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
    try:
        pid, failure = _fork(program, prepare)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    if failure:
        os.waitpid(pid, 0)
        raise ClusterError(f"{program.name} could not be started: {failure}.")
    started = identity.of(pid, executable=os.path.realpath(program.argv[0]))
    if started is None:
        raise ClusterError(f"{program.name} ended at once: {tail(program.log)}")
    return started


def recorded(directory: Path, names: Collection[str] | None = None) -> dict[str, Identity]:
    """Program name to identity, from the records in `directory`, dead ones included.

    names: only these programs, if given.
    """
    found = {
        path.stem: identity.from_json(store.read_json(path)) for path in directory.glob("*.json")
    }
    return {
        name: process
        for name, process in found.items()
        if process is not None and (names is None or name in names)
    }


def are_alive(directory: Path, names: Collection[str]) -> bool:
    """Whether every program of `names` is recorded in `directory` and runs."""
    found = recorded(directory, names)
    return len(found) == len(names) and all(map(identity.is_alive, found.values()))


def kill(processes: Iterable[Identity]) -> list[Identity]:
    """Kill those of `processes` that live, wait for their end, and return those that would not die."""
    handles = [(process, handle) for process in processes if (handle := _open(process)) is not None]
    for _, handle in handles:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    deadline = time.monotonic() + _DEATH_SECONDS
    survivors = [process for process, handle in handles if not _ended(handle, deadline)]
    for process, handle in handles:
        os.close(handle)
        _reap(process.pid)
    return survivors


def has_ended(process: Identity) -> bool:
    """Whether a process that we started is gone."""
    _reap(process.pid)
    return not identity.is_alive(process)


def tail(log: Path) -> str:
    """The last lines of a log, for an error message."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return f"nothing in {log}"
    return "\n".join([f"the end of {log} says", *text.splitlines()[-_TAIL_LINES:]])


def _fork(program: Program, prepare: Callable[[], None]) -> tuple[int, str]:
    """The child's pid and why it could not become `program`, "" if it did."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _become(program, prepare, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:  # ends when exec closes the child's end
        return pid, pipe.read(_TAIL_BYTES).decode(errors="replace")


def _become(program: Program, prepare: Callable[[], None], writer: int) -> NoReturn:
    """In the child: detach, record who we are, turn into the program; errors go to `writer`."""
    try:
        os.setsid()
        _redirect(program.log)
        prepare()
        os.chdir(program.directory)
        me = identity.of(os.getpid(), executable=os.path.realpath(program.argv[0]))
        if me is not None:
            store.write_text(program.record, json.dumps(me.to_json()) + "\n")
        _default_signals()
        os.execve(program.argv[0], list(program.argv), dict(program.environment))
    except BaseException as error:  # noqa: BLE001 (nothing of the parent's code may run in the child)
        os.write(writer, str(error).encode()[:_TAIL_BYTES] or b"unknown reason")
    os._exit(127)


def _redirect(log: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _default_signals() -> None:
    # Python ignores SIGPIPE and ignored signals stay ignored across exec.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _open(process: Identity) -> int | None:
    """A descriptor of exactly this live process, which no other can take the place of."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    if identity.is_alive(process):
        return handle
    os.close(handle)
    return None


def _ended(handle: int, deadline: float) -> bool:
    ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
    return bool(ready)


def _reap(pid: int) -> None:
    """Collect the exit of a child of ours; others are their parent's business."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
