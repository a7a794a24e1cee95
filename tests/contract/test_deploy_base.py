"""deploy/base, crds and the samples as files: what can be said without an API server."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewhy.api import investigation, names
from kubewhy.app import settings
from kubewhy.core import model_list

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "deploy/base"
SAMPLES = sorted((ROOT / "deploy/samples").glob("*.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def resources(folder: Path) -> Iterator[dict[str, Any]]:
    """What a kustomization puts together, without its transformers."""
    (kustomization,) = documents(folder / "kustomization.yaml")
    for entry in kustomization["resources"]:
        path = (folder / entry).resolve()
        if path.is_dir():
            yield from resources(path)
        else:
            # kustomize reads no file outside the folder of the kustomization that names it.
            assert path.parent == folder.resolve()
            yield from documents(path)


ALL = list(resources(BASE))
FOUNDATION = list(resources(BASE / "foundation"))


def of(kind: str, among: list[dict[str, Any]] = ALL) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in among if each["kind"] == kind}


def pod(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = of("Deployment")[name]["spec"]["template"]["spec"]
    return spec


PROGRAMS = ("kubewhy-operator", "kubewhy-webhook")


def test_every_file_is_used() -> None:
    for folder in (BASE, BASE / "foundation", ROOT / "crds"):
        (kustomization,) = documents(folder / "kustomization.yaml")
        files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        generated = {f for g in kustomization.get("configMapGenerator", ()) for f in g["files"]}
        assert files == {f for f in kustomization["resources"] if f.endswith(".yaml")} | generated


def test_the_foundation_is_all_but_what_runs() -> None:
    rest = {each["kind"] for each in ALL} - {each["kind"] for each in FOUNDATION}
    assert rest == {"Deployment", "Service", "NetworkPolicy"}
    assert {each["kind"] for each in FOUNDATION} == {
        "Namespace",
        "CustomResourceDefinition",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
    }


def test_everything_lies_in_the_namespace_that_the_roles_name() -> None:
    cluster_scoped = ("Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding")
    for each in ALL:
        expected = None if each["kind"] in cluster_scoped else names.SYSTEM_NAMESPACE
        assert each["metadata"].get("namespace") == expected, each["metadata"]["name"]


def test_the_namespace_is_restricted() -> None:
    labels = of("Namespace")[names.SYSTEM_NAMESPACE]["metadata"]["labels"]
    levels = {labels[f"pod-security.kubernetes.io/{mode}"] for mode in ("enforce", "audit", "warn")}
    assert levels == {"restricted"}


def test_accounts_are_those_of_the_roles_and_mount_no_token_by_themselves() -> None:
    accounts = of("ServiceAccount")
    assert set(accounts) == {
        names.OPERATOR_ACCOUNT,
        names.WEBHOOK_ACCOUNT,
        names.INVESTIGATOR_ACCOUNT,
        names.PROBE_ACCOUNT,
    }
    assert {each["automountServiceAccountToken"] for each in accounts.values()} == {False}


@pytest.mark.parametrize("name", PROGRAMS)
def test_pods_run_as_their_own_account_and_program(name: str) -> None:
    (container,) = pod(name)["containers"]
    assert pod(name)["serviceAccountName"] == name
    assert container["args"] == [name.removeprefix("kubewhy-")]
    assert "command" not in container


@pytest.mark.parametrize("name", PROGRAMS)
def test_pods_are_confined(name: str) -> None:
    spec = pod(name)
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for host in ("hostNetwork", "hostPID", "hostIPC"):
        assert not spec.get(host)
    for volume in spec["volumes"]:
        assert "configMap" in volume or volume["emptyDir"]["sizeLimit"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in spec["volumes"]
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_pods_have_bounds_and_probes(name: str) -> None:
    (container,) = pod(name)["containers"]
    for bound in ("requests", "limits"):
        assert set(container["resources"][bound]) == {"cpu", "memory", "ephemeral-storage"}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["health"] == 8081
    assert ports["metrics"] == 8080
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "health"}


def test_the_webhooks_token_comes_from_a_secret_that_must_exist() -> None:
    (container,) = pod(names.WEBHOOK_ACCOUNT)["containers"]
    token = next(each for each in container["env"] if each["name"] == "KUBEWHY_WEBHOOK_TOKEN")
    assert token["valueFrom"]["secretKeyRef"] == {
        "name": names.WEBHOOK_TOKEN_SECRET,
        "key": "token",
        "optional": False,
    }
    assert "Secret" not in {each["kind"] for each in ALL}


def test_the_operator_reads_the_generated_model_list() -> None:
    (kustomization,) = documents(BASE / "kustomization.yaml")
    (generator,) = kustomization["configMapGenerator"]
    spec = pod(names.OPERATOR_ACCOUNT)
    (volume,) = (v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v)
    assert (volume, names.SYSTEM_NAMESPACE) == (generator["name"], generator["namespace"])
    (container,) = spec["containers"]
    (mount,) = (m for m in container["volumeMounts"] if m["name"] == "models")
    (variable,) = (e for e in container["env"] if e["name"] == "KUBEWHY_MODELS_FILE")
    assert variable["value"] == f"{mount['mountPath']}/{generator['files'][0]}"
    listed = model_list.read((BASE / "models.yaml").read_text("utf-8"), source="models.yaml")
    assert listed.entries["default"].provider == "triage"


def test_the_settings_of_the_pods_exist() -> None:
    """A variable that nobody reads would be a setting without an effect."""
    known = {f"{settings.PREFIX}{field.name.upper()}" for field in fields(settings.Settings)}
    (container,) = pod(names.OPERATOR_ACCOUNT)["containers"]
    written = {e["name"] for e in container["env"] if e["name"].startswith(settings.PREFIX)}
    assert written
    assert written <= known


def test_the_service_leads_to_the_webhooks_port() -> None:
    service = of("Service")["kubewhy-webhook"]["spec"]
    labels = of("Deployment")["kubewhy-webhook"]["spec"]["template"]["metadata"]["labels"]
    (container,) = pod("kubewhy-webhook")["containers"]
    assert service["selector"].items() <= labels.items()
    assert {port["targetPort"] for port in service["ports"]} <= {
        port["name"] for port in container["ports"]
    }


def test_the_network_is_closed_but_for_what_is_listed() -> None:
    policies = of("NetworkPolicy")
    assert policies["default-deny"]["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
    }
    for name, policy in policies.items():
        for rule in policy["spec"].get("ingress", []) + policy["spec"].get("egress", []):
            assert rule.get("from") or rule.get("to"), name
            assert rule["ports"], name
    blocks = [
        peer["ipBlock"]
        for rule in policies["kubewhy-api-server"]["spec"]["egress"]
        for peer in rule["to"]
        if "ipBlock" in peer
    ]
    assert "169.254.0.0/16" in next(b for b in blocks if b["cidr"] == "0.0.0.0/0")["except"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_selectors_of_policies_and_deployments_match_their_pods(name: str) -> None:
    deployment = of("Deployment")[name]["spec"]
    labels = deployment["template"]["metadata"]["labels"].items()
    assert deployment["selector"]["matchLabels"].items() <= labels
    chosen = [
        policy
        for policy in of("NetworkPolicy").values()
        if policy["spec"]["podSelector"].get("matchLabels", {}).items() <= labels
    ]
    assert len(chosen) >= 3


def test_no_image_of_an_unknown_version_is_used() -> None:
    (kustomization,) = documents(BASE / "kustomization.yaml")
    tags = {image["name"]: image["newTag"] for image in kustomization["images"]}
    for name in PROGRAMS:
        (container,) = pod(name)["containers"]
        assert tags[container["image"]] != "latest"


# ----------------------------------------------------------------------------------------- samples


def test_there_is_a_sample_by_question_and_one_by_alert() -> None:
    specs = [documents(path)[0]["spec"] for path in SAMPLES]
    assert any("question" in spec for spec in specs)
    assert any("alerts" in spec for spec in specs)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples_are_investigations_and_lose_nothing_when_read(path: Path) -> None:
    (sample,) = documents(path)
    read = investigation.Investigation.model_validate(sample)
    assert (read.api_version, read.kind) == (names.API_VERSION, names.INVESTIGATION.kind)
    written = read.manifest()
    for alert in sample["spec"].get("alerts", ()):
        alert.pop("endsAt", None)  # year 1 says that it fires, and is not kept
    assert_contains(written, sample)


def assert_contains(whole: Any, part: Any) -> None:
    """Every field of `part` is in `whole` with the same value."""
    if isinstance(part, dict):
        for key, value in part.items():
            assert key in whole
            assert_contains(whole[key], value)
    elif isinstance(part, list):
        assert len(whole) == len(part)
        for theirs, ours in zip(whole, part, strict=True):
            assert_contains(theirs, ours)
    else:
        assert whole == part


@pytest.mark.parametrize("path", [ROOT / "docs/spec/investigation.md"])
def test_the_pages_example_is_valid(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    example = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    assert investigation.Investigation.model_validate(example).spec.subject is not None
