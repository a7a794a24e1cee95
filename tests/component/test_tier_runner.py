"""The tier runner as a program, on a small checkout with tests and a cluster of its own.

Goes in: a checkout in a temporary folder, whose deploy/local/cluster.py writes its calls to a file.
Observed: exit code, closing line, and that the cluster is taken down whatever happens.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiers import cluster

_SUPPORT = Path(__file__).resolve().parents[1] / "support"
_CLUSTER = """
import pathlib, sys
here = pathlib.Path(__file__).resolve().parents[2]
with (here / "calls").open("a") as calls:
    print(" ".join(word for word in sys.argv[1:] if word in {"up", "down"}), file=calls)
if sys.argv[1] == "up":
    if (here / "broken").exists():
        sys.exit("Go is missing: install it")
    if (here / "taken").exists() and sys.argv[-1] == "yes":
        sys.exit("cluster other holds the node")
    print(f"export KUBECONFIG={here}/config")
"""
_PASSES = "import os\ndef test_passes(): assert 'KUBECONFIG' {} os.environ\n"


class Checkout:
    """A checkout with one test in each of three tiers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".venv").mkdir()
        (root / "deploy" / "local").mkdir(parents=True)
        (root / "deploy" / "local" / "cluster.py").write_text(_CLUSTER)
        shutil.copytree(_SUPPORT / "tiers", root / "tests" / "support" / "tiers")
        self.write("unit", _PASSES.format("not in"))
        self.write("cluster", _PASSES.format("in"))

    def write(self, tier: str, text: str) -> None:
        folder = self.root / "tests" / tier
        folder.mkdir(exist_ok=True)
        (folder / f"test_{tier}.py").write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        environment["PYTHONPATH"] = str(self.root / "tests" / "support")
        # Loading every plugin would take most of the test's time.
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        environment["PYTEST_ADDOPTS"] = "-p timeout -p randomly -p xdist"
        tiers = [word for name in ("unit", "cluster") for word in ("--tier", name)]
        return subprocess.Popen(
            [sys.executable, "-m", "tiers", *tiers, *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=50)
        return process.returncode, output

    @property
    def calls(self) -> list[str]:
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_all_pass(checkout: Checkout) -> None:
    code, output = checkout.run()
    assert output.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"
    assert code == 0
    assert (checkout.calls[0], checkout.calls[-1]) == ("down", "down")
    assert "up" in checkout.calls


def test_a_failing_test_fails_the_run_and_the_cluster_goes(checkout: Checkout) -> None:
    checkout.write("cluster", "def test_fails(): assert 1 == 2\n")
    code, output = checkout.run()
    assert output.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"
    assert code == 1
    assert checkout.calls[-1] == "down"


def test_an_empty_tier_fails_the_run(checkout: Checkout) -> None:
    checkout.write("unit", "")
    code, output = checkout.run()
    assert "has no test" in output
    assert code == 1


def test_a_tier_without_its_cluster_is_left_out_with_the_reason(checkout: Checkout) -> None:
    (checkout.root / "broken").touch()
    code, output = checkout.run()
    assert "left out: Go is missing: install it" in output
    assert output.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert code == 0


def test_strict_makes_a_left_out_tier_a_failure(checkout: Checkout) -> None:
    (checkout.root / "broken").touch()
    code, output = checkout.run("--strict-tiers")
    assert output.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"
    assert code == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_tests_and_removes_the_cluster(checkout: Checkout, number: int) -> None:
    checkout.write(
        "cluster",
        "import pathlib, time\n"
        "def test_hangs():\n"
        f"    pathlib.Path({str(checkout.root / 'hanging')!r}).touch()\n"
        "    time.sleep(100)\n",
    )
    process = checkout.start()
    for _ in range(400):
        if (checkout.root / "hanging").exists():
            break
        time.sleep(0.1)
    process.send_signal(number)
    output, _ = process.communicate(timeout=40)
    assert process.returncode == 128 + number
    assert f"ended by {signal.Signals(number).name}" in output
    assert checkout.calls[-1] == "down"


def test_a_refused_node_leaves_the_control_plane(checkout: Checkout) -> None:
    (checkout.root / "taken").touch()
    started = cluster.Cluster(root=checkout.root, name="test-1").start(no_node="")
    assert started == cluster.Started(
        kubeconfig=str(checkout.root / "config"), no_node="cluster other holds the node"
    )
    assert checkout.calls == ["down", "up", "down", "up"]


def test_two_runs_of_one_checkout_do_not_share_a_cluster(checkout: Checkout) -> None:
    mine = cluster.Cluster.of(checkout.root)
    with (
        cluster.only_one(mine),
        pytest.raises(cluster.ClusterUnavailableError, match="wait for its end"),
        cluster.only_one(mine),
    ):
        pytest.fail("both runs hold the cluster")
