from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.kube import discovery


def entry(resource: str, kind: str, *, scope: str = "Namespaced", **more: Any) -> dict[str, Any]:
    return {"resource": resource, "responseKind": {"kind": kind}, "scope": scope, **more}


def group(
    name: str, *versions: tuple[str, list[Any]], freshness: str = "Current"
) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "versions": [
            {"version": version, "resources": resources, "freshness": freshness}
            for version, resources in versions
        ],
    }


CORE = group(
    "",
    (
        "v1",
        [
            entry("pods", "Pod", singularResource="pod", shortNames=["po"]),
            entry("nodes", "Node", scope="Cluster", singularResource="node", shortNames=["no"]),
            entry("events", "Event", singularResource="event", shortNames=["ev"]),
        ],
    ),
)
OTHERS = [
    group("events.k8s.io", ("v1", [entry("events", "Event", singularResource="event")])),
    group(
        "autoscaling",
        ("v2", [entry("horizontalpodautoscalers", "HorizontalPodAutoscaler", shortNames=["hpa"])]),
        ("v1", [entry("horizontalpodautoscalers", "HorizontalPodAutoscaler", shortNames=["hpa"])]),
    ),
    group("metrics.k8s.io", ("v1beta1", [entry("pods", "PodMetrics")])),
    group("broken.example.com", ("v1", []), freshness="Stale"),
]


class Server:
    """Serves the groups; counts the requests."""

    def __init__(self) -> None:
        self.others = list(OTHERS)
        self.kind = "APIGroupDiscoveryList"
        self.asked: list[tuple[str, str]] = []

    async def request(self, method: str, path: str, *, accept: str, impersonate: str) -> Any:
        assert method == "GET"
        assert "APIGroupDiscoveryList" in accept
        self.asked.append((path, impersonate))
        await asyncio.sleep(0)
        return {"kind": self.kind, "items": [CORE] if path == "/api" else self.others}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("Pod", "v1 pods"),
        ("pods", "v1 pods"),
        ("PO", "v1 pods"),
        (" pod ", "v1 pods"),
        ("v1/Pod", "v1 pods"),
        ("event", "v1 events"),
        ("events.events.k8s.io", "events.k8s.io/v1 events"),
        ("events.k8s.io/v1/Event", "events.k8s.io/v1 events"),
        ("hpa", "autoscaling/v2 horizontalpodautoscalers"),
        ("hpa.v1.autoscaling", "autoscaling/v1 horizontalpodautoscalers"),
        ("autoscaling/v1/HorizontalPodAutoscaler", "autoscaling/v1 horizontalpodautoscalers"),
        ("pods.metrics.k8s.io", "metrics.k8s.io/v1beta1 pods"),
        ("PodMetrics", "metrics.k8s.io/v1beta1 pods"),
    ],
)
async def test_kinds_are_found_by_every_word_for_them(word: str, found: str) -> None:
    resource = await discovery.Discovery(Server()).find(word)
    assert f"{resource.api_version} {resource.name}" == found


async def test_the_catalog_is_read_once_under_the_asking_identity() -> None:
    server = Server()
    discovered = discovery.Discovery(server)
    await asyncio.gather(*(discovered.find("pod", impersonate="someone") for _ in range(20)))
    assert sorted(server.asked) == [("/api", "someone"), ("/apis", "someone")]


async def test_an_unknown_kind_names_near_ones_and_is_not_asked_for_again_at_once() -> None:
    server = Server()
    discovered = discovery.Discovery(server)
    for _ in range(3):
        with pytest.raises(errors.ApiNotFound, match=r"no kind 'podz'; near: .*pod"):
            await discovered.find("podz")
    assert len(server.asked) == 2


async def test_a_kind_that_appears_is_found_after_a_minute() -> None:
    now = [1000.0]
    server = Server()
    discovered = discovery.Discovery(server, monotonic=lambda: now[0])
    with pytest.raises(errors.ApiNotFound):
        await discovered.find("widget")
    server.others.append(group("example.com", ("v1", [entry("widgets", "Widget")])))
    now[0] += 59
    with pytest.raises(errors.ApiNotFound):
        await discovered.find("widget")
    now[0] += 2
    assert (await discovered.find("widget")).kind == "Widget"


async def test_a_group_whose_server_is_away_is_unavailable_and_not_absent() -> None:
    with pytest.raises(errors.ApiUnavailable, match=r"group broken\.example\.com is registered"):
        await discovery.Discovery(Server()).find("things.broken.example.com")


async def test_a_server_without_aggregated_discovery_is_named() -> None:
    server = Server()
    server.kind = "APIVersions"
    with pytest.raises(errors.ApiUnavailable, match=r"1\.32 or newer"):
        await discovery.Discovery(server).find("pod")


@pytest.mark.parametrize("word", ["", "\u202epod", "a" * 10_000, "*", "../x"])
async def test_odd_words_are_not_found(word: str) -> None:
    with pytest.raises(errors.ApiNotFound) as caught:
        await discovery.Discovery(Server()).find(word)
    assert "\u202e" not in str(caught.value)
    assert len(str(caught.value)) < 500
