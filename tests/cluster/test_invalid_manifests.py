"""One invalid manifest per bound, enum and rule, each refused by the API server in words that name the field.

The rows come from the committed schema (tests/support/manifest_rows.py) and, for CEL rules, from
tests/support/rule_rows.py; tests/contract/test_generated.py fails if a constraint has no row. Everything is sent
as a dry run, so that nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import kube_api
import manifest_rows
import rule_rows

ROOT = Path(__file__).resolve().parents[2]
API = "kubewhy.internal/v1alpha1"


def committed(plural: str) -> dict[str, Any]:
    text = (ROOT / f"crds/{plural}.kubewhy.internal.yaml").read_text(encoding="utf-8")
    (version,) = yaml.safe_load(text)["spec"]["versions"]
    properties: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]
    return properties


INVESTIGATION = committed("investigations")
RECORD = committed("investigationrecords")
PARTS: dict[str, tuple[Mapping[str, Any], str]] = {
    "Investigation spec": (INVESTIGATION["spec"], "spec"),
    "Investigation status": (INVESTIGATION["status"], "status"),
    "InvestigationRecord spec": (RECORD["spec"], "spec"),
}


def rows(made: Callable[..., Any]) -> dict[str, tuple[str, manifest_rows.Row]]:
    return {
        f"{part}: {row}": (part, row)
        for part, (schema, name) in PARTS.items()
        for row in made(schema, (name,))
    }


INVALID = rows(manifest_rows.invalid)
AT_BOUNDS = rows(manifest_rows.at_bounds)
UPDATES = {str(row): row for row in rule_rows.investigation_updates(INVESTIGATION["spec"])}
CREATIONS = [
    *(("Investigation", row) for row in rule_rows.investigation_creations()),
    *(("InvestigationRecord", row) for row in rule_rows.record_creations()),
]

Answers = Mapping[str, tuple[int, str]]


def manifest(kind: str, namespace: str, name: str, spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def place(
    kube: kube_api.KubeApi,
    crds: None,  # noqa: ARG001 - the kinds come first
    fresh_namespace: Callable[[], str],
) -> tuple[kube_api.KubeApi, str]:
    """A namespace with the objects that updates are tried on."""
    namespace = fresh_namespace()
    specs = {
        "bare": {"question": "Why?"},
        "alerted": {"alerts": [{"labels": {"alertname": "A"}}]},
        "full": manifest_rows.full(INVESTIGATION["spec"]),
    }
    for name, spec in specs.items():
        kube.create(manifest("Investigation", namespace, name, spec))
    return kube, namespace


def path(namespace: str, name: str, subresource: str = "") -> str:
    return f"/apis/{API}/namespaces/{namespace}/investigations/{name}{subresource}"


def send(place: tuple[kube_api.KubeApi, str], part: str, value: Any) -> tuple[int, str]:
    """Try a spec by creating an object, a status by patching one that exists."""
    kube, namespace = place
    if part == "Investigation status":
        target = path(namespace, "bare", "/status")
        answer = kube.merge(target, {"status": value}, dry_run=True)
    else:
        made = manifest(part.removesuffix(" spec"), namespace, "dry", value)
        answer = kube.create(made, dry_run=True)
    return answer.status_code, kube_api.message(answer)


def send_all(
    place: tuple[kube_api.KubeApi, str], table: Mapping[str, tuple[str, manifest_rows.Row]]
) -> Answers:
    answers = kube_api.in_parallel(
        lambda entry: send(place, entry[0], rule_rows.adjusted(entry[1]).value), table.values()
    )
    return dict(zip(table, answers, strict=True))


@pytest.fixture(scope="module")
def refused(place: tuple[kube_api.KubeApi, str]) -> Answers:
    return send_all(place, INVALID)


@pytest.fixture(scope="module")
def taken(place: tuple[kube_api.KubeApi, str]) -> Answers:
    return send_all(place, AT_BOUNDS)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_field_is_refused_by_name(name: str, refused: Answers) -> None:
    row = INVALID[name][1]
    status, text = refused[name]
    assert status == 422, text
    assert row.field in text
    assert row.says in text


@pytest.mark.parametrize("name", AT_BOUNDS)
def test_a_field_at_its_bound_is_taken(name: str, taken: Answers) -> None:
    status, text = taken[name]
    assert status in (200, 201), text


@pytest.mark.parametrize(("kind", "row"), CREATIONS, ids=str)
def test_a_rule_refuses_a_new_object(
    kind: str, row: rule_rows.Creation, place: tuple[kube_api.KubeApi, str]
) -> None:
    kube, namespace = place
    answer = kube.create(manifest(kind, namespace, row.name, row.spec), dry_run=True)
    text = kube_api.message(answer)
    assert answer.status_code == 422
    assert row.message in text
    assert row.field in text


@pytest.mark.parametrize("name", UPDATES)
def test_a_field_cannot_be_changed_added_or_removed(
    name: str, place: tuple[kube_api.KubeApi, str]
) -> None:
    kube, namespace = place
    row = UPDATES[name]
    answer = kube.merge(path(namespace, row.of), {"spec": row.patch}, dry_run=True)
    text = kube_api.message(answer)
    assert answer.status_code == 422
    assert row.message in text
    assert row.field in text


def test_the_whole_object_is_taken_and_loses_nothing(
    place: tuple[kube_api.KubeApi, str],
) -> None:
    kube, namespace = place
    stored = kube.request("GET", path(namespace, "full")).json()
    assert stored["spec"] == manifest_rows.full(INVESTIGATION["spec"])
    status = manifest_rows.full(INVESTIGATION["status"])
    answer = kube.merge(path(namespace, "full", "/status"), {"status": status})
    assert answer.json()["status"] == status


def test_defaults_are_filled_in_by_the_server(place: tuple[kube_api.KubeApi, str]) -> None:
    kube, namespace = place
    stored = kube.request("GET", path(namespace, "bare")).json()
    assert stored["spec"] == {
        "question": "Why?",
        "model": "default",
        "mode": "ReadOnly",
        "limits": {
            "steps": 30,
            "toolCalls": 100,
            "tokens": 400_000,
            "costMicroUSD": 2_000_000,
            "seconds": 600,
            "approvalSeconds": 3600,
        },
        "suspend": False,
        "cancel": False,
        "ttlSecondsAfterFinished": 604_800,
    }


def test_alert_text_at_its_total_bound_is_taken(place: tuple[kube_api.KubeApi, str]) -> None:
    kube, namespace = place
    spec = {"alerts": [{"labels": rule_rows.AT_TOTAL}]}
    answer = kube.create(manifest("Investigation", namespace, "dry", spec), dry_run=True)
    assert answer.status_code == 201, answer.text


def test_an_unknown_field_is_refused_when_asked_and_dropped_otherwise(
    place: tuple[kube_api.KubeApi, str],
) -> None:
    kube, namespace = place
    made = manifest("Investigation", namespace, "dry", {"question": "Why?", "novel": 1})
    strict = kube.create(made, dry_run=True)
    assert strict.status_code == 400
    assert "spec.novel" in kube_api.message(strict)
    query = {"dryRun": "All"}
    lenient = kube.request("POST", kube_api.collection(made), body=made, query=query)
    assert lenient.status_code == 201
    assert "novel" not in lenient.json()["spec"]


def test_a_spec_is_required(place: tuple[kube_api.KubeApi, str]) -> None:
    kube, namespace = place
    for kind in ("Investigation", "InvestigationRecord"):
        made = manifest(kind, namespace, "dry", {})
        del made["spec"]
        answer = kube.create(made, dry_run=True)
        assert answer.status_code == 422
        assert "spec: Required value" in kube_api.message(answer)
