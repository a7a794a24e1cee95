"""Who a process is: its id alone is reused, together with its start time it isn't."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Set in the environment of every program of a cluster to the cluster's directory, and inherited by
# what they start (containerd's shims): finds processes of which no record was kept.
MARKER = "KUBEWHY_LOCAL_CLUSTER"

_PROC = Path("/proc")
_START_TIME = 21  # index of starttime (field 22 of proc(5)) counted from the pid
_DELETED = " (deleted)"


@dataclass(frozen=True)
class Identity:
    """One process for good: pid, start time in clock ticks since boot, and that boot's id."""

    pid: int
    started: int
    boot: str
    executable: str | None = None

    def to_json(self) -> dict[str, object]:
        """The form stored in files."""
        return {
            "pid": self.pid,
            "started": self.started,
            "boot": self.boot,
            "executable": self.executable,
        }


def from_json(content: Any) -> Identity | None:
    """The Identity in parsed JSON; None where it holds none."""
    match content:
        case {"pid": int(pid), "started": int(started), "boot": str(boot)}:
            executable = content.get("executable")
            return Identity(pid, started, boot, executable if isinstance(executable, str) else None)
        case _:
            return None


def parse_stat(stat: str) -> tuple[str, int]:
    """State letter and start time from /proc/<pid>/stat.

    The command name in it is in parentheses and may itself hold spaces and parentheses.
    """
    fields = stat[stat.rindex(")") + 1 :].split()
    return fields[0], int(fields[_START_TIME - 2])


def current_boot() -> str:
    """The id of the running boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def of(pid: int, *, executable: str | None = None) -> Identity | None:
    """The identity of the live process `pid`; None where there is none (or only a zombie)."""
    try:
        state, started = parse_stat((_PROC / str(pid) / "stat").read_text())
    except (OSError, ValueError):
        return None
    if state in "ZX":
        return None
    return Identity(pid, started, current_boot(), executable)


def ourselves() -> Identity:
    """The identity of this process."""
    me = of(os.getpid())
    if me is None:
        raise RuntimeError("/proc does not show this process: mount it")
    return me


def is_alive(identity: Identity) -> bool:
    """Whether the process itself still runs: same start time, same boot, and the recorded program."""
    now = of(identity.pid)
    if now is None or (now.started, now.boot) != (identity.started, identity.boot):
        return False
    return identity.executable is None or _executable(identity.pid) == identity.executable


def marked(directory: Path) -> Iterator[Identity]:
    """Live processes whose environment carries the MARKER of the cluster in `directory`."""
    wanted = f"{MARKER}={directory}".encode()
    for pid in all_pids():
        found = of(pid)
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:
            continue
        if found is not None and wanted in environment.split(b"\0"):
            yield found


def all_pids() -> list[int]:
    """The ids of all processes that can be seen."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def _executable(pid: int) -> str | None:
    try:
        return str((_PROC / str(pid) / "exe").readlink()).removesuffix(_DELETED)
    except OSError:
        return None
