"""What this machine can do: whether it can run a node, and if not, what is missing."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from localcluster import cgroups, identity, image

# Program to the Debian package it is in.
PROGRAMS = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "ip": "iproute2"}
CNI_PLUGINS = ("ptp", "host-local", "loopback")
CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))

# Debian keeps some programs where a user's PATH doesn't look.
SEARCH_PATH = ":".join(
    (
        os.environ.get("PATH", ""),
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
    )
)

_CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_NET_ADMIN": 12}  # linux/capability.h
_KUBELETS = ("kubelet", "k3s-server", "k3s-agent", "k0s")


@dataclass(frozen=True)
class Equipment:
    """What a node needs of the machine: absolute paths, and the snapshotter that works here."""

    containerd: str
    ctr: str
    cni_plugins: Path
    snapshotter: str


def obstacle() -> str | None:
    """The first reason why no node can run here, as a sentence with its remedy; None if it can."""
    if os.geteuid() != 0:
        return "A node needs root: run this as root, or do without a node (--node no)."
    return _missing_capability() or _missing_package() or _unusable_cgroups() or _foreign_kubelet()


def equipment(state: Path) -> Equipment:
    """The programs of a node whose state lies in `state`, on a machine without an obstacle."""
    containerd, ctr = (shutil.which(name, path=SEARCH_PATH) for name in ("containerd", "ctr"))
    plugins = _plugin_directory()
    if containerd is None or ctr is None or plugins is None:
        raise LookupError("asked for equipment on a machine with an obstacle")
    mounts = Path("/proc/self/mountinfo").read_text("utf-8")
    return Equipment(containerd, ctr, plugins, snapshotter(mounts, state))


def snapshotter(mountinfo: str, state: Path) -> str:
    """containerd's snapshotter for a directory: an overlay can't lie on another overlay."""
    kinds = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kinds[before.split(" ")[4]] = after.split(" ", 1)[0]
    nearest = next((kinds[str(path)] for path in (state, *state.parents) if str(path) in kinds), "")
    return "native" if nearest == "overlay" else "overlayfs"


def missing_capabilities(status: str) -> list[str]:
    """The capabilities a node needs that the text of /proc/self/status doesn't grant."""
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    effective = int(line.split()[1], 16)
    return [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]


def _missing_capability() -> str | None:
    missing = missing_capabilities(Path("/proc/self/status").read_text())
    if not missing:
        return None
    return f"A node needs {' and '.join(missing)}, which this root lacks: run it outside the container."


def _missing_package() -> str | None:
    packages = [
        package for name, package in PROGRAMS.items() if not shutil.which(name, path=SEARCH_PATH)
    ]
    if _plugin_directory() is None:
        packages.append("containernetworking-plugins")
    if not image.BUSYBOX.exists() or not image.is_static(image.BUSYBOX.read_bytes()):
        packages.append("busybox-static")
    if not packages:
        return None
    names = " ".join(dict.fromkeys(packages))
    return (
        f"A node needs the Debian packages {names}:"
        " install them with `python3 deploy/local/cluster.py packages` as root."
    )


def _plugin_directory() -> Path | None:
    for directory in CNI_DIRECTORIES:
        if all(os.access(directory / plugin, os.X_OK) for plugin in CNI_PLUGINS):
            return directory
    return None


def _unusable_cgroups() -> str | None:
    found = cgroups.hierarchies()
    if not found or not all(os.access(hierarchy.path, os.W_OK) for hierarchy in found):
        return (
            "A node needs writable control groups: mount /sys/fs/cgroup, or run it outside the"
            " container."
        )
    if not all(cgroups.is_divisible(one.path) for one in found if one.unified):
        return (
            "A node needs control groups it can divide, but this container's hold processes: run it"
            " outside the container."
        )
    return None


def _foreign_kubelet() -> str | None:
    """Another Kubernetes' kubelet on this machine itself (not inside a container of its own)."""
    for pid in identity.all_pids():
        process = Path(f"/proc/{pid}")
        try:
            name = (process / "comm").read_text().strip()
            here = (process / "ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
        except OSError:
            continue
        if name in _KUBELETS and here:
            return f"This machine is a node of another Kubernetes already (process {pid}, {name}): stop that."
    return None
