from __future__ import annotations

import datetime
from typing import Any

import pytest

import kube_objects
from kubewhy import errors
from kubewhy.core.tools import ToolStatus
from kubewhy.toolsets.kubernetes import kube_events


def stamp(minute: int) -> str:
    return f"2026-11-30T11:{minute:02}:00Z"


@pytest.fixture
def world(kube: Any) -> Any:
    pod, owner = kube_objects.pod("web-1"), kube_objects.deployment("web")
    kube.objects += [
        pod,
        owner,
        kube_objects.event(pod, "Killing", "Stopping container app", last=stamp(59), type="Normal"),
        kube_objects.event(pod, "Unhealthy", "Liveness probe failed", last=stamp(58)),
        kube_objects.event(owner, "ScalingReplicaSet", "Scaled up", last=stamp(10), type="Normal"),
    ]
    return kube


@pytest.mark.usefixtures("world")
async def test_a_namespaces_events_newest_last_normal_ones_included(call: Any) -> None:
    output = await call("events")
    lines = output.text.splitlines()
    assert lines[0] == "KubeEvents in namespace shop: 3 shown, newest last, 0 older left out"
    assert [line.split("  ")[2] for line in lines[1:]] == [
        "ScalingReplicaSet",
        "Unhealthy",
        "Killing",
    ]
    assert lines[-1] == "1m ago  Normal  Killing  Pod/web-1 [kubelet]: Stopping container app"


async def test_filters_are_the_servers(world: Any, call: Any) -> None:
    output = await call("events", kind="po", name="web-1", reason="Unhealthy", type="Warning")
    assert world.requests("list")[0]["field_selector"] == (
        "involvedObject.kind=Pod,involvedObject.name=web-1,reason=Unhealthy,type=Warning"
    )
    assert len(output.text.splitlines()) == 2


@pytest.mark.usefixtures("world")
async def test_none_is_no_data_and_says_how_long_they_are_kept(call: Any) -> None:
    output = await call("events", name="quiet")
    assert output.status is ToolStatus.NO_DATA
    assert "involvedObject.name=quiet" in output.text
    assert "about an hour" in output.text


async def test_the_newest_are_found_on_later_pages(kube: Any, call: Any) -> None:
    pod = kube_objects.pod("web-1")
    kube.objects += [
        kube_objects.event(pod, "Old", f"number {number}", last=stamp(1), suffix=number)
        for number in range(1200)
    ]
    kube.objects.append(kube_objects.event(pod, "New", "the newest", last=stamp(59)))
    output = await call("events", limit=5)
    assert output.text.splitlines()[-1].endswith("the newest")
    assert "5 shown, newest last, 1196 older left out" in output.text
    assert output.truncated


async def test_no_end_of_events_is_bounded_and_said(kube: Any, call: Any) -> None:
    pod = kube_objects.pod("web-1")
    kube.objects += [
        kube_objects.event(pod, "Old", f"number {number}", suffix=number) for number in range(5000)
    ]
    output = await call("events")
    assert len(kube.requests("list")) == 8
    assert "only 4000 were read" in output.text


async def test_events_about_cluster_objects_are_looked_for_where_they_are_kept(
    kube: Any, call: Any
) -> None:
    await call("events", kind="node", name="n1")
    assert kube.requests("list")[0]["namespace"] == "default"


async def test_forbidden_is_raised(kube: Any, call: Any) -> None:
    kube.refuse("list", "events", errors.ApiForbidden("may not list events"))
    with pytest.raises(errors.ApiForbidden):
        await call("events")


def test_both_api_forms_and_half_written_ones_are_read() -> None:
    new = kube_events.read(
        {
            "regarding": {"kind": "Pod", "name": "a"},
            "note": "text\u202e\n2nd",
            "reason": "R",
            "reportingComponent": "sched",
            "eventTime": "2026-11-30T11:00:00.123456Z",
            "series": {"count": 7, "lastObservedTime": stamp(30)},
        }
    )
    now = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
    assert kube_events.line(new, now) == (
        "30m ago (x7 over 29m)  Normal  R  Pod/a [sched]: text\n    2nd"
    )
    empty = kube_events.read(
        {"count": "many", "involvedObject": None, "lastTimestamp": "yesterday"}
    )
    assert kube_events.line(empty, now) == "? ago  Normal    /: "
