from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.kube import accounts, client

SHARED = "system:serviceaccount:kubewhy-system:kubewhy-investigator"
Refusal = Callable[..., tuple[int, dict[str, Any]]]


async def test_the_namespaces_own_account_reads_without_bounds(
    server: Any, api: client.KubeClient
) -> None:
    server.answer((200, {}))
    found = await accounts.identity(api, "shop")
    own = "system:serviceaccount:shop:kubewhy-investigator"
    assert found == accounts.Identity(user=own, bounded=False)
    assert server.seen[0].path == "/api/v1/namespaces/shop/serviceaccounts/kubewhy-investigator"
    assert server.seen[0].headers["Impersonate-User"] == SHARED


@pytest.mark.parametrize("code", [404, 403])
async def test_without_it_the_shared_reader_is_bounded(
    server: Any, api: client.KubeClient, refusal: Refusal, code: int
) -> None:
    server.answer(refusal(code, "", "no"))
    assert await accounts.identity(api, "shop") == accounts.Identity(user=SHARED, bounded=True)
    trusted = await accounts.identity(api, "shop", trusted=("shop",))
    assert trusted == accounts.Identity(user=SHARED, bounded=False)


@pytest.mark.parametrize(
    "namespace", ["kube-system", "kube-public", "kube-node-lease", "kubewhy-system"]
)
@pytest.mark.parametrize("requested", ["", "kubewhy-investigator"])
async def test_accounts_of_system_namespaces_and_the_operators_own_are_never_taken_unbounded(
    server: Any, api: client.KubeClient, namespace: str, requested: str
) -> None:
    server.answer((200, {}))
    found = await accounts.identity(api, namespace, requested)
    assert found == accounts.Identity(user=SHARED, bounded=True)


async def test_another_account_only_if_it_is_listed(server: Any, api: client.KubeClient) -> None:
    server.answer((200, {}))
    with pytest.raises(errors.ConfigError, match="'root' is not listed"):
        await accounts.identity(api, "shop", "root")
    found = await accounts.identity(api, "shop", "auditor", ("auditor",))
    assert found == accounts.Identity(user="system:serviceaccount:shop:auditor", bounded=False)


async def test_a_listed_account_that_is_missing_is_no_reason_for_another_identity(
    server: Any, api: client.KubeClient, refusal: Refusal
) -> None:
    server.answer(refusal(404, "NotFound", "no"))
    with pytest.raises(errors.ConfigError, match="does not exist in namespace shop"):
        await accounts.identity(api, "shop", "auditor", ("auditor",))


async def test_a_listed_account_of_a_system_namespace_is_refused(
    server: Any, api: client.KubeClient
) -> None:
    server.answer((200, {}))
    with pytest.raises(errors.ConfigError, match="accounts of kube-system are never used"):
        await accounts.identity(api, "kube-system", "auditor", ("auditor",))


async def test_an_api_server_that_is_away_decides_nothing(
    server: Any, api: client.KubeClient, refusal: Refusal
) -> None:
    server.answer(refusal(503, "ServiceUnavailable", "away"))
    with pytest.raises(errors.ApiUnavailable):
        await accounts.identity(api, "shop")
