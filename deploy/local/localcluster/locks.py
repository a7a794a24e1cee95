"""Exclusive locks between processes, given up by the kernel when their holder dies."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def exclusive(path: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file `path`; calls `waiting` once when another holds it, then waits.

    The descriptor is closed on exec but survives a fork: a child that has not yet become the
    program it is to run still holds the lock, so nobody can miss it.
    """
    descriptor = _try(path)
    if descriptor is None:
        waiting()
        descriptor = _wait(path)
    try:
        yield
    finally:
        _release(path, descriptor)


@contextlib.contextmanager
def attempt(path: Path) -> Iterator[bool]:
    """Hold the lock file `path` if nobody else does; yields whether it is held."""
    descriptor = _try(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _release(path, descriptor)


def _try(path: Path) -> int | None:
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if _is_current(path, descriptor):
            return descriptor
        os.close(descriptor)


def _wait(path: Path) -> int:
    while True:
        descriptor = _open(path)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_current(path, descriptor):
            return descriptor
        os.close(descriptor)


def _open(path: Path) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The directory goes with its last lock, maybe between these two lines.
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _is_current(path: Path, descriptor: int) -> bool:
    """Whether `path` still names the locked file: its last holder has deleted it else."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _release(path: Path, descriptor: int) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()
    os.close(descriptor)
