"""A real Prometheus on the loopback interface, for the `prometheus` toolset.

Goes in: the Debian package's `prometheus` and `promtool`; series written back in time by promtool (30 jobs with a
value that rises, one that falls, one gauge with a spike), Prometheus' own metrics, and two alert rules.
Observed: what the tools make of its answers. Nothing is mocked; without the package the tests are skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kubewhy import errors
from kubewhy.adapters import http_reader
from kubewhy.toolsets import prometheus

STEP = 30
SPAN = 2 * 3600
SPIKE = 4321

_CONFIG = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: self
  static_configs: [{targets: ["127.0.0.1:PORT"]}]
"""

_RULES = """
groups:
- name: tests
  rules:
  - alert: AlwaysOn
    expr: vector(1)
    labels: {severity: warning, namespace: shop, pod: checkout-1}
    annotations: {summary: "It is on with {{ $value }}"}
  - alert: NotYet
    expr: vector(2)
    for: 1h
    labels: {severity: info, namespace: other}
"""


@dataclasses.dataclass(frozen=True)
class Prometheus:
    """Its address and the time (Unix seconds) at which the backfilled series end."""

    url: str
    end: int

    @property
    def now(self) -> datetime.datetime:
        """The backfilled series' end as a time."""
        return datetime.datetime.fromtimestamp(self.end, tz=datetime.UTC)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _series(end: int) -> str:
    lines = ["# TYPE kw_jobs gauge"]
    moments = range(end - SPAN, end + 1, STEP)
    for job in range(30):
        lines += [f'kw_jobs{{job_name="j{job:02}"}} {job} {at}' for at in moments]
    lines.append("# TYPE kw_memory gauge")
    for at in moments:
        value = SPIKE if at == end - SPAN // 2 else 100
        lines.append(f'kw_memory{{namespace="shop",pod="checkout-1"}} {value} {at}')
    return "\n".join([*lines, "# EOF", ""])


async def _ready(url: str) -> None:
    reader = http_reader.HttpReader()
    try:
        for _ in range(100):
            if not await prometheus.check(reader, url):
                with contextlib.suppress(errors.ToolFailure):
                    reply = await reader.get(f"{url}/api/v1/alerts")
                    if b"AlwaysOn" in reply.body and b"NotYet" in reply.body:
                        return
            await asyncio.sleep(0.1)
    finally:
        await reader.close()
    pytest.fail("Prometheus did not become ready within 10 s")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, started once for all tests of this folder."""
    program, promtool = shutil.which("prometheus"), shutil.which("promtool")
    if not program or not promtool:
        pytest.skip("prometheus and promtool are not installed: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    port = _free_port()
    end = int(time.time()) // STEP * STEP - 3 * 3600
    Path(folder, "prometheus.yaml").write_text(_CONFIG.replace("PORT", str(port)))
    Path(folder, "rules.yaml").write_text(_RULES)
    Path(folder, "series.txt").write_text(_series(end))
    subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", "series.txt", "data"],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=30,
    )
    arguments = [
        f"--config.file={folder}/prometheus.yaml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.retention.time=30d",
        "--log.level=error",
    ]
    with Path(folder, "log").open("wb") as log:
        process = subprocess.Popen([program, *arguments], stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        asyncio.run(_ready(url))
        yield Prometheus(url=url, end=end)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
async def reader() -> AsyncIterator[http_reader.HttpReader]:
    """The real HTTP reader."""
    opened = http_reader.HttpReader()
    yield opened
    await opened.close()
