"""A small client of a real API server for tests: what was answered, unchanged.

It is no part of the product and knows nothing of its clients: a test that uses it checks the product
against the server and not against itself.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import yaml

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
PARALLEL = 8

Manifest = Mapping[str, Any]
Item = TypeVar("Item")
Result = TypeVar("Result")


class KubeApi:
    """Requests with the kubeconfig's credentials over kept connections."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
        impersonate: str = "",
    ) -> httpx.Response:
        """One request; whatever is answered is returned."""
        headers = {"Content-Type": content_type, "Accept": JSON}
        if impersonate:
            headers["Impersonate-User"] = impersonate
        return self._client.request(
            method,
            path,
            params=dict(query or {}),
            content=None if body is None else json.dumps(body),
            headers=headers,
        )

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> httpx.Response:
        """Create an object strictly: an unknown or doubled field is an error.

        Raises:
            AssertionError: the server did not take it and it was no dry run.
        """
        query = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        answer = self.request("POST", collection(manifest), body=manifest, query=query)
        assert dry_run or answer.status_code == httpx.codes.CREATED, answer.text
        return answer

    def merge(
        self, path: str, patch: Any, *, dry_run: bool = False, impersonate: str = ""
    ) -> httpx.Response:
        """A merge patch, strict as `create` is."""
        query = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        return self.request(
            "PATCH",
            path,
            body=patch,
            content_type=MERGE_PATCH,
            query=query,
            impersonate=impersonate,
        )

    def apply(self, path: str, manifest: Manifest, *, dry_run: bool = False) -> httpx.Response:
        """A server-side apply, strict as `create` is."""
        query = {"fieldManager": "tests", "force": "true", "fieldValidation": "Strict"}
        query |= {"dryRun": "All"} if dry_run else {}
        return self.request("PATCH", path, body=manifest, content_type=APPLY, query=query)


PLURALS = {
    "Investigation": "investigations",
    "InvestigationRecord": "investigationrecords",
    "CustomResourceDefinition": "customresourcedefinitions",
    "Namespace": "namespaces",
    "Pod": "pods",
    "ConfigMap": "configmaps",
}


def collection(manifest: Manifest) -> str:
    """The path that objects of this manifest's kind and namespace are created at."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    middle = f"/namespaces/{namespace}" if namespace else ""
    return f"{prefix}{middle}/{PLURALS[kind]}"


def message(answer: httpx.Response) -> str:
    """The text of a refusal, "" where the request was taken."""
    return "" if answer.is_success else str(answer.json().get("message", answer.text))


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results of the work on each item, in order."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(work, items))


@contextmanager
def connect(kubeconfig: Path) -> Iterator[KubeApi]:
    """A client for the kubeconfig's current context, which must use a token."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    limits = httpx.Limits(max_connections=PARALLEL, max_keepalive_connections=PARALLEL)
    with httpx.Client(
        base_url=cluster["server"],
        headers={"Authorization": f"Bearer {user['token']}"},
        verify=_tls(cluster, kubeconfig.parent),
        timeout=60.0,
        limits=limits,
        trust_env=False,
    ) as client:
        yield KubeApi(client)


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _tls(cluster: dict[str, Any], folder: Path) -> ssl.SSLContext:
    if "certificate-authority-data" in cluster:
        text = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return ssl.create_default_context(cadata=text)
    return ssl.create_default_context(cafile=folder / cluster["certificate-authority"])


def apply_crds(kube: KubeApi, files: Sequence[Path], *, seconds: float = 30.0) -> None:
    """Apply CustomResourceDefinitions and wait until their kinds are served.

    Raises:
        AssertionError: one was refused, or is not established in time.
    """
    manifests = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]
    for manifest in manifests:
        answer = kube.apply(crd_path(manifest), manifest)
        assert answer.is_success, answer.text
    end = time.monotonic() + seconds
    for manifest in manifests:
        while not _served(kube, manifest):
            assert time.monotonic() < end, f"{manifest['metadata']['name']} is not established"
            time.sleep(0.1)


def crd_path(manifest: Manifest) -> str:
    """Where a CustomResourceDefinition lies."""
    return f"{collection(manifest)}/{manifest['metadata']['name']}"


def _served(kube: KubeApi, manifest: Manifest) -> bool:
    state = kube.request("GET", crd_path(manifest)).json()
    conditions = state.get("status", {}).get("conditions") or []  # null at first
    established = any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
    spec = manifest["spec"]
    version = spec["versions"][0]["name"]
    path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
    return established and kube.request("GET", path, query={"limit": "1"}).is_success
