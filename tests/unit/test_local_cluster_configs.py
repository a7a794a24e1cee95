"""What the local cluster writes: command lines, configurations, accounts, image, certificates."""

import base64
import csv
import io
import json
import os
import ssl
import struct
import subprocess
import tarfile
import tomllib
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from localcluster import (
    accounts,
    apiclient,
    build,
    certificates,
    cgroups,
    image,
    nodeconfig,
    programs,
    store,
)
from localcluster.layout import Layout
from localcluster.store import ClusterRecord

_LAYOUT = Layout(Path("/s p/root"), "x")


def test_every_program_of_the_control_plane_keeps_to_loopback_or_sockets() -> None:
    etcd = programs.etcd(_LAYOUT)
    listening = [flag for flag in etcd if flag.startswith("--listen-")]
    assert len(listening) == 2
    assert all("=unix:///s p/root/clusters/x/etcd/" in flag for flag in listening)
    apiserver = programs.apiserver(_LAYOUT, port=23456)
    assert "--bind-address=127.0.0.1" in apiserver
    assert "--secure-port=23456" in apiserver
    assert not any("audit" in flag for flag in apiserver)
    others = (
        programs.controller_manager(_LAYOUT, kubeconfig=Path("/k")),
        programs.scheduler(kubeconfig=Path("/k")),
    )
    for argv in others:
        assert "--secure-port=0" in argv
        assert "--leader-elect=false" in argv


def test_the_kubelet_serves_no_stranger_and_leaves_the_firewall_alone() -> None:
    text = nodeconfig.kubelet(
        port=25000,
        authority=Path("/ca"),
        certificate=Path("/c"),
        key=Path("/k"),
        plugins=Path("/p"),
    )
    config = json.loads(text)
    assert config["address"] == "127.0.0.1"
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authorization"] == {"mode": "Webhook"}
    assert config["makeIPTablesUtilChains"] is False
    assert config["clusterDNS"] == [programs.CLUSTER_DNS]
    assert config["evictionHard"] == {}


def test_containerds_configuration_survives_odd_paths() -> None:
    root = Path('/a "quoted" \\ path')
    text = nodeconfig.containerd(
        root=root, network=Path("/n"), plugins=Path("/p"), snapshotter="native"
    )
    config = tomllib.loads(text)
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    assert config["root"] == str(root)
    assert cri["sandbox_image"] == nodeconfig.IMAGE
    assert cri["restrict_oom_score_adj"] is True
    assert cri["stream_server_address"] == "127.0.0.1"
    assert cri["containerd"]["snapshotter"] == "native"


def test_the_pod_network_is_the_chosen_one() -> None:
    config = json.loads(nodeconfig.pod_network(IPv4Network("10.9.8.0/24")))
    (plugin,) = config["plugins"]
    assert (plugin["type"], plugin["ipMasq"]) == ("ptp", False)
    assert plugin["ipam"]["subnet"] == "10.9.8.0/24"


def test_accounts_have_tokens_of_their_own_and_the_groups_they_should() -> None:
    everyone = accounts.create()
    rows = list(csv.reader(io.StringIO(accounts.token_file(everyone))))
    assert len({row[0] for row in rows}) == len(rows) == len(everyone)
    groups = {row[1]: row[3] for row in rows}
    assert groups["admin"] == "system:masters"
    assert groups["system:node:localhost"] == "system:nodes"
    assert [user for user, group in groups.items() if "system:masters" in group] == ["admin"]
    listed = accounts.users_file(everyone)
    assert {"admin", "alice", "bob", "approver", "viewer"} <= set(listed)
    assert not any(user.startswith("system:") for user in listed)
    assert [account.token for account in everyone] != [
        account.token for account in accounts.create()
    ]


def test_a_kubeconfig_starts_as_its_first_account() -> None:
    everyone = accounts.create()
    content = accounts.kubeconfig(
        cluster="c", server="https://127.0.0.1:1", authority=b"PEM", accounts=everyone[:2]
    )
    text = json.loads(json.dumps(content))
    (context,) = text["contexts"]
    assert context["context"]["user"] == "admin" == text["users"][0]["name"]
    authority = text["clusters"][0]["cluster"]["certificate-authority-data"]
    assert base64.b64decode(authority) == b"PEM"


def test_certificates_verify_for_the_names_they_serve(tmp_path: Path) -> None:
    certificates.create(tmp_path)
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    assert len(context.get_ca_certs()) == 1
    for leaf in certificates.LEAVES:
        verified = subprocess.run(
            ["openssl", "verify", "-CAfile", "ca.crt", f"{leaf.stem}.crt"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert verified.stdout.strip() == f"{leaf.stem}.crt: OK"
        text = subprocess.run(
            ["openssl", "x509", "-in", f"{leaf.stem}.crt", "-noout", "-ext", "subjectAltName"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in leaf.names.split(","):
            assert name.removeprefix("DNS:").removeprefix("IP:") in text


def test_files_are_private_and_never_half_written(tmp_path: Path) -> None:
    path = tmp_path / "deep/record.json"
    record = ClusterRecord(port=1, binary="/b")
    store.save_record(path, record)
    assert store.load_record(path) == record
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["record.json"]
    for broken in ("", "{", "[]", '{"port": "1", "binary": "/b"}', '{"port": 1}'):
        path.write_text(broken)
        assert store.load_record(path) is None
    assert store.load_record(tmp_path / "absent") is None


def _elf(*kinds: int) -> bytes:
    """The head of a 64-bit ELF program with program headers of these types."""
    head = bytearray(64)
    head[:5] = b"\x7fELF\x02"
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<HH", head, 54, 56, len(kinds))
    return bytes(head) + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in kinds)


def test_a_program_with_an_interpreter_is_not_static() -> None:
    assert image.is_static(_elf(1, 4))
    assert not image.is_static(_elf(6, 3, 1))
    assert not image.is_static(b"#!/bin/sh\n")


def test_the_image_holds_busybox_once_and_links_for_the_rest() -> None:
    root = image.layer(b"program", ["sh", "busybox", "cat", "sh"])
    with tarfile.open(fileobj=io.BytesIO(root)) as tar:
        busybox = tar.getmember("bin/busybox")
        assert busybox.isreg()
        assert busybox.mode == 0o755
        links = {member.name: member.linkname for member in tar if member.issym()}
        assert tar.getmember("tmp").mode == 0o1777
    assert links == {"bin/sh": "/bin/busybox", "bin/cat": "/bin/busybox"}


def test_the_archive_is_consistent_and_the_same_each_time() -> None:
    root = image.layer(b"program", ["sh"])
    archive = image.archive(root, reference="example.local/x:1")
    assert archive == image.archive(root, reference="example.local/x:1")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {member.name: _content(tar, member) for member in tar}
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "example.local/x:1"
    manifest = json.loads(files[f"blobs/sha256/{entry['digest'].removeprefix('sha256:')}"])
    for blob in (entry, manifest["config"], *manifest["layers"]):
        content = files[f"blobs/sha256/{blob['digest'].removeprefix('sha256:')}"]
        assert len(content) == blob["size"]
        assert image.digest(content) == blob["digest"]


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def test_the_build_is_keyed_by_every_source_and_not_by_their_order() -> None:
    files = [("a.go", b"1"), ("go.mod", b"2")]
    digest = build.sources_digest(files)
    assert digest == build.sources_digest(reversed(files))
    assert digest != build.sources_digest([("a.go", b"1"), ("go.mod", b"3")])
    assert digest != build.sources_digest([("a.g", b"o1"), ("go.mod", b"2")])
    assert digest != build.sources_digest(files[:1])


def test_the_versions_of_kubernetes_agree() -> None:
    module = (Path(build.__file__).parents[1] / "kube/go.mod").read_text()
    assert f"k8s.io/kubernetes {build.KUBERNETES}\n" in module
    staging = build.KUBERNETES.replace("v1.", "v0.")
    replaced = [line for line in module.splitlines() if "=>" in line]
    assert replaced
    assert all(line.endswith(f" {staging}") for line in replaced)


def test_hierarchies_of_both_versions_are_found() -> None:
    mounts = """\
30 27 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
    assert cgroups.parse_mounts(mounts) == [
        cgroups.Hierarchy(Path("/sys/fs/cgroup/cpu"), unified=False),
        cgroups.Hierarchy(Path("/sys/fs/cgroup/unified"), unified=True),
    ]


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "DiskPressure", "status": "True"}], False),
        ([], False),
    ],
)
def test_a_node_is_ready_by_its_condition_only(conditions: object, ready: bool) -> None:
    assert apiclient.node_ready({"status": {"conditions": conditions}}) is ready
    assert not apiclient.node_ready({})


def test_an_api_server_that_is_not_there_is_not_ready(tmp_path: Path) -> None:
    certificates.create(tmp_path)
    api = apiclient.Api(1, tmp_path / "ca.crt", "token")
    assert not api.is_ready()
    assert not api.is_node_ready("localhost")
    assert os.environ.get("KUBECONFIG") == os.devnull


@pytest.mark.parametrize(
    ("own_type", "handed_down", "members", "divisible"),
    [
        (None, "", "1\n", True),  # the machine's own root
        ("domain", "cpu memory pids", "1\n", True),
        ("domain", "cpu", "1\n", False),
        ("domain", "cpu", "", True),
    ],
)
def test_a_containers_busy_group_cannot_be_divided(
    tmp_path: Path, own_type: str | None, handed_down: str, members: str, divisible: bool
) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text(handed_down)
    (tmp_path / "cgroup.procs").write_text(members)
    if own_type is not None:
        (tmp_path / "cgroup.type").write_text(own_type)
    assert cgroups.is_divisible(tmp_path) is divisible
