"""kill -9 at the named places of a run with a hosted model: the restarted operator ends it as if nothing had happened.

The model is the scripted OpenAI-compatible server in a process of its own, asked through LiteLLM; it counts what a
provider would charge for (faults.md tests 1 to 5, 8 and 9; issue: crash test).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kube_api
import operator_runner as runner
import scripted_process

QUOTE = "kube-root-ca.crt"
SCRIPT: dict[str, Any] = {
    "by": "step",
    "turns": [
        {"calls": [{"tool": "kubernetes_get", "arguments": {"kind": "configmaps"}}]},
        {"calls": [{"tool": "kubernetes_get", "arguments": {"kind": "pods"}}]},
        {
            "calls": [
                {
                    "tool": "conclude",
                    "arguments": {
                        "verdict": "RootCauseFound",
                        "summary": "the scripted cause",
                        "rootCause": {
                            "statement": "the scripted cause",
                            "evidence": [{"call": "1-0", "quote": QUOTE}],
                        },
                    },
                }
            ]
        },
    ],
}
POINTS = {
    "observed": {"repeated": 0, "epoch": 1},
    "claimed": {"repeated": 0, "epoch": 2},
    "model-replied": {"repeated": 1, "epoch": 2},
    "reply-journaled": {"repeated": 0, "epoch": 2},
    "read-started": {"repeated": 0, "epoch": 2},
    "concluded": {"repeated": 0, "epoch": 2},
}


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    runner.install()


@pytest.fixture
def model(tmp_path: Path) -> Iterator[scripted_process.ScriptedServer]:
    with scripted_process.running(SCRIPT, tmp_path) as server:
        yield server


def _environment(
    folder: Path, server: scripted_process.ScriptedServer, point: str = ""
) -> dict[str, str]:
    found = scripted_process.operator_environment(
        folder, scripted_process.entry("default", server.url)
    )
    return found | ({"KUBEWHY_CRASHPOINT": point} if point else {})


def _trace(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(call["id"], call["tool"], call["status"]) for call in found["status"]["trace"]]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_operator_ends_the_run_after_its_restart(
    kube: kube_api.KubeApi,
    namespace: str,
    tmp_path: Path,
    model: scripted_process.ScriptedServer,
    point: str,
) -> None:
    with runner.running(kube, tmp_path, _environment(tmp_path, model, point)) as first:
        kube.create(runner.investigation(namespace, "run"))
        first.process.wait(timeout=40)
        assert first.process.returncode == 137, first.log()[-3:]
    assert runner.succeeded(runner.read(kube, namespace, "run")).get("status") != "True"

    with runner.running(kube, tmp_path, _environment(tmp_path, model)):
        found = runner.wait_for(kube, namespace, "run", runner.ended, seconds=60)
    status = found["status"]
    assert runner.succeeded(found)["reason"] == "RootCauseFound"
    assert status["rootCause"]["evidence"] == [{"call": "1-0", "quote": QUOTE, "verified": True}]
    assert _trace(found) == [
        ("1-0", "kubernetes_get", "Success"),
        ("2-0", "kubernetes_get", "NoData"),
        ("3-0", "conclude", "Success"),
    ]
    wanted = POINTS[point]
    assert status["claim"]["epoch"] == wanted["epoch"]
    repeated = model.stats()["requests"] - len(SCRIPT["turns"])
    assert repeated == wanted["repeated"]
    assert status["usage"]["unaccountedCalls"] == repeated


def test_the_end_that_was_written_stays_and_its_details_follow(
    kube: kube_api.KubeApi,
    namespace: str,
    tmp_path: Path,
    model: scripted_process.ScriptedServer,
) -> None:
    with runner.running(kube, tmp_path, _environment(tmp_path, model, "terminal-written")) as first:
        kube.create(runner.investigation(namespace, "run"))
        first.process.wait(timeout=40)
    found = runner.read(kube, namespace, "run")
    assert runner.succeeded(found)["reason"] == "RootCauseFound"
    assert not found["status"].get("finished"), "finished is set last, with the details"
    with runner.running(kube, tmp_path, _environment(tmp_path, model)):
        whole = runner.wait_for(kube, namespace, "run", runner.ended)
    assert model.stats()["requests"] == len(SCRIPT["turns"])
    assert runner.succeeded(whole) == runner.succeeded(found)
    assert len(whole["status"]["trace"]) == len(SCRIPT["turns"])


def test_sigterm_in_a_model_call_ends_cleanly_and_frees_the_claim(
    kube: kube_api.KubeApi, namespace: str, tmp_path: Path
) -> None:
    script = {"by": "step", "turns": [SCRIPT["turns"][0] | {"delay": 30}]}
    with (
        scripted_process.running(script, tmp_path) as server,
        runner.running(kube, tmp_path, _environment(tmp_path, server)) as operator,
    ):
        kube.create(runner.investigation(namespace, "run"))
        deadline = time.monotonic() + 30
        while not server.stats()["requests"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        started = time.monotonic()
        assert operator.terminate() == 0, operator.log()[-3:]
        assert time.monotonic() - started < 10
    claim = runner.read(kube, namespace, "run")["status"]["claim"]
    assert claim == {"holder": "", "epoch": 1}
