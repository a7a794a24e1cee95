"""The kinds as the API server serves them: what may change, what stays, and how they read."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import kube_api
import rule_rows

ROOT = Path(__file__).resolve().parents[2]
API = "kubewhy.internal/v1alpha1"
NOON = "2026-08-03T12:00:00Z"

pytestmark = pytest.mark.usefixtures("crds")


class Place:
    """One Investigation in a namespace of its own."""

    def __init__(self, kube: kube_api.KubeApi, namespace: str) -> None:
        self.kube = kube
        self.namespace = namespace
        kube.create(self.manifest("one", {"question": "Why?"}))

    def manifest(self, name: str, spec: Any, kind: str = "Investigation") -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}

    def path(self, name: str = "one", plural: str = "investigations") -> str:
        return f"/apis/{API}/namespaces/{self.namespace}/{plural}/{name}"

    def status(self, status: Any) -> Any:
        return self.kube.merge(f"{self.path()}/status", {"status": status})

    def spec(self, **fields: Any) -> Any:
        return self.kube.merge(self.path(), {"spec": fields})


@pytest.fixture
def place(kube: kube_api.KubeApi, namespace: str) -> Place:
    return Place(kube, namespace)


def succeeded(status: str, reason: str) -> dict[str, Any]:
    return {
        "type": "Succeeded",
        "status": status,
        "reason": reason,
        "lastTransitionTime": NOON,
        "message": "Why it is so.",
    }


# ----------------------------------------------------------------------------------------- the kinds


@pytest.mark.parametrize("plural", ["investigations", "investigationrecords"])
def test_the_kinds_are_established_and_named(kube: kube_api.KubeApi, plural: str) -> None:
    manifest = yaml.safe_load((ROOT / f"crds/{plural}.kubewhy.internal.yaml").read_text("utf-8"))
    state = kube.request("GET", kube_api.crd_path(manifest)).json()
    conditions = {each["type"]: each["status"] for each in state["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions
    names = state["status"]["acceptedNames"]
    assert names["shortNames"] == [
        {"investigations": "inv", "investigationrecords": "invrec"}[plural]
    ]
    assert names["categories"] == ["kubewhy"]


def test_the_server_keeps_the_schema_as_it_was_generated(kube: kube_api.KubeApi) -> None:
    """Nothing of the schema is dropped or rewritten on its way in."""
    for file in (ROOT / "crds").glob("*.kubewhy.internal.yaml"):
        manifest = yaml.safe_load(file.read_text(encoding="utf-8"))
        state = kube.request("GET", kube_api.crd_path(manifest)).json()
        (stored,), (ours,) = state["spec"]["versions"], manifest["spec"]["versions"]
        assert stored["schema"] == ours["schema"]


def kubectl(*arguments: str) -> str:
    done = subprocess.run(
        ["kubectl", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("inv", ["KIND:", "Investigation", "One question or alert episode"]),
        (
            "inv.spec",
            ["question", "subject", "limits", "One of question and alerts is required", "suspend"],
        ),
        ("inv.spec.limits", ["costMicroUSD", "millionths of a US dollar", "toolCalls"]),
        ("inv.spec.mode", ["ReadOnly", "Approve", "waits for approval"]),
        ("inv.status.rootCause.evidence", ["verified", "word for word"]),
        ("invrec.spec", ["sha256", "previous", "ZlibBase64"]),
    ],
)
def test_explain_reads_well(what: str, words: list[str]) -> None:
    text = " ".join(kubectl("explain", what).split())
    assert [word for word in words if word not in text] == []
    assert "<no description>" not in text.lower()


def test_the_columns_show_the_answer(place: Place) -> None:
    answer = place.status(
        {
            "conditions": [succeeded("True", "RootCauseFound")],
            "subject": "Deployment/checkout",
            "steps": 4,
            "toolCalls": 7,
            "cost": "$0.021",
            "summary": "DB_HOST is unset in ConfigMap checkout-env",
            "finished": True,
        }
    )
    assert answer.is_success, answer.text
    for alias in ("investigations", "inv", "kubewhy"):
        head, row, *rest = kubectl("get", alias, "-n", place.namespace).splitlines()
        columns = "NAME SUBJECT SUCCEEDED REASON STEPS COST AGE ROOT CAUSE"
        assert " ".join(head.split()) == columns
        assert "Deployment/checkout" in row
        assert "RootCauseFound" in row
        assert "DB_HOST is unset" in row
        assert not rest
    wide, row, *_ = kubectl("get", "inv", "-n", place.namespace, "-o", "wide").splitlines()
    assert wide.split()[-3:] == ["MODEL", "TOOL", "CALLS"]
    assert row.split()[-2:] == ["default", "7"]
    kubectl("wait", "inv/one", "-n", place.namespace, "--for=condition=Succeeded", "--timeout=5s")


def test_objects_can_be_selected_by_end_and_severity(place: Place) -> None:
    urgent = {"question": "Why?", "severity": "Critical"}
    place.kube.create(place.manifest("urgent", urgent))
    place.status({"finished": True, "conditions": [succeeded("True", "Inconclusive")]})

    def selected(selector: str) -> list[str]:
        path = f"/apis/{API}/namespaces/{place.namespace}/investigations"
        found = place.kube.request("GET", path, query={"fieldSelector": selector}).json()
        return sorted(item["metadata"]["name"] for item in found["items"])

    assert selected("status.finished!=true") == ["urgent"]
    assert selected("status.finished=true") == ["one"]
    assert selected("spec.severity=Critical") == ["urgent"]


# --------------------------------------------------------------------------------------- the spec


def test_what_may_change_does_in_both_directions(place: Place) -> None:
    edits: dict[str, list[Any]] = {
        "suspend": [True, False, None],
        "cancel": [True, False, None],
        "ttlSecondsAfterFinished": [0, 60, None],
    }
    for field, values in edits.items():
        for value in values:
            answer = place.spec(**{field: value})
            assert answer.is_success, answer.text
    assert place.kube.request("GET", place.path()).json()["metadata"]["generation"] > 1


def test_a_spec_cannot_be_emptied_or_removed(place: Place) -> None:
    assert place.kube.merge(place.path(), {"spec": None}).status_code == 422
    stored = place.kube.request("GET", place.path()).json()
    emptied = {**stored, "spec": {}}
    assert place.kube.request("PUT", place.path(), body=emptied).status_code == 422
    assert place.kube.request("GET", place.path()).json()["spec"] == stored["spec"]


def test_a_field_cannot_be_swapped_by_removing_and_putting_it_back(place: Place) -> None:
    spec = {"question": "Why?", "serviceAccountName": "first"}
    place.kube.create(place.manifest("account", spec))
    path = place.path("account")
    removed = place.kube.merge(path, {"spec": {"serviceAccountName": None}})
    assert removed.status_code == 422
    assert "spec.serviceAccountName" in kube_api.message(removed)
    swapped = place.kube.merge(path, {"spec": {"serviceAccountName": "second"}})
    assert swapped.status_code == 422
    stored = place.kube.request("GET", path).json()
    assert stored["spec"]["serviceAccountName"] == "first"


def test_limits_left_out_become_the_defaults_one_by_one(place: Place) -> None:
    place.kube.create(place.manifest("few", {"question": "Why?", "limits": {"steps": 5}}))
    stored = place.kube.request("GET", place.path("few")).json()
    assert stored["spec"]["limits"]["steps"] == 5
    assert stored["spec"]["limits"]["tokens"] == 400_000


# ------------------------------------------------------------------------------------- the status


def test_a_first_status_and_its_changes_are_taken(place: Place) -> None:
    for reason in ("Pending", "Running", "AwaitingApproval", "ANewReason"):
        answer = place.status({"conditions": [succeeded("Unknown", reason)], "finished": False})
        assert answer.is_success, answer.text


@pytest.mark.parametrize("end", ["True", "False"])
def test_terminal_stays_terminal(place: Place, end: str) -> None:
    done = succeeded(end, "ReasonOne")
    assert place.status({"conditions": [done], "finished": True}).is_success
    other = succeeded("Unknown", "ReasonOne") | {"type": "Delivered"}
    attempts: dict[str, Any] = {
        "another reason": {"conditions": [succeeded(end, "ReasonTwo")]},
        "active again": {"conditions": [succeeded("Unknown", "ReasonOne")]},
        "the other end": {
            "conditions": [succeeded({"True": "False", "False": "True"}[end], "ReasonOne")]
        },
        "condition removed": {"conditions": [other]},
        "conditions emptied": {"conditions": []},
        "conditions nulled": {"conditions": None},
        "finished again false": {"finished": False},
        "finished nulled": {"finished": None},
        "status nulled": None,
    }
    for what, status in attempts.items():
        answer = place.status(status)
        assert answer.status_code == 422, what
        assert "stays finished" in kube_api.message(answer), what
        assert "status." in kube_api.message(answer), what


def test_the_rest_of_a_finished_status_may_be_rebuilt(place: Place) -> None:
    done = succeeded("True", "RootCauseFound")
    assert place.status({"conditions": [done], "finished": True}).is_success
    later = done | {"message": "Rebuilt.", "observedGeneration": 1}
    delivered = done | {"type": "Delivered", "reason": "Delivered"}
    answer = place.status({"conditions": [later, delivered], "summary": "Rebuilt."})
    assert answer.is_success, answer.text
    assert place.spec(ttlSecondsAfterFinished=5).is_success


def test_a_status_is_written_only_through_its_subresource(place: Place) -> None:
    answer = place.kube.merge(place.path(), {"status": {"summary": "forged"}})
    assert answer.is_success
    assert "status" not in answer.json()


def test_unknown_fields_of_a_status_are_dropped_and_the_rest_is_kept(place: Place) -> None:
    """What an operator newer than its CRD meets: no error, so it must look at what came back."""
    status = {"steps": 1, "novel": {"deep": 1}, "usage": {"inputTokens": 1, "novel": 2}}
    path = f"{place.path()}/status"
    strict = place.kube.merge(path, {"status": status})
    assert strict.status_code == 422  # usage lacks its required fields
    whole = {"inputTokens": 1, "outputTokens": 2, "costMicroUSD": 3}
    status["usage"] = whole | {"novel": 2}
    lenient = place.kube.request(
        "PATCH", path, body={"status": status}, content_type=kube_api.MERGE_PATCH
    )
    assert lenient.json()["status"] == {"steps": 1, "usage": whole}


def test_a_stale_status_write_is_a_conflict(place: Place) -> None:
    stale = place.kube.request("GET", place.path()).json()["metadata"]["resourceVersion"]
    assert place.status({"steps": 1}).is_success
    patch = {"metadata": {"resourceVersion": stale}, "status": {"steps": 2}}
    assert place.kube.merge(f"{place.path()}/status", patch).status_code == 409


# ------------------------------------------------------------------------------------- the record


def test_a_record_never_changes(place: Place) -> None:
    made = place.manifest("one-0", dict(rule_rows.EVENTS_SPEC), kind="InvestigationRecord")
    place.kube.create(made)
    path = place.path("one-0", "investigationrecords")
    for patch in (
        {"data": "[1]"},
        {"previous": None},
        {"epoch": 2},
        {"sha256": "f" * 64},
    ):
        answer = place.kube.merge(path, {"spec": patch})
        assert answer.status_code == 422
        assert rule_rows.RECORD in kube_api.message(answer)
    assert place.kube.merge(path, {"spec": None}).status_code == 422
    labelled = place.kube.merge(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.is_success


def test_the_columns_show_what_a_record_holds(place: Place) -> None:
    made = place.manifest("one-3", dict(rule_rows.EVENTS_SPEC), kind="InvestigationRecord")
    place.kube.create(made)
    head, row = kubectl("get", "invrec", "-n", place.namespace).splitlines()
    assert head.split() == ["NAME", "INVESTIGATION", "CONTENT", "NUMBER", "EVENTS", "BYTES", "AGE"]
    assert row.split()[:-1] == ["one-3", "a", "Events", "3", "2", "2"]


def test_creating_a_record_twice_is_the_compare_and_swap(place: Place) -> None:
    made = place.manifest("one-0", dict(rule_rows.EVENTS_SPEC), kind="InvestigationRecord")
    place.kube.create(made)
    again = place.kube.request("POST", kube_api.collection(made), body=made)
    assert again.status_code == 409
    assert again.json()["reason"] == "AlreadyExists"


@pytest.mark.parametrize("encoding", ["ZlibBase64", "Json"])
def test_the_greatest_record_fits_into_etcd(place: Place, encoding: str) -> None:
    """Quotes are escaped in etcd, so that plain JSON may double there."""
    data = {"ZlibBase64": "A" * 1_400_000, "Json": '"' * 524_288}[encoding]
    spec = {**rule_rows.OUTPUT_SPEC, "encoding": encoding, "data": data}
    place.kube.create(place.manifest("large", spec, kind="InvestigationRecord"))


def test_records_are_found_by_their_investigation(place: Place) -> None:
    for number in (0, 1):
        spec = {**rule_rows.EVENTS_SPEC, "number": number, "investigationUID": f"uid-{number}"}
        place.kube.create(place.manifest(f"r-{number}", spec, kind="InvestigationRecord"))
    path = f"/apis/{API}/namespaces/{place.namespace}/investigationrecords"
    found = place.kube.request(
        "GET", path, query={"fieldSelector": "spec.investigationUID=uid-1"}
    ).json()
    assert [item["metadata"]["name"] for item in found["items"]] == ["r-1"]
