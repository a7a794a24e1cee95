"""What holds for every test of every tier.

Goes in: the environment, of which KUBECONFIG names the cluster for the tiers that need one.
Observed: any network use beyond loopback fails the test that made it, even if the code under test
swallowed the error. Tests of the other tiers see a KUBECONFIG that names nothing, so that no
cluster of the person who runs them is ever touched. Nothing is mocked here.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

import network_guard

_HERE = Path(__file__).resolve().parent
_CLUSTER_TIERS = ("cluster", "node", "incidents")
_refused: list[str] = []

network_guard.install(_refused.append)

# Two slow, shared cores: a deadline for one example would only measure the neighbours.
hypothesis.settings.register_profile("kubewhy", deadline=None, print_blob=True)
hypothesis.settings.load_profile("kubewhy")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Set a loop for plain tests: looptime asks for the current one, and leaves open what that creates."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.set_event_loop(_spare_loop())
    return (yield)


def pytest_unconfigure() -> None:
    """Close that loop."""
    _spare_loop().close()


@functools.cache
def _spare_loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the cluster tiers by their folder, so that none can forget it."""
    for item in items:
        parts = item.path.relative_to(_HERE).parts if item.path.is_relative_to(_HERE) else ()
        if parts and parts[0] in _CLUSTER_TIERS:
            item.add_marker(parts[0])


@pytest.fixture(autouse=True)
def refused_network_uses() -> Iterator[list[str]]:
    """The refusals of the current test so far; what is left at its end fails it."""
    _refused.clear()
    yield _refused
    refused = tuple(_refused)
    _refused.clear()
    if refused:
        pytest.fail("; ".join(refused), pytrace=False)


@pytest.fixture(autouse=True)
def _cluster_only_where_asked(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = {mark.name for mark in request.node.iter_markers()}
    if not marks.intersection(_CLUSTER_TIERS) or "own_cluster" in marks:
        monkeypatch.setenv("KUBECONFIG", os.devnull)
    elif not os.environ.get("KUBECONFIG"):
        pytest.fail(
            "KUBECONFIG is not set: run 'make test', or start a cluster first with "
            'eval "$(make cluster-up NAME=mine)"',
            pytrace=False,
        )
