from __future__ import annotations

import urllib.parse

import hypothesis
import pytest
from hypothesis import strategies

from kubewhy import errors
from kubewhy.adapters.kube import paths
from kubewhy.core import ports

POD = ports.Resource(group="", version="v1", name="pods", kind="Pod", namespaced=True)
ROLE = ports.Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    name="clusterroles",
    kind="ClusterRole",
    namespaced=False,
)


def test_paths_of_lists_objects_and_subresources() -> None:
    assert paths.of(POD, namespace="shop") == "/api/v1/namespaces/shop/pods"
    assert paths.of(POD) == "/api/v1/pods"
    assert (
        paths.of(POD, namespace="shop", name="a.b", subresource="log")
        == "/api/v1/namespaces/shop/pods/a.b/log"
    )
    assert (
        paths.of(ROLE, namespace="shop", name="system:node")
        == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"
    )


@pytest.mark.parametrize(
    "name",
    ["..", ".", "../../secrets/x", "%2e%2e", "a/b", "a%2Fb", "Checkout", "ä", "a b", "a\n", "-a", "a..b", "a" * 254,
     "pod?watch=1", "pod#x", "\u202ea", "a\x00"],
)  # fmt: skip
def test_names_beyond_the_grammar_are_refused(name: str) -> None:
    with pytest.raises(errors.ApiInvalid, match="is no name of a Pod"):
        paths.of(POD, namespace="shop", name=name)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2Fb", "a b", "a\n", "%2e%2e"])
def test_free_names_still_fit_into_one_segment(name: str) -> None:
    with pytest.raises(errors.ApiInvalid):
        paths.of(ROLE, name=name)


@pytest.mark.parametrize("namespace", ["..", "a.b", "A", "a/b", "x" * 64, "%2e", "*"])
def test_namespaces_beyond_the_grammar_are_refused(namespace: str) -> None:
    with pytest.raises(errors.ApiInvalid, match="no namespace name"):
        paths.of(POD, namespace=namespace, name="a")


@hypothesis.given(strategies.text(min_size=1, max_size=40))
def test_whatever_the_name_the_path_stays_below_its_kind(name: str) -> None:
    for resource, root in ((POD, "/api/v1/namespaces/shop/pods/"), (ROLE, "/clusterroles/")):
        try:
            path = paths.of(resource, namespace="shop", name=name)
        except errors.ApiInvalid:
            continue
        rest = path.partition(root)[2]
        assert rest
        assert not set("/?#") & set(rest)
        assert urllib.parse.unquote(rest) == name
        assert rest not in {".", ".."}


def test_selectors_are_bounded() -> None:
    assert paths.check_selector("a=b") == "a=b"
    with pytest.raises(errors.ApiInvalid, match="selector of 3000"):
        paths.check_selector("a" * 3000)
