"""Bring a cluster up, reuse it, take it down; each under the lock of its name."""

import contextlib
import enum
import functools
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from localcluster import (
    build,
    controlplane,
    identity,
    locks,
    machine,
    namespaces,
    node,
    nodeowner,
    processes,
    store,
)
from localcluster.errors import ClusterError
from localcluster.identity import Identity
from localcluster.layout import Layout
from localcluster.progress import Progress

_SWEEPS = 10


class NodeChoice(enum.StrEnum):
    """Whether a cluster gets a node: if the machine can, always (or fail), never."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


def up(layout: Layout, choice: NodeChoice, *, cache: Path, progress: Progress) -> None:
    """Make sure the cluster runs. Raises ClusterError, after stopping what it has started."""
    with _locked(layout, progress):
        if _reuse(layout, choice, progress):
            return
    # Not under the lock: a build takes minutes, in which `down` shall not have to wait.
    binary = build.ensure(cache, progress)
    with _locked(layout, progress):
        if not _reuse(layout, choice, progress):
            _start(layout, choice, binary=binary, progress=progress)


def down(layout: Layout, progress: Progress) -> None:
    """Remove the cluster and all it left on the machine. Raises ClusterError."""
    with _locked(layout, progress):
        known = layout.directory.exists()
        _remove(layout)
    for directory in (layout.directory.parent, layout.root):
        with contextlib.suppress(OSError):
            directory.rmdir()
    progress.say(f"cluster {layout.name} {'is removed' if known else 'was not there'}")


@contextlib.contextmanager
def _locked(layout: Layout, progress: Progress) -> Iterator[None]:
    busy = f"cluster {layout.name} is being started or stopped by another process: waiting for it"
    with locks.exclusive(layout.lock, waiting=lambda: progress.say(busy)):
        yield


def _reuse(layout: Layout, choice: NodeChoice, progress: Progress) -> bool:
    """Whether the cluster runs already; gives it a node if one is demanded and it has none."""
    record = store.load_record(layout.record)
    if record is None or not controlplane.is_running(layout):
        return False
    if node.exists(layout) and not node.is_running(layout):
        return False
    controlplane.await_ready(layout, record)
    if node.exists(layout):
        node.await_ready(layout, record)
        progress.say(f"cluster {layout.name} runs already, with a node")
        return True
    progress.say(f"cluster {layout.name} runs already, without a node")
    if choice is NodeChoice.YES and _claim_node(layout, choice, progress):
        with _on_failure(functools.partial(_remove_node, layout)):
            node.start(layout, record, progress)
    return True


def _start(layout: Layout, choice: NodeChoice, *, binary: Path, progress: Progress) -> None:
    if layout.directory.exists():
        progress.say(f"cluster {layout.name} is not whole: removing its leftovers")
    _remove(layout)
    with _on_failure(functools.partial(_halt, layout)):
        with_node = _claim_node(layout, choice, progress)
        record = controlplane.start(layout, binary=binary, progress=progress)
        if with_node:
            node.start(layout, record, progress)


def _claim_node(layout: Layout, choice: NodeChoice, progress: Progress) -> bool:
    """Whether the cluster gets the machine's node. Raises ClusterError if it must and can't."""
    if choice is NodeChoice.NO:
        return False
    refusal = machine.obstacle() or nodeowner.claim(
        layout, witness=identity.ourselves(), clear=_clear_dead_owner
    )
    if refusal is None:
        return True
    if choice is NodeChoice.YES:
        raise ClusterError(refusal)
    progress.say(f"coming up without a node. {refusal}")
    return False


@contextlib.contextmanager
def _on_failure(undo: Callable[[], None]) -> Iterator[None]:
    """Undo what was started when going on fails or is interrupted."""
    try:
        yield
    except BaseException:
        undo()
        raise


def _remove(layout: Layout) -> None:
    _halt(layout)
    namespaces.unmount_below(layout.directory)
    if layout.directory.exists():
        shutil.rmtree(layout.directory)


def _halt(layout: Layout) -> None:
    """End every program and container of the cluster; files stay, to be looked at."""
    _end_programs(layout, spared=())
    _give_node_up(layout)


def _remove_node(layout: Layout) -> None:
    """Take the node from a control plane that goes on."""
    _end_node_programs(layout)
    _give_node_up(layout)
    shutil.rmtree(layout.node, ignore_errors=True)


def _give_node_up(layout: Layout) -> None:
    """Undo what the node did to the machine, if it is ours: another's containers look the same."""
    owner = nodeowner.read()
    if owner is not None and owner.layout == layout:
        processes.kill(witness for witness in owner.witnesses if witness.pid != os.getpid())
        node.clear(layout)
        nodeowner.release(layout)


def _clear_dead_owner(layout: Layout) -> None:
    """Remove the remains of another cluster's node; its control plane may well be in use."""
    _end_node_programs(layout)
    node.clear(layout)


def _end_node_programs(layout: Layout) -> None:
    recorded = processes.recorded(layout.processes)
    _end_programs(
        layout, spared=[recorded[name] for name in controlplane.PROGRAMS if name in recorded]
    )


def _end_programs(layout: Layout, *, spared: Collection[Identity]) -> None:
    """Kill recorded programs and whatever carries the cluster's mark, until there is none."""
    spared_pids = {process.pid for process in spared if identity.is_alive(process)}
    living: list[Identity] = []
    for _ in range(_SWEEPS):
        known = (*processes.recorded(layout.processes).values(), *identity.marked(layout.directory))
        living = [one for one in known if one.pid not in spared_pids and identity.is_alive(one)]
        if not living:
            return
        processes.kill(living)
    numbers = ", ".join(str(one.pid) for one in living)
    raise ClusterError(
        f"Programs of cluster {layout.name} would not end: look at processes {numbers} and try again."
    )
