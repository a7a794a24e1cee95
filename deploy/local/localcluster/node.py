"""The node: containerd and a kubelet in a mount namespace of their own."""

import functools
import subprocess
from pathlib import Path

from localcluster import (
    cgroups,
    controlplane,
    image,
    machine,
    namespaces,
    network,
    nodeconfig,
    nodeowner,
    processes,
    programs,
    store,
    traces,
)
from localcluster.errors import ClusterError
from localcluster.identity import Identity
from localcluster.launch import await_that, environment, launch
from localcluster.layout import Layout
from localcluster.nodeconfig import Places
from localcluster.progress import Progress
from localcluster.store import ClusterRecord

_START_SECONDS = 60.0
_READY_SECONDS = 120.0
_IMPORT_SECONDS = 120


def start(layout: Layout, record: ClusterRecord, progress: Progress) -> None:
    """Add the node to a running control plane; the caller has claimed it. Raises ClusterError."""
    equipment = machine.equipment(layout.directory)
    places = Places(layout.node)
    _prepare(places)
    _write_files(layout, places, equipment)
    containerd = _start_containerd(layout, places, equipment)
    progress.say(f"containerd runs and holds the image {nodeconfig.IMAGE}")
    _start_kubelet(layout, record, places, containerd)
    await_ready(layout, record)
    progress.say(f"node {programs.NODE_NAME} is Ready")


def await_ready(layout: Layout, record: ClusterRecord) -> None:
    """Wait until pods can run, and let the node's programs stand for its owner.

    Raises ClusterError.
    """
    running = processes.recorded(layout.processes, nodeowner.NODE_PROGRAMS)
    nodeowner.attest(layout, running.values())
    await_that(
        "Node Ready",
        functools.partial(controlplane.client(layout, record).is_node_ready, programs.NODE_NAME),
        layout=layout,
        running=running,
        seconds=_READY_SECONDS,
    )


def exists(layout: Layout) -> bool:
    """Whether the cluster was given a node."""
    return layout.node.is_dir()


def is_running(layout: Layout) -> bool:
    """Whether the programs of the node run."""
    return processes.are_alive(layout.processes, nodeowner.NODE_PROGRAMS)


def clear(layout: Layout) -> None:
    """Remove what a node left on the machine, but for files below the cluster's directory.

    Its programs must have ended. Raises ClusterError.
    """
    if not cgroups.remove():
        raise ClusterError(
            f"Containers of cluster {layout.name} would not end: look for processes in control group"
            f" {nodeconfig.CGROUP_ROOT} and try again."
        )
    before = traces.load(Places(layout.node).before)
    if before is not None:
        network.remove_links(before.subnet)
        traces.undo(before)


def _prepare(places: Places) -> None:
    """Remember the machine as it is, then make what the node needs on it."""
    before = traces.look(targets=places.binds, subnet=network.choose_subnet(network.covered()))
    traces.save(places.before, before)
    for directory in (*before.directories, *places.binds.values(), places.network):
        directory.mkdir(parents=True, exist_ok=True)
    store.write_text(places.network / "10-kubewhy.conflist", nodeconfig.pod_network(before.subnet))
    cgroups.create()


def _write_files(layout: Layout, places: Places, equipment: machine.Equipment) -> None:
    containerd = nodeconfig.containerd(
        root=places.root / "lib-containerd",
        network=places.network,
        plugins=equipment.cni_plugins,
        snapshotter=equipment.snapshotter,
    )
    kubelet = nodeconfig.kubelet(
        port=network.free_port(()),
        authority=layout.pki / "ca.crt",
        certificate=layout.pki / "kubelet.crt",
        key=layout.pki / "kubelet.key",
        plugins=places.root / "volume-plugins",
    )
    store.write_text(places.containerd_config, containerd)
    store.write_text(places.kubelet_config, kubelet)
    image.write(places.image, reference=nodeconfig.IMAGE)


def _start_containerd(layout: Layout, places: Places, equipment: machine.Equipment) -> Identity:
    containerd = launch(
        layout,
        "containerd",
        [equipment.containerd, "--config", str(places.containerd_config)],
        prepare=functools.partial(namespaces.enter_new, places.binds),
    )
    socket = places.binds[Path(nodeconfig.SOCKET).parent] / Path(nodeconfig.SOCKET).name
    await_that(
        "containerd answers",
        socket.exists,
        layout=layout,
        running={"containerd": containerd},
        seconds=_START_SECONDS,
    )
    _import(layout, places, equipment, containerd)
    return containerd


def _import(
    layout: Layout, places: Places, equipment: machine.Equipment, containerd: Identity
) -> None:
    """Load the image, from inside the node, where containerd's socket has a short path."""
    argv = [
        equipment.ctr,
        f"--address={nodeconfig.SOCKET}",
        "--namespace=k8s.io",
        "images",
        "import",
    ]
    try:
        done = subprocess.run(
            [*argv, f"--snapshotter={equipment.snapshotter}", str(places.image)],
            preexec_fn=functools.partial(namespaces.enter, containerd.pid),
            env=environment(layout),
            capture_output=True,
            text=True,
            timeout=_IMPORT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(
            f"containerd did not take the image {nodeconfig.IMAGE} in time."
        ) from None
    if done.returncode != 0:
        last = done.stderr.strip()[-300:]
        raise ClusterError(f"containerd refused the image {nodeconfig.IMAGE}: {last}.")


def _start_kubelet(
    layout: Layout, record: ClusterRecord, places: Places, containerd: Identity
) -> None:
    arguments = programs.kubelet(
        kubeconfig=controlplane.kubeconfig_of(layout, "kubelet"), config=places.kubelet_config
    )
    launch(
        layout,
        "kubelet",
        [record.binary, *arguments],
        prepare=functools.partial(namespaces.enter, containerd.pid),
    )
