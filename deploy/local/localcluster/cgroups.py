"""The node's own control groups, in every hierarchy of version 1 and in that of version 2."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localcluster import identity, processes
from localcluster.errors import ClusterError
from localcluster.nodeconfig import CGROUP_ROOT

_SECONDS = 20.0
_PAUSE = 0.05
_CPUSET = ("cpuset.cpus", "cpuset.mems")


@dataclass(frozen=True)
class Hierarchy:
    """One mounted control group hierarchy."""

    path: Path
    unified: bool


def parse_mounts(mountinfo: str) -> list[Hierarchy]:
    """The hierarchies in the text of /proc/self/mountinfo (proc(5))."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind = after.split(" ", 1)[0]
        if kind in ("cgroup", "cgroup2"):
            found.append(Hierarchy(Path(before.split(" ")[4]), kind == "cgroup2"))
    return found


def hierarchies() -> list[Hierarchy]:
    """The hierarchies mounted here."""
    return parse_mounts(Path("/proc/self/mountinfo").read_text("utf-8"))


def is_divisible(root: Path) -> bool:
    """Whether groups below the version 2 group `root` can get controllers.

    They can't where `root` is not the machine's own root (which has no cgroup.type), has processes
    and does not hand controllers down already (cgroups(7), "no internal processes").
    """
    controllers = set((root / "cgroup.controllers").read_text().split())
    handed_down = set((root / "cgroup.subtree_control").read_text().split())
    if not (root / "cgroup.type").exists() or controllers <= handed_down:
        return True
    return not (root / "cgroup.procs").read_text().strip()


def create() -> None:
    """Make the node's root group; the kubelet insists that it exists. Raises ClusterError."""
    for hierarchy in hierarchies():
        group = hierarchy.path / CGROUP_ROOT
        try:
            if hierarchy.unified:
                _delegate(hierarchy.path)
            group.mkdir(exist_ok=True)
            _inherit_cpuset(hierarchy.path, group)
        except OSError as error:
            raise ClusterError(
                f"The control group {group} could not be made: {error.strerror}."
            ) from None


def remove() -> bool:
    """Kill what runs in the node's groups and remove them; whether that was possible in time."""
    deadline = time.monotonic() + _SECONDS
    while remaining := [root for root in _roots() if not _remove_tree(root)]:
        if time.monotonic() > deadline:
            return False
        processes.kill(_members(remaining))
        time.sleep(_PAUSE)
    return True


def _delegate(root: Path) -> None:
    """Version 2: hand every controller down, one by one, since some may not be there."""
    for controller in (root / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):
            (root / "cgroup.subtree_control").write_text(f"+{controller}")


def _inherit_cpuset(parent: Path, group: Path) -> None:
    """Version 1: a new cpuset is empty, and nothing can run in an empty one."""
    for name in _CPUSET:
        if (group / name).exists() and not (group / name).read_text().strip():
            (group / name).write_text((parent / name).read_text().strip())


def _roots() -> list[Path]:
    return [root for hierarchy in hierarchies() if (root := hierarchy.path / CGROUP_ROOT).is_dir()]


def _remove_tree(root: Path) -> bool:
    """Remove `root` and the groups below, deepest first; whether all are gone."""
    with contextlib.suppress(FileNotFoundError):
        for directory, _, _ in os.walk(root, topdown=False):
            with contextlib.suppress(OSError):
                Path(directory).rmdir()
    return not root.is_dir()


def _members(roots: list[Path]) -> Iterator[identity.Identity]:
    for root in roots:
        for directory, _, _ in os.walk(root):
            for pid in _pids(Path(directory) / "cgroup.procs"):
                member = identity.of(pid)
                # Read after the identity: so it is this very process that is in our group.
                if member is not None and _is_ours(pid):
                    yield member


def _pids(listing: Path) -> list[int]:
    try:
        return [int(line) for line in listing.read_text().split()]
    except OSError:
        return []


def _is_ours(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
    return any(f"/{CGROUP_ROOT}/" in f"{line.split(':', 2)[2]}/" for line in text.splitlines())
