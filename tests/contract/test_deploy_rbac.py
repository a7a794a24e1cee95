"""Every right in the committed roles, written out: a new right is a change of this file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES: list[dict[str, Any]] = list(
    yaml.safe_load_all((ROOT / "deploy/base/foundation/roles.yaml").read_text(encoding="utf-8"))
)

Right = tuple[str, str, str]

READ_WHAT: dict[str, str] = {
    "": "configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims"
    " persistentvolumes pods replicationcontrollers resourcequotas serviceaccounts services",
    "admissionregistration.k8s.io": "mutatingwebhookconfigurations validatingadmissionpolicies"
    " validatingadmissionpolicybindings validatingwebhookconfigurations",
    "apiextensions.k8s.io": "customresourcedefinitions",
    "apiregistration.k8s.io": "apiservices",
    "apps": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "certificates.k8s.io": "certificatesigningrequests",
    "coordination.k8s.io": "leases",
    "discovery.k8s.io": "endpointslices",
    "events.k8s.io": "events",
    "metrics.k8s.io": "nodes pods",
    "networking.k8s.io": "ingressclasses ingresses networkpolicies",
    "node.k8s.io": "runtimeclasses",
    "policy": "poddisruptionbudgets",
    "rbac.authorization.k8s.io": "clusterrolebindings clusterroles rolebindings roles",
    "scheduling.k8s.io": "priorityclasses",
    "storage.k8s.io": "csidrivers csinodes csistoragecapacities storageclasses volumeattachments",
}

GOLDEN: dict[str, set[Right]] = {
    "ClusterRole kubewhy-operator": {
        *(("kubewhy.internal", "investigations", v) for v in ("get", "list", "watch", "delete")),
        ("kubewhy.internal", "investigations/status", "patch"),
        *(
            ("kubewhy.internal", "investigationrecords", verb)
            for verb in ("get", "list", "create", "delete")
        ),
        ("", "events", "create"),
        ("", "events", "patch"),
        ("events.k8s.io", "events", "create"),
        ("events.k8s.io", "events", "patch"),
        ("", "serviceaccounts named kubewhy-investigator,kubewhy-probe", "impersonate"),
    },
    "Role kubewhy-operator": {
        ("coordination.k8s.io", "leases", verb)
        for verb in ("get", "list", "create", "update", "patch", "delete")
    },
    "ClusterRole kubewhy-webhook": {
        ("kubewhy.internal", "investigations", verb) for verb in ("get", "list", "create", "patch")
    },
    "ClusterRole kubewhy-investigator": {
        *(
            (group, resource, verb)
            for group, resources in READ_WHAT.items()
            for resource in resources.split()
            for verb in ("get", "list")
        ),
        ("", "pods/log", "get"),
    },
}


def rights(role: dict[str, Any]) -> set[Right]:
    """Every (group, resource, verb) of a role; names narrow the resource."""
    found = set()
    for rule in role["rules"]:
        assert set(rule) <= {"apiGroups", "resources", "verbs", "resourceNames"}
        named = ",".join(rule.get("resourceNames", ()))
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                what = f"{resource} named {named}" if named else resource
                found |= {(group, what, verb) for verb in rule["verbs"]}
    return found


def roles() -> dict[str, dict[str, Any]]:
    return {f"{each['kind']} {each['metadata']['name']}": each for each in ROLES if "rules" in each}


@pytest.mark.parametrize("name", GOLDEN)
def test_rights_are_exactly_these(name: str) -> None:
    assert rights(roles()[name]) == GOLDEN[name]


def test_there_is_no_other_role() -> None:
    assert set(roles()) == set(GOLDEN)


FORBIDDEN_RESOURCES = (
    "*",
    "secrets",
    "pods/exec",
    "pods/attach",
    "pods/portforward",
    "pods/proxy",
    "services/proxy",
    "nodes/proxy",
    "serviceaccounts/token",
    "users",
    "groups",
)
FORBIDDEN_VERBS = ("*", "escalate", "bind", "approve", "use")


@pytest.mark.parametrize("name", GOLDEN)
def test_nothing_dangerous_is_in_any_role(name: str) -> None:
    for group, what, verb in rights(roles()[name]):
        resource, _, named = what.partition(" named ")
        assert group != "*"
        assert resource not in FORBIDDEN_RESOURCES
        assert not resource.endswith("/*")
        assert verb not in FORBIDDEN_VERBS
        if verb == "impersonate":
            assert (resource, named) == ("serviceaccounts", "kubewhy-investigator,kubewhy-probe")


def test_only_reading_is_given_to_the_shared_reader() -> None:
    verbs = {verb for _, _, verb in rights(roles()["ClusterRole kubewhy-investigator"])}
    assert verbs == {"get", "list"}


def test_the_operator_may_not_patch_what_carries_approvals() -> None:
    own = rights(roles()["ClusterRole kubewhy-operator"])
    assert not {("kubewhy.internal", "investigations", v) for v in ("patch", "update")} & own


def test_each_role_is_bound_to_the_one_account_of_its_name() -> None:
    bindings = [each for each in ROLES if "roleRef" in each]
    for binding in bindings:
        name = binding["metadata"]["name"]
        assert binding["kind"] == f"{binding['roleRef']['kind']}Binding"
        assert binding["roleRef"]["name"] == name
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": name, "namespace": "kubewhy-system"}
        ]
    bound = {f"{each['roleRef']['kind']} {each['roleRef']['name']}" for each in bindings}
    assert bound == set(GOLDEN)
