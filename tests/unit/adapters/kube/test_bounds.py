from __future__ import annotations

from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.kube import bounds
from kubewhy.core import ports


def kind(name: str, *, group: str = "", namespaced: bool = True) -> ports.Resource:
    return ports.Resource(
        group=group, version="v1", name=name, kind=name.title(), namespaced=namespaced
    )


PODS, EVENTS, SECRETS = kind("pods"), kind("events"), kind("secrets")
NODES, NAMESPACES = kind("nodes", namespaced=False), kind("namespaces", namespaced=False)
ROLES = kind("clusterroles", group="rbac.authorization.k8s.io", namespaced=False)


def check(
    resource: ports.Resource, namespace: str = "", *, bounded: bool = True, **more: str
) -> None:
    read = bounds.Read(verb="list", resource=resource, namespace=namespace, **more)
    bounds.check(read, own="shop", bounded=bounded)


def test_the_shared_reader_sees_its_namespace_and_the_listed_cluster_kinds() -> None:
    check(PODS, "shop")
    check(NODES)
    check(NAMESPACES, name="shop")
    check(kind("storageclasses", group="storage.k8s.io", namespaced=False), name="fast")


@pytest.mark.parametrize(
    ("resource", "namespace", "more", "words"),
    [
        (PODS, "kube-system", {}, "may not list pods in namespace 'kube-system'"),
        (PODS, "*", {}, "may not list pods in all namespaces"),
        (NAMESPACES, "", {}, "may not list namespaces at cluster scope"),
        (NAMESPACES, "", {"name": "kube-system"}, "may not list namespaces at cluster scope"),
        (ROLES, "", {}, "may not list clusterroles.rbac.authorization.k8s.io at cluster scope"),
        (EVENTS, "default", {}, "may not list events in namespace 'default'"),
        (EVENTS, "default", {"field_selector": "involvedObject.kind=Pod"}, "may not list events"),
        (
            EVENTS,
            "default",
            {"field_selector": "reason=involvedObject.kind=Node"},
            "may not list events",
        ),
        (PODS, "default", {"field_selector": "involvedObject.kind=Node"}, "may not list pods"),
    ],
)
def test_beyond_that_it_is_refused_with_verb_resource_and_namespace(
    resource: ports.Resource, namespace: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.ApiForbidden) as caught:
        check(resource, namespace, **more)
    assert str(caught.value).startswith(words)
    assert "shared reader" in str(caught.value)
    check(resource, namespace, bounded=False, **more)


@pytest.mark.parametrize("shown", ["Node", "PersistentVolume"])
def test_events_about_shared_cluster_objects_are_readable_where_they_are_kept(shown: str) -> None:
    check(EVENTS, "default", field_selector=f"involvedObject.kind={shown},involvedObject.name=x")


@pytest.mark.parametrize("bounded", [True, False])
def test_secrets_are_never_read(*, bounded: bool) -> None:
    with pytest.raises(errors.ApiForbidden, match=r"may not list secrets .*never reads Secrets"):
        check(SECRETS, "shop", bounded=bounded)


def test_a_custom_kind_with_the_plural_secrets_is_not_the_core_kind() -> None:
    check(kind("secrets", group="example.com"), "shop")
