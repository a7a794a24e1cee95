"""deploy/ against the real API server: applied for real up to the Deployments, those as a dry run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import kube_api

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "kubewhy-system"
OPERATOR = f"system:serviceaccount:{SYSTEM}:kubewhy-operator"
WEBHOOK = f"system:serviceaccount:{SYSTEM}:kubewhy-webhook"
READER = f"system:serviceaccount:{SYSTEM}:kubewhy-investigator"


def kubectl(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["kubectl", *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )


@pytest.fixture(scope="module")
def installed(crds: None) -> None:  # noqa: ARG001 - the kinds come first
    """What `make run` installs; it stays, as other tests of the cluster install it too."""
    done = kubectl("apply", "--server-side", "--force-conflicts", "-k", "deploy/base/foundation")
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("installed")
def test_the_base_is_taken_without_a_warning() -> None:
    done = kubectl("apply", "--server-side", "--dry-run=server", "-k", "deploy/base")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    for line in (
        "deployment.apps/kubewhy-operator",
        "deployment.apps/kubewhy-webhook",
        "service/kubewhy-webhook",
        "networkpolicy.networking.k8s.io/default-deny",
    ):
        assert line in done.stdout


def pod_of(name: str) -> dict[str, Any]:
    built = kubectl("kustomize", "deploy/base")
    deployment = next(
        each
        for each in yaml.safe_load_all(built.stdout)
        if each["kind"] == "Deployment" and each["metadata"]["name"] == name
    )
    template: dict[str, Any] = deployment["spec"]["template"]
    metadata = template["metadata"] | {"name": "trial", "namespace": SYSTEM}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["kubewhy-operator", "kubewhy-webhook"])
def test_the_pods_pass_the_restricted_profile(kube: kube_api.KubeApi, name: str) -> None:
    """Deployments are only warned about; their pods are what the profile refuses."""
    answer = kube.create(pod_of(name), dry_run=True)
    assert answer.status_code == 201, answer.text
    assert answer.json()["spec"]["containers"][0]["image"] == "kubewhy:0.1.0"


@pytest.mark.usefixtures("installed")
def test_a_pod_with_more_rights_is_refused(kube: kube_api.KubeApi) -> None:
    """Negative control of the profile."""
    pod = pod_of("kubewhy-operator")
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    answer = kube.create(pod, dry_run=True)
    assert answer.status_code == 403
    assert "allowPrivilegeEscalation" in kube_api.message(answer)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "sample", sorted((ROOT / "deploy/samples").glob("*.yaml")), ids=lambda path: path.name
)
def test_the_samples_are_taken(sample: Path, namespace: str) -> None:
    done = kubectl(
        "create", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", str(sample)
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("crds")
def test_the_pages_example_is_taken(kube: kube_api.KubeApi, namespace: str) -> None:
    text = (ROOT / "docs/spec/investigation.md").read_text(encoding="utf-8")
    example = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    example["metadata"]["namespace"] = namespace
    answer = kube.create(example, dry_run=True)
    assert answer.status_code == 201, answer.text


# ------------------------------------------------------------------------------------------ rights


def may(kube: kube_api.KubeApi, user: str, verb: str, what: str, namespace: str = "shop") -> bool:
    """What the API server's authorizer says about `group/resource/subresource/name`."""
    group, resource, subresource, name = [*what.split("/"), "", "", ""][:4]
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "name": name,
        "namespace": namespace,
    }
    parts = user.split(":")
    groups = [
        "system:serviceaccounts",
        f"system:serviceaccounts:{parts[2]}",
        "system:authenticated",
    ]
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    allowed: bool = kube.request("POST", path, body=body).json()["status"]["allowed"]
    return allowed


INV = "kubewhy.internal/investigations"
RECORDS = "kubewhy.internal/investigationrecords"

ALLOWED = [
    (OPERATOR, "watch", INV),
    (OPERATOR, "delete", INV),
    (OPERATOR, "patch", f"{INV}/status"),
    (OPERATOR, "create", RECORDS),
    (OPERATOR, "delete", RECORDS),
    (OPERATOR, "create", "/events"),
    (OPERATOR, "patch", "events.k8s.io/events"),
    (OPERATOR, "impersonate", "/serviceaccounts//kubewhy-investigator"),
    (OPERATOR, "impersonate", "/serviceaccounts//kubewhy-probe"),
    (WEBHOOK, "create", INV),
    (WEBHOOK, "patch", INV),
    (READER, "list", "/pods"),
    (READER, "get", "/pods/log"),
    (READER, "list", "apps/deployments"),
    (READER, "get", "/nodes"),
]
REFUSED = [
    (OPERATOR, "patch", INV),
    (OPERATOR, "update", INV),
    (OPERATOR, "approve", INV),
    (OPERATOR, "patch", RECORDS),
    (OPERATOR, "update", RECORDS),
    (OPERATOR, "get", "/pods"),
    (OPERATOR, "get", "/secrets"),
    (OPERATOR, "impersonate", "/serviceaccounts//default"),
    (OPERATOR, "impersonate", "/users//admin"),
    (OPERATOR, "create", "/serviceaccounts/token/kubewhy-investigator"),
    (OPERATOR, "update", "coordination.k8s.io/leases"),
    (WEBHOOK, "delete", INV),
    (WEBHOOK, "patch", f"{INV}/status"),
    (WEBHOOK, "get", RECORDS),
    (READER, "get", "/secrets"),
    (READER, "list", "/secrets"),
    (READER, "create", "/pods/exec"),
    (READER, "get", "/nodes/proxy"),
    (READER, "delete", "/pods"),
    (READER, "get", INV),
]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("user", "verb", "what", "expected"),
    [(*right, True) for right in ALLOWED] + [(*right, False) for right in REFUSED],
)
def test_rights_as_the_server_sees_them(
    kube: kube_api.KubeApi, user: str, verb: str, what: str, expected: bool
) -> None:
    assert may(kube, user, verb, what) is expected


@pytest.mark.usefixtures("installed")
def test_leases_are_the_operators_in_its_own_namespace_only(kube: kube_api.KubeApi) -> None:
    for verb in ("get", "list", "create", "update", "patch", "delete"):
        assert may(kube, OPERATOR, verb, "coordination.k8s.io/leases", SYSTEM)
        assert not may(kube, OPERATOR, verb, "coordination.k8s.io/leases", "kube-system")
