"""What a node changes on the machine outside its own directory, and how it is undone."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from localcluster import identity, store

# What kubelet 1.34 (pkg/kubelet/cm, setupKernelTunables) and the ptp plugin set.
SET_BY_NODE: Mapping[str, str] = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
    "net/ipv4/ip_forward": "1",
}

_SYSCTL = Path("/proc/sys")


@dataclass(frozen=True)
class Before:
    """The machine before the node: kernel settings, directories to be made, the pods' network.

    boot: the id of the boot it was seen in; a later one starts with the machine's own settings.
    """

    boot: str
    sysctls: Mapping[str, str]
    directories: tuple[Path, ...]
    subnet: IPv4Network


def look(*, targets: Iterable[Path], subnet: IPv4Network) -> Before:
    """What is to be remembered, where `targets` are the directories the node needs to exist."""
    sysctls = {name: value for name in SET_BY_NODE if (value := _read(name)) is not None}
    return Before(identity.current_boot(), sysctls, tuple(missing(targets)), subnet)


def missing(targets: Iterable[Path]) -> list[Path]:
    """The directories to make for `targets` to exist, parents before children, each once."""
    wanted = (path for target in targets for path in (*reversed(target.parents), target))
    return list(dict.fromkeys(path for path in wanted if not path.is_dir()))


def save(path: Path, before: Before) -> None:
    """Write `before` to `path`; do this before anything is changed."""
    store.write_json(
        path,
        {
            "boot": before.boot,
            "sysctls": dict(before.sysctls),
            "directories": [str(directory) for directory in before.directories],
            "subnet": str(before.subnet),
        },
    )


def load(path: Path) -> Before | None:
    """What `save` wrote to `path`; None where it never came to that."""
    match store.read_json(path):
        case {
            "boot": str(boot),
            "sysctls": dict(sysctls),
            "directories": list(directories),
            "subnet": str(subnet),
        }:
            return Before(boot, sysctls, tuple(map(Path, directories)), IPv4Network(subnet))
        case _:
            return None


def to_restore(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The kernel settings to put back: those that the node changed and nobody else has since."""
    return {
        name: value
        for name, value in before.items()
        if now.get(name) == SET_BY_NODE.get(name) and now.get(name) != value
    }


def undo(before: Before) -> None:
    """Put kernel settings back and remove the directories that were made, as far as empty."""
    if before.boot == identity.current_boot():
        now = {name: value for name in before.sysctls if (value := _read(name)) is not None}
        for name, value in to_restore(before.sysctls, now).items():
            with contextlib.suppress(OSError):
                (_SYSCTL / name).write_text(value)
    for directory in reversed(before.directories):
        with contextlib.suppress(OSError):
            directory.rmdir()


def _read(name: str) -> str | None:
    try:
        return (_SYSCTL / name).read_text().strip()
    except OSError:
        return None
