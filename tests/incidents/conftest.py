"""The incident suite on a real node, through the operator.

Goes in: KUBECONFIG of a cluster with a node, and seeds chosen at run time (printed at the end; KUBEWHY_INCIDENT_SEED
repeats a run). Each scenario breaks a workload in a namespace of its own, waits for the symptom, and creates the
Investigation that the webhook would create of its alert. Observed: status and records of the CR, written by the
operator as its own account with the built-in model. Nothing is mocked. Scenarios run side by side, since most of their
time is waiting for a kubelet.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import incident_run
import incident_scenarios
import kube_api
import operator_runner
from kubewhy.adapters.kube import client, config

PARALLEL = 8
Key = tuple[str, int, bool]
Runs = Callable[[str, int, bool], incident_run.Outcome]


def _seed() -> int:
    return int(os.environ.get("KUBEWHY_INCIDENT_SEED") or secrets.randbelow(1_000_000))


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seeds once, before the tests are made."""
    first = _seed()
    config.stash[SEEDS] = (first, first + 1)


SEEDS = pytest.StashKey[tuple[int, int]]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the seeds, so that a run can be repeated."""
    first, second = config.stash[SEEDS]
    terminalreporter.write_line(
        f"incident seeds: {first}, {second} (repeat with KUBEWHY_INCIDENT_SEED={first})"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The rows of each test: the gate's four with both seeds, the others with the first, a share of their controls."""
    if "scenario" not in metafunc.fixturenames:
        return
    first, second = metafunc.config.stash[SEEDS]
    others = [scenario for scenario in incident_scenarios.ids() if scenario not in GATE]
    if "control" in metafunc.function.__name__ and not os.environ.get("KUBEWHY_INCIDENTS_ALL"):
        others = others[first % CONTROLS :: CONTROLS]
    rows = [(scenario, seed) for scenario in GATE for seed in (first, second)]
    rows += [(scenario, first) for scenario in others]
    metafunc.parametrize(
        ("scenario", "seed"), rows, ids=[f"{scenario}-{seed}" for scenario, seed in rows]
    )


GATE = ("R05", "R01", "P01", "H01")
"""Solved with two seeds; the other rows run with one."""

CONTROLS = 3
"""Of the other rows' controls every third runs, another third with the next seed; KUBEWHY_INCIDENTS_ALL runs all."""


@pytest.fixture(scope="session")
def kube() -> Iterator[kube_api.KubeApi]:
    """A client of the cluster that KUBECONFIG names."""
    with kube_api.connect(Path(os.environ["KUBECONFIG"])) as found:
        yield found


@pytest.fixture(scope="session")
def operator(
    kube: kube_api.KubeApi, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[operator_runner.Operator]:
    """The operator, installed and running as its own account."""
    operator_runner.install()
    folder = tmp_path_factory.mktemp("operator")
    with operator_runner.running(kube, folder, {"KUBEWHY_CONCURRENT": str(PARALLEL)}) as started:
        yield started


@pytest.fixture(scope="session")
def outcome(request: pytest.FixtureRequest, operator: operator_runner.Operator) -> Iterator[Runs]:
    """The outcome of one run; all runs of the chosen tests start together, `PARALLEL` at a time."""
    assert operator.ready()
    wanted = dict.fromkeys(key for item in request.session.items if (key := _key(item)))
    batch = _Batch()
    futures = {key: batch.submit(*key) for key in wanted}

    def result(scenario: str, seed: int, fault: bool) -> incident_run.Outcome:
        future = futures[scenario, seed, fault]
        while not future.done():
            assert operator.process.poll() is None, f"the operator ended: {operator.log()[-3:]}"
            concurrent.futures.wait([future], timeout=1)
        return future.result()

    yield result
    batch.close()


def _key(item: pytest.Item) -> Key | None:
    call: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    if "scenario" not in call:
        return None
    return call["scenario"], call["seed"], "control" not in item.name


class _Batch:
    """Runs scenarios in an event loop of its own thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._turn = asyncio.Semaphore(PARALLEL)
        self._api = self._call(
            client.connect(config.Kubeconfig(path=os.environ["KUBECONFIG"]))
        ).result(60)

    def submit(
        self, scenario: str, seed: int, fault: bool
    ) -> concurrent.futures.Future[incident_run.Outcome]:
        """Start one scenario."""
        return self._call(self._run(scenario, seed, fault))

    async def _run(self, scenario: str, seed: int, fault: bool) -> incident_run.Outcome:
        async with self._turn:
            return await incident_run.run(
                self._api, incident_scenarios.load(scenario, seed=seed, fault=fault)
            )

    def _call(self, work: Any) -> concurrent.futures.Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel what still runs and end the loop."""
        self._call(_cancel_all()).result(60)
        self._call(self._api.close()).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
