"""Tools of the toolset over an in-memory cluster.

Goes in: objects and logs of `fake_kube.FakeKubeReader`, and a tool's arguments. Observed: the output's text and
status, and the reads that it took. The real API server's part is tested in tests/cluster.
"""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import fake_kube
from kubewhy.core import ports, tools
from kubewhy.toolsets import kubernetes

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)

Call = Callable[..., Awaitable[tools.ToolOutput]]


@pytest.fixture
def now() -> datetime.datetime:
    return NOW


@pytest.fixture
def kube() -> fake_kube.FakeKubeReader:
    return fake_kube.FakeKubeReader()


@pytest.fixture
def call(kube: fake_kube.FakeKubeReader) -> Call:
    offered = {tool.spec.name: tool for tool in kubernetes.toolset().tools}
    context = ports.ToolContext(namespace="shop", subject=None, kube=kube, now=lambda: NOW)

    async def run(tool: str, /, **arguments: Any) -> tools.ToolOutput:
        return await offered[f"kubernetes_{tool}"].run(context, arguments)

    return run
