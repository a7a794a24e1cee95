"""How the demo ends. Goes in: a stand-in for the local cluster's command that notes its calls.

Observed: exit code, messages, and that the cluster is taken down. Mocked: the cluster and what is played on it;
tests/node/test_demo.py has the real ones.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import alerting
import crash
import local
import recorded
import stack
import stage
from terminal import DemoError

ENTRY = local.ROOT / "tests" / "demo" / "__main__.py"
STUB = """
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
with (folder / "calls").open("a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
match sys.argv[1]:
    case "up":
        print("[   0.1 s] building", file=sys.stderr)
        if (folder / "broken").exists():
            sys.exit("This machine has no node for you: ask somebody.")
        print("[   0.2 s] node is ready", file=sys.stderr)
        print(f"export KUBECONFIG={folder / 'kubeconfig'}")
    case "kubectl-path":
        print("/opt/kubectl")
    case "down":
        print("[   0.1 s] cluster demo is removed", file=sys.stderr)
"""


class Cluster:
    """The stand-in: its folder and what it was asked to do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def calls(self) -> list[list[str]]:
        lines = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def verbs(self) -> list[str]:
        return [call[0] for call in self.calls]

    def break_(self) -> None:
        (self.folder / "broken").touch()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    script = tmp_path / "cluster.py"
    script.write_text(STUB, encoding="utf-8")
    config = {
        "clusters": [
            {
                "name": "demo",
                "cluster": {"server": "https://127.0.0.1:1", "certificate-authority-data": ""},
            }
        ],
        "users": [{"name": "admin", "user": {"token": "t"}}],
        "contexts": [{"name": "demo", "context": {"cluster": "demo", "user": "admin"}}],
        "current-context": "demo",
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
    monkeypatch.setattr(local, "_SCRIPT", script)
    monkeypatch.setattr(alerting, "require_programs", lambda: None)
    monkeypatch.setattr(stack, "only_one", lambda _: open(os.devnull))  # noqa: PTH123, SIM115
    monkeypatch.delenv("KEEP", raising=False)
    return Cluster(tmp_path)


@pytest.fixture
def entry() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("demo_entry", ENTRY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handlers = {number: signal.getsignal(number) for number in module._SIGNALS}
    yield module
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(
    entry: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    play: Callable[[stage.Stage], None],
    *arguments: str,
) -> int:
    for way in (crash, recorded):
        monkeypatch.setattr(way, "play", play)
    code: int = entry.main(arguments)
    return code


def fail(_: stage.Stage) -> None:
    raise DemoError("The answer is wrong: it is about nothing.")


def interrupt(_: stage.Stage) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)  # a second one changes nothing
    raise AssertionError("went on after the signal")


def succeed(_: stage.Stage) -> None:
    """Nothing to do."""


ENDS: dict[str, tuple[Callable[[stage.Stage], None], int, str]] = {
    "well": (succeed, 0, ""),
    "badly": (fail, 1, "demo failed: The answer is wrong: it is about nothing."),
    "interrupted": (interrupt, 130, "demo interrupted"),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_cluster_is_taken_down_and_the_code_tells(
    cluster: Cluster,
    entry: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    end: str,
) -> None:
    play, code, said = ENDS[end]
    assert run(entry, monkeypatch, play) == code
    assert cluster.verbs == ["up", "kubectl-path", "down"]
    assert said in capsys.readouterr().err
    assert not list(cluster.folder.glob("demo-*"))


def test_keep_keeps_the_cluster_but_no_files(
    cluster: Cluster,
    entry: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KEEP", "1")
    assert run(entry, monkeypatch, succeed) == 0
    assert "down" not in cluster.verbs
    assert "make cluster-down NAME=demo" in capsys.readouterr().out
    assert not list(cluster.folder.glob("demo-*"))


def test_a_cluster_that_does_not_come_up_is_one_sentence(
    cluster: Cluster,
    entry: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster.break_()
    assert run(entry, monkeypatch, succeed) == 1
    printed = capsys.readouterr()
    assert printed.err.strip() == "demo failed: This machine has no node for you: ask somebody."
    assert "building" in printed.out
    assert cluster.verbs == ["up", "down"]


@pytest.mark.parametrize(("uid", "node"), [(0, "yes"), (1000, "no")])
def test_only_without_root_is_there_no_node(
    cluster: Cluster, entry: ModuleType, monkeypatch: pytest.MonkeyPatch, uid: int, node: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert run(entry, monkeypatch, succeed) == 0
    assert cluster.calls[0] == ["up", "--name", "demo", "--node", node]


def test_a_missing_program_starts_no_cluster(
    cluster: Cluster,
    entry: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def missing() -> None:
        raise DemoError("prometheus is not installed: install it.")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(alerting, "require_programs", missing)
    assert run(entry, monkeypatch, succeed) == 1
    assert capsys.readouterr().err.strip() == (
        "demo failed: prometheus is not installed: install it."
    )
    assert not (cluster.folder / "calls").exists()


def test_the_stop_after_the_answer_is_handed_on(
    cluster: Cluster, entry: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def note(found: stage.Stage) -> None:
        seen.append(found.stop_after_answer)

    for arguments in ((), ("--stop-after-answer",)):
        assert run(entry, monkeypatch, note, *arguments) == 0
    assert seen == [False, True]
    assert cluster.verbs.count("down") == 2
