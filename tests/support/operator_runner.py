"""Starts the operator as a process of its own, the way its image starts it, with its own account's token.

Goes in: a kubeconfig that may ask for tokens, environment variables, and where the log goes. Observed: what a person
sees, which is the objects in the cluster, the log and the metrics. Nothing is mocked; kill -9 and SIGTERM are real.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

import kube_api

SYSTEM = "kubewhy-system"
READY_SECONDS = 40.0
INVESTIGATIONS = "/apis/kubewhy.internal/v1alpha1/namespaces/{}/investigations"

QUICK = {
    "KUBEWHY_LIST_SECONDS": "2",
    "KUBEWHY_LEASE_SECONDS": "6",
    "KUBEWHY_RENEW_SECONDS": "2",
    "KUBEWHY_TEND_SECONDS": "2",
    "KUBEWHY_CONCURRENT": "10",
}
"""The periods that tests run with (faults.md §2.2)."""


class Operator:
    """A running operator process."""

    def __init__(
        self, process: subprocess.Popen[bytes], health: str, metrics: str, log: Path
    ) -> None:
        self.process = process
        self._health = health
        self._metrics = metrics
        self._log = log

    def log(self) -> list[dict[str, Any]]:
        """The log's lines; one that is no JSON shows as its text."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [json.loads(line) if line.startswith("{") else {"message": line} for line in lines]

    def metrics(self) -> str:
        """The text that Prometheus would scrape."""
        with urllib.request.urlopen(f"http://{self._metrics}/metrics", timeout=5) as answer:
            text: str = answer.read().decode()
        return text

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        try:
            with urllib.request.urlopen(f"http://{self._health}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=10)

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(timeout=20)

    def wait_ready(self) -> None:
        """Wait until it works.

        Raises:
            AssertionError: it ended, or is not ready in time; the text ends with its log.
        """
        deadline = time.monotonic() + READY_SECONDS
        while not self.ready():
            assert self.process.poll() is None, f"the operator ended: {self.log()[-3:]}"
            assert time.monotonic() < deadline, f"the operator is not ready: {self.log()[-3:]}"
            time.sleep(0.1)


@contextlib.contextmanager
def running(
    kube: kube_api.KubeApi,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    wait: bool = True,
) -> Iterator[Operator]:
    """An operator until the block ends; one that is still there then is ended by SIGTERM."""
    started = start(kube, folder, environment)
    try:
        if wait:
            started.wait_ready()
        yield started
    finally:
        if started.process.poll() is None:
            started.terminate()


def start(
    kube: kube_api.KubeApi, folder: Path, environment: Mapping[str, str] | None = None
) -> Operator:
    """Start the process and return at once."""
    health, metrics = _free_address(), _free_address()
    log = folder / "operator.log"
    settings = QUICK | {
        "KUBEWHY_HOLDER": "test-operator",
        "KUBEWHY_HEALTH_ADDRESS": health,
        "KUBEWHY_METRICS_ADDRESS": metrics,
        **access(kube, folder),
        **(environment or {}),
    }
    kept = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "kubewhy", "operator"],
            env=kept | settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    return Operator(process, health, metrics, log)


def access(
    kube: kube_api.KubeApi, folder: Path, account: str = "kubewhy-operator"
) -> dict[str, str]:
    """Address, CA and a fresh token of one of kubewhy's accounts, as environment variables."""
    cluster = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text(encoding="utf-8"))[
        "clusters"
    ][0]["cluster"]
    ca = folder / "ca.crt"
    if "certificate-authority" in cluster:
        ca.write_bytes(Path(cluster["certificate-authority"]).read_bytes())
    else:
        ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    reply = kube.request(
        "POST",
        f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        },
    )
    assert reply.is_success, reply.text
    token = folder / f"{account}.token"
    token.write_text(reply.json()["status"]["token"], encoding="ascii")
    return {
        "KUBEWHY_API_SERVER": cluster["server"],
        "KUBEWHY_API_CA_FILE": str(ca),
        "KUBEWHY_API_TOKEN_FILE": str(token),
    }


def install() -> None:
    """Apply the foundation of deploy/ as an administrator would."""
    folder = Path(__file__).resolve().parents[2] / "deploy" / "base" / "foundation"
    subprocess.run(
        ["kubectl", "apply", "--server-side", "--force-conflicts", "-k", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    subprocess.run(
        ["kubectl", "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )


def investigation(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    """A manifest; `question` is given unless the spec has one."""
    return {
        "apiVersion": "kubewhy.internal/v1alpha1",
        "kind": "Investigation",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"question": "Why is it broken?"} | spec,
    }


def read(kube: kube_api.KubeApi, namespace: str, name: str) -> dict[str, Any]:
    """The object; {} where it is gone."""
    answer = kube.request("GET", f"{INVESTIGATIONS.format(namespace)}/{name}")
    found: dict[str, Any] = answer.json() if answer.is_success else {}
    return found


def succeeded(found: Mapping[str, Any]) -> dict[str, Any]:
    """The condition Succeeded; {} before the first visit."""
    listed = found.get("status", {}).get("conditions", [])
    return next((each for each in listed if each["type"] == "Succeeded"), {})


def wait_for(
    kube: kube_api.KubeApi,
    namespace: str,
    name: str,
    wanted: Callable[[dict[str, Any]], bool],
    *,
    seconds: float = 30.0,
) -> dict[str, Any]:
    """The object as soon as it is as wanted.

    Raises:
        AssertionError: it is not in time; the text shows its condition.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = read(kube, namespace, name)
        if wanted(found):
            return found
        assert time.monotonic() < deadline, f"{name} after {seconds} s: {succeeded(found)}"
        time.sleep(0.1)


def ended(found: Mapping[str, Any]) -> bool:
    """Whether the run is over and its whole status written (the trace comes after the end)."""
    status = found.get("status", {})
    return bool(status.get("finished")) and "report" in status


def has_reason(reason: str) -> Callable[[dict[str, Any]], bool]:
    """A check for `wait_for`: the condition Succeeded has this reason."""
    return lambda found: succeeded(found).get("reason") == reason


def _free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
