from __future__ import annotations

from typing import Any

import pytest

import kube_objects
from kubewhy import errors
from kubewhy.core import ports, redaction
from kubewhy.core.tools import ToolStatus


@pytest.fixture
def world(kube: Any) -> Any:
    owner = kube_objects.deployment()
    middle = kube_objects.replica_set(owner)
    pod = kube_objects.pod(
        owner=middle, statuses=[kube_objects.crashing(code=137, reason="OOMKilled")]
    )
    kube.objects += [
        owner,
        middle,
        pod,
        kube_objects.event(
            pod,
            "BackOff",
            "Back-off restarting failed container",
            count=14,
            first="2026-11-30T11:00:00Z",
            path="spec.containers{app}",
        ),
        kube_objects.event(
            pod, "Pulled", "image is there", last="2026-11-30T11:00:00Z", type="Normal"
        ),
    ]
    return kube


@pytest.mark.usefixtures("world")
async def test_a_pods_decisive_fields_are_said(call: Any) -> None:
    output = await call("describe", kind="pod", name="checkout-7d9f-abc")
    assert output.status is ToolStatus.SUCCESS
    for words in (
        "Pod/checkout-7d9f-abc (v1) in namespace shop, created 4h ago",
        "Owners: ReplicaSet/checkout-7d9f > Deployment/checkout",
        "container app: waiting CrashLoopBackOff (back-off 40s restarting); not ready; restarts 5; "
        "last exit: OOMKilled exit code 137, 1m57s ago, after 3s",
        "image busybox:1; requests cpu=10m; limits memory=20Mi; ports web 8080/TCP; "
        "liveness http-get :web/healthz delay=0s timeout=1s period=5s #failure=3",
        "2m ago (x14 over 58m)  Warning  BackOff  Pod/checkout-7d9f-abc app [kubelet]: "
        "Back-off restarting failed container",
    ):
        assert words in output.text, words
    assert output.text.index("Pulled") < output.text.index("  BackOff")


@pytest.mark.usefixtures("world")
async def test_noise_is_left_out(call: Any) -> None:
    text = (await call("describe", kind="pod", name="checkout-7d9f-abc")).text
    for noise in (
        "managedFields",
        "LAST-APPLIED",
        "termination-log",
        "kube-api-access",
        "resourceVersion",
        "not-ready",
    ):
        assert noise not in text, noise
    assert "key: team" in text
    assert "MODE" in text


@pytest.mark.usefixtures("world")
async def test_its_text_is_one_that_the_redaction_understands(call: Any) -> None:
    text = (await call("describe", kind="pod", name="checkout-7d9f-abc")).text
    assert "hunter2-CANARY" in text
    assert "hunter2-CANARY" not in redaction.redact(text)
    assert "last exit: OOMKilled exit code 137" in redaction.redact(text)


@pytest.mark.usefixtures("world")
async def test_conditions_say_since_when_and_why(call: Any) -> None:
    text = (await call("describe", kind="deploy", name="checkout")).text
    assert (
        "  Available=False MinimumReplicasUnavailable, for 3m: Deployment does not have minimum availability."
        in text
    )
    assert "Owners: none" in text


async def test_unreadable_owners_and_events_are_said_and_do_not_fail_the_call(
    world: Any, call: Any
) -> None:
    world.refuse("list", "events", errors.ApiForbidden("may not list events in namespace 'shop'"))
    world.objects = [item for item in world.objects if item["kind"] != "Deployment"]
    text = (await call("describe", kind="pod", name="checkout-7d9f-abc")).text
    assert "KubeEvents: not read: may not list events in namespace 'shop'" in text
    assert (
        "Owners: ReplicaSet/checkout-7d9f > Deployment/checkout (does not exist any more)" in text
    )


async def test_an_owner_that_was_replaced_is_no_owner(world: Any, call: Any) -> None:
    world.objects[0]["metadata"]["uid"] = "another"
    text = (await call("describe", kind="pod", name="checkout-7d9f-abc")).text
    assert "another object has its name" in text


async def test_owners_in_a_ring_end(kube: Any, call: Any) -> None:
    first, second = (
        kube_objects.replica_set(kube_objects.deployment("a")),
        kube_objects.deployment("a"),
    )
    second["metadata"]["ownerReferences"] = kube_objects.replica_set(first)["metadata"][
        "ownerReferences"
    ]
    second["metadata"]["ownerReferences"][0] |= {
        "name": first["metadata"]["name"],
        "uid": first["metadata"]["uid"],
    }
    kube.objects += [first, second]
    await call("describe", kind="deploy", name="a")
    assert len(kube.requests("get")) < 10


async def test_a_custom_object_of_odd_shape_is_shown(kube: Any, call: Any) -> None:
    kube.serve(
        ports.Resource(
            group="example.com", version="v1", name="widgets", kind="Widget", namespaced=True
        )
    )
    nested: Any = "deep"
    for _ in range(100):
        nested = {"a": [nested]}
    kube.objects.append(
        kube_objects.thing(
            "Widget",
            "blue",
            api_version="example.com/v1",
            spec=["not", "a", "mapping"],
            status={"conditions": "none", "nested": nested, "phase": 7},
        )
    )
    text = (await call("describe", kind="widget", name="blue")).text
    assert "- not" in text
    assert "nested deeper than is shown" in text


async def test_a_huge_manifest_is_cut_and_events_still_shown(world: Any, call: Any) -> None:
    token = "ghp_" + "a1B2" * 9
    cm = kube_objects.thing(
        "ConfigMap", "big", data={f"k{number}": "x" * 90 + " " + token for number in range(500)}
    )
    world.objects += [cm, kube_objects.event(cm, "Odd", "after the manifest")]
    output = await call("describe", kind="cm", name="big")
    assert output.truncated
    assert "… cut; kubernetes_yaml shows all" in output.text
    assert "after the manifest" in output.text
    assert len(output.text) < 12_000
    assert "ghp_" not in output.text  # a credential is masked before the text is cut


async def test_what_is_being_deleted_says_what_holds_it(kube: Any, call: Any) -> None:
    pod = kube_objects.pod()
    pod["metadata"] |= {
        "deletionTimestamp": "2026-11-30T11:30:00Z",
        "finalizers": ["example.com/hold"],
    }
    kube.objects.append(pod)
    text = (await call("describe", kind="pod", name="checkout-7d9f-abc")).text
    assert "being deleted, due 30m ago, held by example.com/hold" in text


async def test_a_missing_object_is_not_found(call: Any) -> None:
    with pytest.raises(errors.ApiNotFound):
        await call("describe", kind="pod", name="nope")
