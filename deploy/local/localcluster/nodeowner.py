"""At most one node per machine: who holds it, and whether that holder still lives."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from localcluster import identity, locks, processes, store
from localcluster.errors import ClusterError
from localcluster.identity import Identity
from localcluster.layout import Layout

# The machine's, not the user's: nodes of different state directories exclude each other.
DIRECTORY = Path("/run/kubewhy")

NODE_PROGRAMS = ("containerd", "kubelet")


@dataclass(frozen=True)
class Owner:
    """The cluster that holds the machine's node, and the processes that prove it lives."""

    layout: Layout
    witnesses: tuple[Identity, ...]

    def lives(self) -> bool:
        """Whether a witness still runs, or a node program that the cluster itself recorded."""
        recorded = processes.recorded(self.layout.processes)
        own = (recorded[name] for name in NODE_PROGRAMS if name in recorded)
        return any(identity.is_alive(process) for process in (*self.witnesses, *own))


def read(directory: Path = DIRECTORY) -> Owner | None:
    """The recorded owner, dead or alive; None for who may not know: only root can be the owner."""
    try:
        content = store.read_json(directory / "node.json")
    except PermissionError:
        return None
    match content:
        case {"root": str(root), "name": str(name), "witnesses": list(witnesses)}:
            found = (identity.from_json(witness) for witness in witnesses)
            return Owner(Layout(Path(root), name), tuple(witness for witness in found if witness))
        case _:
            return None


def claim(
    layout: Layout,
    *,
    witness: Identity,
    clear: Callable[[Layout], None],
    directory: Path = DIRECTORY,
) -> str | None:
    """Make `layout` the owner, alive as long as `witness`; None, or the sentence why it can't be.

    The caller holds the lock of `layout`. What a dead owner left behind is removed by `clear` first.
    """
    with locks.exclusive(directory / "node.lock", waiting=lambda: None):
        owner = read(directory)
        if owner is not None and owner.layout != layout:
            refusal = _refusal(owner, clear)
            if refusal is not None:
                return refusal
        _write(directory, layout, [witness])
    return None


def attest(layout: Layout, witnesses: Iterable[Identity], *, directory: Path = DIRECTORY) -> None:
    """Let the node's own processes stand for its owner, which `layout` has to be."""
    with locks.exclusive(directory / "node.lock", waiting=lambda: None):
        owner = read(directory)
        if owner is None or owner.layout != layout:
            raise ClusterError(
                f"Cluster {layout.name} lost the machine's node while it started it."
            )
        _write(directory, layout, witnesses)


def release(layout: Layout, *, directory: Path = DIRECTORY) -> None:
    """Give the node up, if `layout` is its owner."""
    with locks.exclusive(directory / "node.lock", waiting=lambda: None):
        owner = read(directory)
        if owner is not None and owner.layout == layout:
            (directory / "node.json").unlink(missing_ok=True)


def _refusal(owner: Owner, clear: Callable[[Layout], None]) -> str | None:
    name = owner.layout.name
    if owner.lives():
        return (
            f"This machine's node belongs to cluster {name} ({owner.layout.directory}), and a machine runs"
            f" one kubelet at most: remove that cluster (down --name {name}) or use --node no."
        )
    # Not waiting for the lock: its holder may be waiting for ours.
    with locks.attempt(owner.layout.lock) as held:
        if not held:
            return f"This machine's node is just being given up by cluster {name}: try again in a moment."
        clear(owner.layout)
    return None


def _write(directory: Path, layout: Layout, witnesses: Iterable[Identity]) -> None:
    store.write_json(
        directory / "node.json",
        {
            "root": str(layout.root),
            "name": layout.name,
            "witnesses": [witness.to_json() for witness in witnesses],
        },
    )
