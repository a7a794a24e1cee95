"""The control plane: its files, its programs, and whether it is whole."""

import json
from pathlib import Path

from localcluster import accounts, certificates, network, processes, programs, store
from localcluster.accounts import Account
from localcluster.apiclient import Api
from localcluster.launch import await_that, launch
from localcluster.layout import Layout, existing_names
from localcluster.progress import Progress
from localcluster.store import ClusterRecord

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

_READY_SECONDS = 120.0


def start(layout: Layout, *, binary: Path, progress: Progress) -> ClusterRecord:
    """Make and start a new control plane in the empty place of `layout`. Raises ClusterError."""
    record = ClusterRecord(port=network.free_port(_ports_of_others(layout)), binary=str(binary))
    _write_files(layout, record)
    progress.say("certificates, tokens and kubeconfigs made")
    running = {
        "etcd": launch(layout, "etcd", [str(binary), *programs.etcd(layout)]),
        "kube-apiserver": launch(
            layout, "kube-apiserver", [str(binary), *programs.apiserver(layout, port=record.port)]
        ),
    }
    api = client(layout, record)
    await_that(
        "API server ready", api.is_ready, layout=layout, running=running, seconds=_READY_SECONDS
    )
    progress.say(f"API server ready on port {record.port}")
    for argv in (
        programs.controller_manager(
            layout, kubeconfig=kubeconfig_of(layout, "kube-controller-manager")
        ),
        programs.scheduler(kubeconfig=kubeconfig_of(layout, "kube-scheduler")),
    ):
        launch(layout, argv[0], [str(binary), *argv])
    await_ready(layout, record)
    progress.say("controllers work")
    return record


def await_ready(layout: Layout, record: ClusterRecord) -> None:
    """Wait until requests are answered and pods can be made. Raises ClusterError."""
    api = client(layout, record)
    await_that(
        "API server ready and ServiceAccount default/default made",
        lambda: api.is_ready() and api.has_default_account(),
        layout=layout,
        running=processes.recorded(layout.processes, PROGRAMS),
        seconds=_READY_SECONDS,
    )


def is_running(layout: Layout) -> bool:
    """Whether all programs of the control plane run; a killed `up` may have started only some."""
    return layout.kubeconfig.exists() and processes.are_alive(layout.processes, PROGRAMS)


def client(layout: Layout, record: ClusterRecord) -> Api:
    """A client with the administrator's rights."""
    users = store.read_json(layout.users) or {}
    return Api(record.port, layout.pki / "ca.crt", users["admin"]["token"])


def kubeconfig_of(layout: Layout, program: str) -> Path:
    """The kubeconfig of one of the cluster's own programs."""
    return layout.directory / f"{program}.kubeconfig"


def _write_files(layout: Layout, record: ClusterRecord) -> None:
    layout.directory.mkdir(parents=True, mode=0o700)
    for directory in (layout.etcd, layout.processes, layout.logs):
        directory.mkdir(mode=0o700)
    certificates.create(layout.pki)
    everyone = accounts.create()
    store.write_text(layout.tokens, accounts.token_file(everyone))
    store.write_json(layout.users, accounts.users_file(everyone))
    for user in accounts.SYSTEM_USERS:
        account = accounts.named(everyone, user)
        program = "kubelet" if user.startswith("system:node:") else user.removeprefix("system:")
        _write_kubeconfig(layout, kubeconfig_of(layout, program), record, [account])
    people = [accounts.named(everyone, user) for user in accounts.TEST_USERS]
    _write_kubeconfig(layout, layout.kubeconfig, record, people)
    store.save_record(layout.record, record)


def _write_kubeconfig(
    layout: Layout, path: Path, record: ClusterRecord, people: list[Account]
) -> None:
    content = accounts.kubeconfig(
        cluster=f"kubewhy-{layout.name}",
        server=f"https://127.0.0.1:{record.port}",
        authority=(layout.pki / "ca.crt").read_bytes(),
        accounts=people,
    )
    store.write_text(path, json.dumps(content, indent=2) + "\n")


def _ports_of_others(layout: Layout) -> set[int]:
    """Ports that other clusters hold, even if just now nobody listens on them."""
    records = (store.load_record(layout.named(name).record) for name in existing_names(layout.root))
    return {record.port for record in records if record is not None}
