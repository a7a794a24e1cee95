"""Start the programs of one cluster and wait until they do their work."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from localcluster import identity, machine, processes
from localcluster.errors import ClusterError
from localcluster.identity import Identity
from localcluster.layout import Layout

_PAUSE = 0.1


def launch(
    layout: Layout,
    name: str,
    argv: Sequence[str],
    *,
    prepare: Callable[[], None] = processes.nothing,
) -> Identity:
    """Start `argv` as the program `name` of the cluster. Raises ClusterError."""
    layout.scratch.mkdir(parents=True, exist_ok=True)
    program = processes.Program(
        name=name,
        argv=argv,
        environment=environment(layout),
        directory=layout.directory,
        record=layout.processes / f"{name}.json",
        log=layout.logs / f"{name}.log",
    )
    return processes.start(program, prepare=prepare)


def environment(layout: Layout) -> dict[str, str]:
    """All that the programs get to know of ours: no proxies, no credentials."""
    return {
        "PATH": machine.SEARCH_PATH,
        "HOME": str(layout.directory),
        "TMPDIR": str(layout.scratch),
        identity.MARKER: str(layout.directory),
    }


def await_that(
    what: str,
    holds: Callable[[], bool],
    *,
    layout: Layout,
    running: Mapping[str, Identity],
    seconds: float,
) -> None:
    """Wait until `holds`, as long as the programs `running` do run. Raises ClusterError."""
    deadline = time.monotonic() + seconds
    while not holds():
        for name in _ended(running):
            raise ClusterError(f"{name} of cluster {layout.name} ended: {_log(layout, name)}")
        if time.monotonic() > deadline:
            name = list(running)[-1]
            raise ClusterError(f"{what}: not within {seconds:.0f} seconds; {_log(layout, name)}")
        time.sleep(_PAUSE)


def _ended(running: Mapping[str, Identity]) -> Iterable[str]:
    return (name for name, process in running.items() if processes.has_ended(process))


def _log(layout: Layout, name: str) -> str:
    return processes.tail(layout.logs / f"{name}.log")
