"""Every kind that first_look reads is granted to the account that reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubewhy.core import ports
from kubewhy.toolsets.kubernetes.first_look import resources

ROLES = Path(__file__).resolve().parents[4] / "deploy" / "base" / "foundation" / "roles.yaml"
READ = [*resources.KNOWN.values(), resources.EVENT, resources.ENDPOINT_SLICE]


def _granted() -> set[tuple[str, str]]:
    """Group and plural of all that a role of the investigator lets list."""
    roles = [role for role in yaml.safe_load_all(ROLES.read_text(encoding="utf-8")) if role]
    rules = [
        rule
        for role in roles
        if "investigator" in role["metadata"]["name"]
        for rule in role.get("rules", ())
    ]
    return {
        (group, resource)
        for rule in rules
        if {"get", "list"} <= set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


@pytest.mark.parametrize("resource", READ, ids=[resource.name for resource in READ])
def test_granted(resource: ports.Resource) -> None:
    assert (resource.group, resource.name) in _granted()


def test_secrets_are_neither_read_nor_granted() -> None:
    assert ("", "secrets") not in _granted()
    assert all(resource.name != "secrets" for resource in READ)
