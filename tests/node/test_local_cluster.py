"""The local cluster as its users see it: its command, a real node, and what is left afterwards.

Goes in: `cluster.py` as a program of its own, with a state directory of its own and the shared
build cache. Observed: its output, the API server's answers, and the machine before and after
(processes, mounts, addresses, control groups, kernel settings, directories). Nothing is mocked.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from localcluster import cgroups, identity, nodeconfig, nodeowner, traces

pytestmark = pytest.mark.own_cluster

_CLUSTER = Path(nodeowner.__file__).parents[1] / "cluster.py"
_SECONDS = 120.0


@dataclass(frozen=True)
class Clusters:
    """The command, run against a state directory of its own."""

    state: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBEWHY_STATE_DIR": str(self.state)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(_CLUSTER), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def up(self, name: str, *, node: str = "yes") -> Path:
        """Bring `name` up and give its kubeconfig, as a shell that evaluates the line would."""
        done = self.run("up", "--name", name, "--node", node)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1
        variable, _, value = done.stdout.strip().partition("=")
        assert variable == "export KUBECONFIG"
        return Path(value)

    def down(self, name: str) -> None:
        done = self.run("down", "--name", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""

    def directory(self, name: str) -> Path:
        return self.state / "clusters" / name

    def pids(self, name: str) -> dict[str, int]:
        records = (self.directory(name) / "run").glob("*.json")
        return {record.stem: json.loads(record.read_text())["pid"] for record in records}


@pytest.fixture
def clusters() -> Iterator[Clusters]:
    # Not tmp_path: sockets in it have to stay below 108 bytes.
    state = Path(tempfile.mkdtemp(prefix="kw-"))
    made = Clusters(state)
    try:
        yield made
    finally:
        made.run("down", "--all")
        shutil.rmtree(state, ignore_errors=True)


def _machine(state: Path) -> dict[str, object]:
    """What a removed cluster must not have changed, as far as no neighbour changes it either."""
    addresses = json.loads(subprocess.check_output(["ip", "-j", "addr"], text=True))
    return {
        "processes": sorted(_processes(state)),
        "mounts": sorted(_mounts(state)),
        "addresses": {
            link["ifname"]: [address["local"] for address in link["addr_info"]]
            for link in addresses
        },
        "groups": [str(one.path) for one in cgroups.hierarchies() if _has_group(one.path)],
        "settings": {name: Path("/proc/sys", name).read_text() for name in traces.SET_BY_NODE},
        "directories": [
            str(path)
            for path in (*_targets(state), Path("/run/netns"), nodeowner.DIRECTORY)
            if path.exists()
        ],
        "firewall": subprocess.check_output(["iptables-save"], text=True).splitlines()[1:-1],
    }


def _targets(state: Path) -> list[Path]:
    """Where the node mounts its directories; anybody's `mount` makes /run/mount."""
    return [path for path in nodeconfig.Places(state).binds if path != Path("/run/mount")]


def _mounts(state: Path) -> Iterator[str]:
    """Mounts, seen from outside the node, that lie in its places or are made from its state."""
    places = [str(state), *map(str, _targets(state)), "/run/netns"]
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if any(place in line for place in places):
            yield line


def _has_group(hierarchy: Path) -> bool:
    return (hierarchy / nodeconfig.CGROUP_ROOT).exists()


def _processes(state: Path) -> Iterator[str]:
    """Live processes that name the state directory, or are of the node's kind."""
    for pid in identity.all_pids():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            group = Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            continue
        of_state = f"{state}/clusters" in command or f"{state}/clusters".encode() in environment
        if of_state or nodeconfig.CGROUP_ROOT in group or "containerd" in command.split(" ")[0]:
            yield f"{pid} {command}"


def _kubectl(kubeconfig: Path, *arguments: str) -> str:
    path = subprocess.check_output([sys.executable, str(_CLUSTER), "kubectl-path"], text=True)
    done = subprocess.run(
        [path.strip(), "--kubeconfig", str(kubeconfig), *arguments],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def _run_pod(kubeconfig: Path, name: str, script: str) -> None:
    _kubectl(
        kubeconfig,
        *("run", name, f"--image={nodeconfig.IMAGE}", "--restart=Never"),
        *("--command", "--", "sh", "-c", script),
    )


def _pod(kubeconfig: Path, name: str) -> Any:
    return json.loads(_kubectl(kubeconfig, "get", "pod", name, "-o", "json"))


def test_a_pod_runs_logs_and_answers_and_nothing_stays(clusters: Clusters) -> None:
    before = _machine(clusters.state)
    kubeconfig = clusters.up("one")
    _run_pod(kubeconfig, "talker", "echo said by $HOSTNAME; sleep 600")
    _until("phase Running", lambda: _pod(kubeconfig, "talker")["status"]["phase"] == "Running")
    assert _kubectl(kubeconfig, "logs", "talker") == "said by talker\n"
    assert _kubectl(kubeconfig, "exec", "talker", "--", "hostname") == "talker\n"
    events = json.loads(_kubectl(kubeconfig, "get", "events", "-o", "json"))["items"]
    warnings = [event["reason"] for event in events if event["type"] == "Warning"]
    assert [reason for reason in warnings if reason != "CgroupV1"] == []
    during = _machine(clusters.state)
    assert during["mounts"] == before["mounts"], "the node's mounts are its own"
    assert during["addresses"] != before["addresses"]
    clusters.down("one")
    assert _machine(clusters.state) == before
    assert list(clusters.state.parent.glob(f"{clusters.state.name}/*")) == []


def test_up_reuses_what_runs_and_restarts_what_is_not_whole(clusters: Clusters) -> None:
    kubeconfig = clusters.up("one")
    first = clusters.pids("one")
    assert clusters.up("one", node="auto") == kubeconfig
    assert clusters.pids("one") == first
    os.kill(first["kubelet"], signal.SIGKILL)
    _until("the kubelet ended", lambda: identity.of(first["kubelet"]) is None)
    assert clusters.up("one") == kubeconfig
    second = clusters.pids("one")
    assert set(first.values()).isdisjoint(second.values())
    assert not any(identity.of(pid) for pid in first.values())
    assert "Ready" in _kubectl(kubeconfig, "get", "node", "localhost")


def test_a_second_node_is_refused_and_a_second_control_plane_is_not(clusters: Clusters) -> None:
    first = clusters.up("one")
    refused = clusters.run("up", "--name", "two", "--node", "yes")
    assert refused.returncode == 1
    assert refused.stdout == ""
    (sentence,) = [line for line in refused.stderr.splitlines() if not line.startswith("[")]
    assert "cluster one" in sentence
    assert "one kubelet at most" in sentence
    assert not any(clusters.pids("two")), "refused before anything was started"
    second = clusters.run("up", "--name", "two", "--node", "auto")
    assert second.returncode == 0, second.stderr
    assert "without a node" in second.stderr
    assert "cluster one" in second.stderr
    two = clusters.directory("two") / "kubeconfig"
    assert json.loads(_kubectl(two, "get", "nodes", "-o", "json"))["items"] == []
    _kubectl(two, "create", "namespace", "only-here")
    assert "only-here" not in _kubectl(first, "get", "namespaces")
    clusters.down("one")
    assert "only-here" in _kubectl(two, "get", "namespaces"), "the neighbour goes on"
    clusters.up("two", node="yes")
    assert "only-here" in _kubectl(two, "get", "namespaces"), "the node came to what ran"
    assert " Ready" in _kubectl(two, "get", "nodes")


def test_each_user_is_who_the_token_says(clusters: Clusters) -> None:
    kubeconfig = clusters.up("one", node="no")
    users = json.loads((clusters.directory("one") / "users.json").read_text())
    for user in ("alice", "bob", "approver", "viewer"):
        answer = _kubectl(kubeconfig, "--user", user, "auth", "whoami", "-o", "json")
        info = json.loads(answer)["status"]["userInfo"]
        assert info["username"] == user
        assert set(users[user]["groups"]) <= set(info["groups"])
        assert "system:masters" not in info["groups"]
    token = _kubectl(kubeconfig, "create", "token", "default")
    whoami = _kubectl(kubeconfig, "--token", token.strip(), "auth", "whoami", "-o", "json")
    assert "system:serviceaccount:default:default" in whoami


# Lines of progress after which `up` is killed, from its first moments to its last.
_MOMENTS = (
    "certificates, tokens",
    "API server ready",
    "controllers work",
    "containerd runs",
)


def _kill_up_at(clusters: Clusters, name: str, moment: str) -> None:
    """Start `up` and kill it, beyond its control, as soon as it has said `moment`."""
    with subprocess.Popen(
        [sys.executable, str(_CLUSTER), "up", "--name", name, "--node", "yes"],
        env=clusters.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as starting:
        assert starting.stderr is not None
        said = next((line for line in starting.stderr if moment in line), None)
        starting.kill()
    assert said is not None, f"up ended without saying {moment!r}"


def test_up_recovers_from_an_up_that_was_killed(clusters: Clusters) -> None:
    before = _machine(clusters.state)
    for moment in _MOMENTS:
        _kill_up_at(clusters, "one", moment)
    kubeconfig = clusters.up("one")
    _run_pod(kubeconfig, "works", "exit 0")
    _until("phase Succeeded", lambda: _pod(kubeconfig, "works")["status"]["phase"] == "Succeeded")
    clusters.down("one")
    assert _machine(clusters.state) == before


@pytest.mark.parametrize("moment", _MOMENTS[1::2])
def test_down_clears_up_after_an_up_that_was_killed(clusters: Clusters, moment: str) -> None:
    before = _machine(clusters.state)
    _kill_up_at(clusters, "one", moment)
    clusters.down("one")
    assert _machine(clusters.state) == before


def test_another_cluster_takes_the_node_of_a_killed_one(clusters: Clusters) -> None:
    before = _machine(clusters.state)
    kubeconfig = clusters.up("one")
    _run_pod(kubeconfig, "orphan", "sleep 600")
    _until("phase Running", lambda: _pod(kubeconfig, "orphan")["status"]["phase"] == "Running")
    for program in nodeowner.NODE_PROGRAMS:
        os.kill(clusters.pids("one")[program], signal.SIGKILL)
    taken = clusters.up("two")
    assert " Ready" in _kubectl(taken, "get", "nodes")
    assert not [line for line in _processes(clusters.directory("one")) if "shim" in line]
    assert "default" in _kubectl(kubeconfig, "get", "namespaces"), "its control plane goes on"
    clusters.down("one")
    assert " Ready" in _kubectl(taken, "get", "nodes"), "one no longer owns what two uses"
    clusters.down("two")
    assert _machine(clusters.state) == before


def test_an_interrupted_up_stops_what_it_started(clusters: Clusters) -> None:
    before = _machine(clusters.state)
    with subprocess.Popen(
        [sys.executable, str(_CLUSTER), "up", "--name", "one", "--node", "yes"],
        env=clusters.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as starting:
        assert starting.stderr is not None
        next(line for line in starting.stderr if "containerd runs" in line)
        starting.terminate()
        rest = starting.stderr.read()
    assert starting.returncode == 130
    assert "Interrupted" in rest
    assert _machine(clusters.state) == before


def test_down_of_nothing_is_no_error(clusters: Clusters) -> None:
    done = clusters.run("down", "--name", "never-there")
    assert done.returncode == 0
    assert "was not there" in done.stderr
    assert list(clusters.state.parent.glob(f"{clusters.state.name}/*")) == []
