"""What the tests against a real API server start from.

Goes in: KUBECONFIG, set by `make test` (or `eval "$(make cluster-up NAME=mine)"`), with a token that may
do everything. Observed: the API server's own answers. Nothing is mocked: schema, CEL, RBAC, admission
and defaulting are the server's. Each test has a namespace of its own, deleted at its end.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kube_api

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def kube() -> Iterator[kube_api.KubeApi]:
    """A client of the cluster that KUBECONFIG names."""
    with kube_api.connect(Path(os.environ["KUBECONFIG"])) as client:
        yield client


@pytest.fixture(scope="module")
def fresh_namespace(kube: kube_api.KubeApi) -> Iterator[Callable[[], str]]:
    """A maker of namespaces that live as long as the module's tests."""
    made: list[str] = []

    def make() -> str:
        name = f"test-{uuid.uuid4().hex[:12]}"
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        made.append(name)
        return name

    yield make
    for name in made:
        kube.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def namespace(kube: kube_api.KubeApi) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    kube.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def crds(kube: kube_api.KubeApi) -> None:
    """Both CustomResourceDefinitions applied and served."""
    files = sorted((ROOT / "crds").glob("*.kubewhy.internal.yaml"))
    kube_api.apply_crds(kube, files)
