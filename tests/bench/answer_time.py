"""How long from an alert to its root cause: first byte of the webhook's POST to the watch event that shows the answer.

Goes in: a local cluster with a real node, `kubewhy run` as `make run` starts it, and fresh workloads of incident R05, a
crash whose cause stands in the log, with names and texts from a seed. All crash loops are visible before the first
POST; the alerts are sent one after another over connections of their own. An answer counts when it names the right
object. Figures are printed and nothing fails on them; an answer that does not come or is wrong was not measured.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import sys
import time
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmarking
import incident_cluster
import incident_scenarios
import local
import product
from kubewhy import errors
from kubewhy.adapters.kube import client, config
from terminal import DemoError

SCENARIO = "R05"
STARTING = 5
"""Workloads that are brought to their crash loop at one time."""

ANSWER_SECONDS = 60.0
PAUSE_SECONDS = 0.5
"""Between an answer and the next alert, so that nothing of the last one is left to do."""

PATH = "/apis/kubewhy.internal/v1alpha1/investigations"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Seconds from the first byte of the POST until …"""

    replied: float
    created: float
    concluded: float


@dataclass(kw_only=True)
class Sightings:
    """What the watch shows of one namespace's Investigation, with the times of arrival."""

    created: float = 0.0
    concluded: float = 0.0
    last: Mapping[str, Any] = field(default_factory=dict)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, document: Mapping[str, Any], at: float) -> None:
        """Take one watch event."""
        self.created = self.created or at
        self.last = document
        if _succeeded(document).get("status") in {"True", "False"} and not self.concluded:
            self.concluded = at
            self.ended.set()


def main() -> int:
    """Measure and print; 1 where that was not possible."""
    options = _options()
    what = f"answer time: {options.workloads} x {options.scenario}, seed {options.seed}, make run"
    print(benchmarking.header(what), flush=True)
    try:
        with (
            benchmarking.local_cluster(node=True) as kubeconfig,
            benchmarking.folder() as folder,
            product.running(folder=folder, kubectl=local.kubectl(kubeconfig)) as running,
        ):
            answers = asyncio.run(_measure(options, kubeconfig, running))
    except (benchmarking.NotMeasuredError, DemoError, errors.KubewhyError, OSError) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 1
    _print(answers)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--scenario", default=SCENARIO, choices=incident_scenarios.ids())
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    return parser.parse_args()


def _print(answers: Sequence[Answer]) -> None:
    concluded = [each.concluded for each in answers]
    print(benchmarking.row("POST to its answer 200", [each.replied for each in answers], "s"))
    print(benchmarking.row("POST to the Investigation", [each.created for each in answers], "s"))
    print(benchmarking.row("POST to the root cause", concluded, "s"))
    print(benchmarking.goal("root cause p50", benchmarking.percentile(concluded, 50), 2.0, "s"))
    print(f"  load1 at the end {benchmarking.load1():.2f}")


async def _measure(
    options: argparse.Namespace, kubeconfig: Path, running: product.Product
) -> list[Answer]:
    scenarios = [
        incident_scenarios.load(options.scenario, seed=options.seed + each)
        for each in range(options.workloads)
    ]
    api = await client.connect(config.Kubeconfig(path=str(kubeconfig)))
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(api.close)
        await _break(api, scenarios, stack)
        sightings = {each.namespace: Sightings() for each in scenarios}
        await stack.enter_async_context(_watching(api, sightings))
        print(f"  load1 before the first alert {benchmarking.load1():.2f}", flush=True)
        answers = []
        for scenario in scenarios:
            answers.append(await _answer(scenario, running, sightings[scenario.namespace]))
            await asyncio.sleep(PAUSE_SECONDS)
        return answers


async def _break(
    api: client.KubeClient,
    scenarios: Sequence[incident_scenarios.Scenario],
    stack: contextlib.AsyncExitStack,
) -> None:
    """Bring all workloads to their visible symptom.

    Raises:
        NotMeasuredError: one did not come to it.
    """
    turn = asyncio.Semaphore(STARTING)

    async def start(scenario: incident_scenarios.Scenario) -> None:
        async with turn:
            await stack.enter_async_context(incident_cluster.running(api, scenario))

    try:
        async with asyncio.TaskGroup() as group:
            for scenario in scenarios:
                group.create_task(start(scenario))
    except* TimeoutError as failed:
        raise benchmarking.NotMeasuredError(str(failed.exceptions[0])) from failed


@contextlib.asynccontextmanager
async def _watching(
    api: client.KubeClient, sightings: Mapping[str, Sightings]
) -> AsyncIterator[None]:
    page = await api.request("GET", PATH, query={"limit": 1})
    version = page["metadata"]["resourceVersion"]
    task = asyncio.ensure_future(_watch(api, version, sightings))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _watch(api: client.KubeClient, version: str, sightings: Mapping[str, Sightings]) -> None:
    """Time each event by the arrival of its last byte."""
    query: client.Query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": 3600}
    rest = b""
    async for chunk in api.stream(PATH, query=query, idle_seconds=3600.0):
        at = time.perf_counter()
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            document = json.loads(line)["object"]
            found = sightings.get(document["metadata"].get("namespace", ""))
            if found is not None:
                found.see(document, at)


async def _answer(
    scenario: incident_scenarios.Scenario, running: product.Product, seen: Sightings
) -> Answer:
    """Send the alert and wait for its answer.

    Raises:
        NotMeasuredError: it was not taken, has no answer in time, or a wrong one.
    """
    began, replied = await _post(running, json.dumps(scenario.alert).encode())
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await seen.ended.wait()
    except TimeoutError:
        state = _succeeded(seen.last) or "the watch shows nothing"
        raise benchmarking.NotMeasuredError(
            f"no answer for {scenario.namespace} in {ANSWER_SECONDS:.0f} s: {state}"
        ) from None
    complaint = _complaint(scenario, seen.last)
    if complaint:
        raise benchmarking.NotMeasuredError(f"wrong answer in {scenario.namespace}: {complaint}")
    return Answer(
        replied=replied - began, created=seen.created - began, concluded=seen.concluded - began
    )


async def _post(running: product.Product, body: bytes) -> tuple[float, float]:
    """When the first byte left, and when the answer's first line had come. The connection is made before."""
    where = urllib.parse.urlsplit(running.webhook)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        head = (
            f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\n"
            f"Authorization: Bearer {running.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        began = time.perf_counter()
        writer.write(head.encode() + body)
        await writer.drain()
        async with asyncio.timeout(ANSWER_SECONDS):
            line = (await reader.readline()).decode()
        replied = time.perf_counter()
    finally:
        writer.close()
    if line.split()[1:2] != ["200"]:
        raise benchmarking.NotMeasuredError(f"the webhook answered: {line.strip() or 'nothing'}")
    return began, replied


def _complaint(scenario: incident_scenarios.Scenario, found: Mapping[str, Any]) -> str:
    """What is wrong with an answer; "" when nothing is."""
    reason = _succeeded(found).get("reason")
    cause = found.get("status", {}).get("rootCause", {})
    subject = cause.get("subject", {})
    allowed = [
        (item["kind"], item["name"])
        for entity in scenario.answer["entities"]
        for item in (entity, *entity.get("aliases", ()))
    ]
    if reason != "RootCauseFound" or (subject.get("kind"), subject.get("name")) not in allowed:
        return f"{reason}, {subject.get('kind')}/{subject.get('name')}: {cause.get('statement')}"
    return ""


def _succeeded(found: Mapping[str, Any]) -> Mapping[str, Any]:
    listed = found.get("status", {}).get("conditions", [])
    return next((each for each in listed if each["type"] == "Succeeded"), {})


if __name__ == "__main__":
    sys.exit(main())
