"""The operator with toolsets from a folder and a Prometheus: hostile programs harm neither it nor their siblings.

Goes in: real programs (100 MB of output, invalid UTF-8, one that ignores SIGTERM, one that is missing), a broken
toolset file, a real Prometheus, and a scripted model in a process of its own that calls them all in one step.
Observed: the status of the Investigation, what the model was sent, and the operator's memory. Nothing is mocked.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import kube_api
import operator_runner as runner
import scripted_process

SECRET = "hunter2-Correct-Horse"

_PROGRAMS = {
    "flood": "import os; b = (b'x' * 99 + b'\\n') * 10000\nfor _ in range(100): os.write(1, b)",
    "broken_text": "import os; os.write(1, b'caf\\xc3\\xa9 \\xff\\xfe DB_PASSWORD=" + SECRET + "')",
    "stubborn": "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('still here', flush=True); time.sleep(600)",
    "argument": "import sys; print(sys.argv[1:])",
}


def _tool(name: str, *words: str, **more: Any) -> dict[str, Any]:
    given = {"description": f"The program {name}", "effect": "Read", "timeout_seconds": 40}
    return {"name": name, "command": list(words)} | given | more


def _toolsets(folder: Path) -> str:
    made = folder / "toolsets"
    made.mkdir()
    tools = [
        _tool(
            name, sys.executable, "-S", "-c", code, *(["{{ text }}"] if name == "argument" else [])
        )
        for name, code in _PROGRAMS.items()
    ]
    tools[2]["timeout_seconds"] = 3
    tools.append(_tool("missing", "/nowhere/no-such-program"))
    written = {
        "format": "kubewhy/v1",
        "toolsets": {"hostile": {"description": "d", "tools": tools}},
    }
    (made / "hostile.yaml").write_text(yaml.safe_dump(written), encoding="utf-8")
    (made / "broken.yaml").write_text("format: kubewhy/v1\ntoolsets:\n  x:\n    descripton: d\n")
    return str(made)


def _called(name: str, **arguments: str) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


CALLS = [
    _called("flood"),
    _called("broken_text"),
    _called("stubborn"),
    _called("argument", text="$(id); `id` | x"),
    _called("argument", text="--option"),
    _called("missing"),
    _called("kubernetes_get", kind="configmaps"),
    _called("prometheus_query", query='vector(42) or label_replace(vector(7), "a", "b", "", "")'),
    _called("prometheus_query", query="no_such_metric"),
    _called("prometheus_query", query="sum("),
    _called("prometheus_query_range", query="vector(1)", start="-2d", step="1s"),
    _called("prometheus_alerts"),
]
EVIDENCE = [{"call": "1-6", "quote": "kube-root-ca.crt"}]
CAUSE = {"statement": "scripted", "confidence": "High", "evidence": EVIDENCE}
ANSWER = {"verdict": "RootCauseFound", "summary": "scripted", "rootCause": CAUSE}
SCRIPT = {
    "by": "step",
    "turns": [{"calls": CALLS}, {"calls": [{"tool": "conclude", "arguments": ANSWER}]}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("toolsets")


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[scripted_process.ScriptedServer]:
    with scripted_process.running(SCRIPT, folder) as server:
        yield server


@pytest.fixture(scope="module")
def prometheus(folder: Path) -> Iterator[str]:
    program = shutil.which("prometheus")
    if not program:
        pytest.skip("prometheus is not installed: apt-get install prometheus")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    (folder / "prometheus.yaml").write_text("global: {}\n")
    argv = [
        program,
        f"--config.file={folder}/prometheus.yaml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address={address}",
    ]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _until_ready(f"http://{address}/-/ready")
            yield f"http://{address}"
        finally:
            process.terminate()


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - own server
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"{url} did not answer within 30 s")


@pytest.fixture(scope="module")
def operator(
    kube: kube_api.KubeApi,
    folder: Path,
    model: scripted_process.ScriptedServer,
    prometheus: str,
) -> Iterator[runner.Operator]:
    runner.install()
    models = scripted_process.operator_environment(
        folder, scripted_process.entry("default", model.url)
    )
    environment = models | {
        "KUBEWHY_TOOLSETS_FOLDER": _toolsets(folder),
        "KUBEWHY_PROMETHEUS_URL": prometheus,
    }
    with runner.running(kube, folder, environment) as started:
        yield started


def _peak_kib(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_each_program_has_its_own_end(
    kube: kube_api.KubeApi,
    namespace: str,
    operator: runner.Operator,
    model: scripted_process.ScriptedServer,
) -> None:
    before = _peak_kib(operator.process.pid)
    kube.create(runner.investigation(namespace, "run"))
    found = runner.wait_for(kube, namespace, "run", runner.ended, seconds=120)
    assert runner.succeeded(found)["reason"] == "RootCauseFound"
    trace = {call["id"]: call for call in found["status"]["trace"]}
    assert [trace[f"1-{index}"]["status"] for index in range(len(CALLS))] == [
        "Success", "Success", "TimedOut", "Success", "Refused", "Error", "Success",
        "Success", "NoData", "Error", "Success", "NoData",
    ]  # fmt: skip
    assert trace["1-0"]["bytes"] == 100_000_000
    assert trace["1-0"]["truncated"] is True
    assert "café \ufffd\ufffd" in trace["1-1"]["excerpt"]
    assert "still here" in trace["1-2"]["excerpt"]
    assert "['$(id); `id` | x']" in trace["1-3"]["excerpt"]
    assert "no-such-program" in trace["1-5"]["excerpt"]
    assert "parse error" in trace["1-9"]["excerpt"]
    assert SECRET not in json.dumps(found)
    assert SECRET not in json.dumps(model.requests())
    # LiteLLM's load is in it (190 MiB, design.md §3); 100 MB of output held whole would come on top.
    assert _peak_kib(operator.process.pid) - before < 300 * 1024


def test_the_model_is_told_which_toolsets_are_off_and_why(
    kube: kube_api.KubeApi,
    namespace: str,
    operator: runner.Operator,
    model: scripted_process.ScriptedServer,
) -> None:
    kube.create(runner.investigation(namespace, "run"))
    runner.wait_for(kube, namespace, "run", runner.ended, seconds=120)
    asked = model.requests()[-1]
    system = json.dumps(asked)
    assert "broken.yaml:4" in system
    assert "descripton" in system
    said = [str(line["message"]) for line in operator.log()]
    assert len([line for line in said if line.startswith("toolset broken.yaml is off")]) == 1
    assert "toolset prometheus can be used" in said


def test_a_toolset_that_is_off_cant_be_asked_for(
    kube: kube_api.KubeApi, namespace: str, operator: runner.Operator
) -> None:
    del operator
    kube.create(runner.investigation(namespace, "run", toolsets=["hostile", "broken.yaml"]))
    found = runner.wait_for(kube, namespace, "run", runner.ended, seconds=60)
    condition = runner.succeeded(found)
    assert condition["reason"] == "InvalidSpec"
    assert "broken.yaml is off: broken.yaml:4" in condition["message"]
