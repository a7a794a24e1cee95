"""The operator's own identity against the real API server: its account's token, and its installed roles."""

from __future__ import annotations

import base64
import os
import subprocess
import uuid
from pathlib import Path

import yaml

import kube_api
from kubewhy.adapters.kube import config

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "kubewhy-system"


def install() -> None:
    """Apply deploy/base/foundation: namespace, kinds, accounts and roles.

    Raises:
        AssertionError: kubectl refuses; the text is kubectl's.
    """
    done = subprocess.run(
        ["kubectl", "apply", "--server-side", "--force-conflicts", "-k", "deploy/base/foundation"],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def access(
    kube: kube_api.KubeApi, folder: Path, account: str = "kubewhy-operator"
) -> config.Explicit:
    """Server, CA and a fresh token of an account of kubewhy-system."""
    answer = kube.request(
        "POST",
        f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token",
        body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )
    assert answer.is_success, answer.text
    token = folder / f"{account}-{uuid.uuid4().hex}.token"
    token.write_text(answer.json()["status"]["token"])
    kubeconfig = Path(os.environ["KUBECONFIG"])
    cluster = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]
    authority = folder / "ca.crt"
    if "certificate-authority-data" in cluster:
        authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    else:
        authority = kubeconfig.parent / cluster["certificate-authority"]
    return config.Explicit(server=cluster["server"], ca_file=str(authority), token_file=str(token))
