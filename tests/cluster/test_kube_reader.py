"""The reader against the real API server: RBAC, impersonation, discovery, paging and TLS are the server's own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kube_api
import operator_access
from kubewhy import errors
from kubewhy.adapters.kube import accounts, bounds, client, config, discovery, reader
from kubewhy.core import ports

Reading = Callable[..., Any]
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def access(kube: kube_api.KubeApi, tmp_path_factory: pytest.TempPathFactory) -> config.Explicit:
    operator_access.install()
    return operator_access.access(kube, tmp_path_factory.mktemp("operator"))


@pytest.fixture
async def api(access: config.Explicit) -> AsyncIterator[client.KubeClient]:
    connected = await client.connect(access)
    yield connected
    await connected.close()


@pytest.fixture
def reading(api: client.KubeClient, namespace: str) -> Reading:
    """A maker of readers of the test's namespace, under the identity that the operator decides."""

    async def make() -> reader.KubeReader:
        who = await accounts.identity(api, namespace)
        return reader.KubeReader(api, namespace=namespace, account=who.user, bounded=who.bounded)

    return make


def create(kube: kube_api.KubeApi, path: str, manifest: dict[str, Any]) -> None:
    answer = kube.request("POST", path, body=manifest)
    assert answer.is_success, answer.text


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def own_account(kube: kube_api.KubeApi, namespace: str, *, rules: list[dict[str, Any]]) -> None:
    """The account kubewhy-investigator in the namespace, with these rights there."""
    name = "kubewhy-investigator"
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    create(kube, f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    create(kube, f"{root}/roles", {"metadata": {"name": name}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    create(kube, f"{root}/rolebindings", binding)


async def test_the_shared_reader_reads_the_namespace_and_nodes(
    kube: kube_api.KubeApi, namespace: str, reading: Reading
) -> None:
    create(kube, f"/api/v1/namespaces/{namespace}/configmaps", config_map("settings", a="b"))
    found = await reading()
    assert found.account == "system:serviceaccount:kubewhy-system:kubewhy-investigator"
    maps = await found.resource("cm")
    assert (await found.get(maps, "settings"))["data"] == {"a": "b"}
    page = await found.list(maps)
    assert {"apiVersion": "v1", "kind": "ConfigMap"}.items() <= page.items[0].items()
    await found.list(await found.resource("nodes"))
    await found.list(
        await found.resource("events"),
        namespace="default",
        field_selector="involvedObject.kind=Node",
    )


async def test_every_right_of_the_shared_reader_is_there(reading: Reading) -> None:
    """Each kind that the bounds let pass is also granted by the installed role."""
    found = await reading()
    for group, plural in sorted(bounds.SHARED_CLUSTER_KINDS):
        word = f"{plural}.{group}" if group else plural
        try:
            resource = await found.resource(word)
        except errors.ApiNotFound:
            assert group == "metrics.k8s.io", word  # served only where a metrics server runs
            continue
        await found.list(resource, limit=1)


async def test_its_bounds_end_at_the_namespace(reading: Reading) -> None:
    found = await reading()
    pods = await found.resource("pods")
    for namespace in ("kube-system", "*"):
        with pytest.raises(errors.ApiForbidden, match="may not list pods"):
            await found.list(pods, namespace=namespace)
    with pytest.raises(errors.ApiForbidden, match="may not list clusterroles"):
        await found.list(await found.resource("clusterroles"))


async def test_secrets_are_refused_even_to_an_account_that_may_read_them(
    kube: kube_api.KubeApi, namespace: str, reading: Reading
) -> None:
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]
    own_account(kube, namespace, rules=rules)
    found = await reading()
    secrets = await found.resource("secrets")
    for read in (found.get(secrets, "x"), found.list(secrets), found.table(secrets)):
        with pytest.raises(errors.ApiForbidden, match="kubewhy never reads Secrets"):
            await read


async def test_the_namespaces_own_account_is_used_and_missing_rights_are_named(
    kube: kube_api.KubeApi, namespace: str, reading: Reading
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    own_account(kube, namespace, rules=rules)
    found = await reading()
    assert found.account == f"system:serviceaccount:{namespace}:kubewhy-investigator"
    await found.list(await found.resource("configmaps"))
    with pytest.raises(errors.ApiForbidden) as caught:
        await found.list(await found.resource("pods"))
    for words in (found.account, 'cannot list resource "pods"', f'in the namespace "{namespace}"'):
        assert words in str(caught.value)
    with pytest.raises(
        errors.ApiForbidden, match=r'cannot get resource "pods/log"|cannot get resource "pods"'
    ):
        await anext(aiter(found.logs("x")))


@pytest.mark.parametrize("account", ["default", "namespace-controller"])
async def test_the_operator_can_act_as_no_other_account(
    api: client.KubeClient, account: str
) -> None:
    with pytest.raises(errors.ApiForbidden, match="cannot impersonate"):
        await api.request(
            "GET",
            "/api/v1/nodes",
            impersonate=client.service_account("kube-system", account),
        )


async def test_the_operators_own_account_reads_nothing(
    api: client.KubeClient, namespace: str
) -> None:
    with pytest.raises(errors.ApiForbidden, match='cannot list resource "pods"'):
        await api.request("GET", f"/api/v1/namespaces/{namespace}/pods")


async def test_pages_follow_each_other_and_count_what_is_left(
    kube: kube_api.KubeApi, namespace: str, reading: Reading
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    kube_api.in_parallel(lambda number: create(kube, path, config_map(f"m{number:02}")), range(12))
    found = await reading()
    maps = await found.resource("configmaps")
    names: list[str] = []
    page = await found.list(maps, limit=5)
    assert page.remaining
    while True:
        names += [item["metadata"]["name"] for item in page.items]
        if not page.continue_token:
            break
        page = await found.list(maps, limit=5, continue_token=page.continue_token)
    assert {f"m{number:02}" for number in range(12)} <= set(names)
    assert len(names) == len(set(names))
    with pytest.raises(errors.ApiInvalid, match="continue"):
        await found.list(maps, continue_token="made-up")


async def test_what_is_gone_is_not_found_and_kinds_are_known(
    namespace: str, reading: Reading
) -> None:
    found = await reading()
    for word in ("deploy", "Deployment", "deployments.apps", "apps/v1/Deployment"):
        resource = await found.resource(word)
        assert (resource.group, resource.name) == ("apps", "deployments")
    deployments = await found.resource("deploy")
    with pytest.raises(errors.ApiNotFound, match=r'deployments\.apps "gone" not found'):
        await found.get(deployments, "gone")
    with pytest.raises(errors.ApiNotFound, match="no kind 'gizmos'"):
        await found.resource("gizmos")
    assert namespace == found.namespace


async def test_tables_are_the_servers(
    kube: kube_api.KubeApi, namespace: str, reading: Reading
) -> None:
    create(kube, f"/api/v1/namespaces/{namespace}/configmaps", config_map("settings", a="b", c="d"))
    found = await reading()
    table = await found.table(await found.resource("configmaps"), name="settings")
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["settings", 2]


@pytest.fixture
def widgets(kube: kube_api.KubeApi) -> Iterator[str]:
    """A CustomResourceDefinition with a column of its own; its group's name."""
    group = f"w{uuid.uuid4().hex[:8]}.example.com"
    column = {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column],
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wdg"]}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    create(kube, CRD, {"metadata": {"name": f"widgets.{group}"}, "spec": spec})
    yield group
    kube.request("DELETE", f"{CRD}/widgets.{group}")


async def appearing(api: client.KubeClient, found: reader.KubeReader, word: str) -> ports.Resource:
    """The kind, once the API server serves it; each look is a minute after the one before."""
    ahead = [0.0]
    api.discovery = discovery.Discovery(api, monotonic=lambda: time.monotonic() + ahead[0])
    for _ in range(100):
        ahead[0] += 61
        with contextlib.suppress(errors.ApiNotFound, errors.ApiUnavailable):
            return await found.resource(word)
        await asyncio.sleep(0.1)
    pytest.fail(f"{word} was never served")


async def test_a_custom_kind_made_meanwhile_is_found_and_printed(
    kube: kube_api.KubeApi, namespace: str, access: config.Explicit, widgets: str
) -> None:
    connected = await client.connect(access)
    own = [{"apiGroups": [widgets], "resources": ["widgets"], "verbs": ["get", "list"]}]
    own_account(kube, namespace, rules=own)
    account = client.service_account(namespace, "kubewhy-investigator")
    found = reader.KubeReader(connected, namespace=namespace, account=account, bounded=False)
    resource = await appearing(connected, found, f"wdg.{widgets}")
    body = {"apiVersion": f"{widgets}/v1", "kind": "Widget", "metadata": {"name": "w"}}
    path = f"/apis/{widgets}/v1/namespaces/{namespace}/widgets"
    create(kube, path, {**body, "spec": {"colour": "blue"}})
    table = await found.table(resource)
    assert table["rows"][0]["cells"] == ["w", "blue"]
    await connected.close()


async def test_a_wrong_ca_and_a_wrong_token_are_told_apart(
    access: config.Explicit, tmp_path: Path
) -> None:
    system = await client.connect(dataclasses.replace(access, ca_file=""))
    with pytest.raises(errors.ApiUnavailable, match="certificate verify failed"):
        await system.request("GET", "/api")
    await system.close()
    wrong = tmp_path / "token"
    wrong.write_text("wrong")
    stranger = await client.connect(dataclasses.replace(access, token_file=str(wrong)))
    with pytest.raises(errors.ApiUnauthorized):
        await stranger.request("GET", "/api/v1/namespaces/default/pods")
    await stranger.close()


async def test_an_investigation_in_a_system_namespace_stays_bounded(api: client.KubeClient) -> None:
    who = await accounts.identity(api, "kube-system")
    found = reader.KubeReader(api, namespace="kube-system", account=who.user, bounded=who.bounded)
    await found.list(await found.resource("pods"))
    with pytest.raises(errors.ApiForbidden):
        await found.list(await found.resource("pods"), namespace="default")


async def test_it_is_the_port(reading: Reading) -> None:
    port: ports.KubeReader = await reading()
    assert port.namespace
