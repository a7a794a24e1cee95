"""Mount namespaces: the node's mounts are its own and vanish with its last process.

Called in a child between fork and exec. Python offers unshare and setns from 3.12 on, mount never.
"""

import ctypes
import os
import re
from collections.abc import Mapping
from pathlib import Path

_CLONE_NEWNS = 0x00020000  # sched.h
_MS_BIND = 4096  # sys/mount.h, this and the next three
_MS_REC = 16384
_MS_SLAVE = 1 << 19
_MS_SHARED = 1 << 20
_MNT_DETACH = 2


def enter_new(binds: Mapping[Path, Path]) -> None:
    """Move this process into a mount namespace of its own and bind sources over targets.

    binds: target (existing directory) to source. Mounts of the machine still arrive, none goes back.
    Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(_CLONE_NEWNS), "unshare the mount namespace")
    _mount(libc, None, Path("/"), _MS_REC | _MS_SLAVE)
    # Shared among the node's own containers, so that mount propagation works as on any node.
    _mount(libc, None, Path("/"), _MS_REC | _MS_SHARED)
    for target, source in binds.items():
        _mount(libc, source, target, _MS_BIND)


def enter(pid: int) -> None:
    """Move this process into the mount namespace of the process `pid`. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(libc.setns(handle, _CLONE_NEWNS), f"enter the mount namespace of process {pid}")
    finally:
        os.close(handle)


def unmount_below(directory: Path) -> None:
    """Unmount whatever is mounted below `directory` in our own namespace, deepest first."""
    libc = ctypes.CDLL(None, use_errno=True)
    mountinfo = Path("/proc/self/mountinfo").read_text("utf-8")
    for path in sorted(mounts_below(mountinfo, directory), reverse=True):
        libc.umount2(os.fsencode(path), _MNT_DETACH)


def mounts_below(mountinfo: str, directory: Path) -> list[Path]:
    """Mount points below `directory` in the text of /proc/self/mountinfo, which escapes blanks."""
    points = (_unescape(line.split(" ")[4]) for line in mountinfo.splitlines())
    return [path for point in points if directory in (path := Path(point)).parents]


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def _mount(libc: ctypes.CDLL, source: Path | None, target: Path, flags: int) -> None:
    origin = None if source is None else os.fsencode(source)
    result = libc.mount(origin, os.fsencode(target), None, ctypes.c_ulong(flags), None)
    _check(result, f"mount {source or 'propagation'} on {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"can't {what}: {os.strerror(number)}")
