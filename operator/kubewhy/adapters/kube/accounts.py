"""Decides whose rights an Investigation reads with.

The account `kubewhy-investigator` of the Investigation's namespace, if it exists; else the shared reader, the account
of that name in the operator's namespace, and then the reads are bounded. Another account only if the installation
lists it. Accounts of the system namespaces are never impersonated (kubernetes-api.md §4 of the reference).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from kubewhy import errors
from kubewhy.adapters.kube import client, paths
from kubewhy.api import names
from kubewhy.core import ports

SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})

_ACCOUNTS = ports.Resource(
    group="", version="v1", name="serviceaccounts", kind="ServiceAccount", namespaced=True
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The full user name to impersonate, and whether its reads are bounded to the own namespace."""

    user: str
    bounded: bool


async def identity(
    api: client.KubeClient,
    namespace: str,
    requested: str = "",
    allowed: Collection[str] = (),
    *,
    home: str = names.SYSTEM_NAMESPACE,
    trusted: Collection[str] = (),
) -> Identity:
    """The identity for an Investigation in `namespace` that asks for the account `requested` ("" for none).

    `allowed` are the other account names, and `trusted` the namespaces with unbounded reads, that the installation
    lists; `home` is the operator's namespace.

    Raises:
        errors.ConfigError: `requested` is not listed, is in a system namespace, or does not exist.
        errors.ApiUnavailable: the API server can't say now whether the account exists.
    """
    shared = Identity(
        user=client.service_account(home, names.INVESTIGATOR_ACCOUNT),
        bounded=namespace not in trusted,
    )
    if requested and requested != names.INVESTIGATOR_ACCOUNT:
        return await _requested(api, namespace, requested, allowed, shared)
    if namespace in SYSTEM_NAMESPACES or namespace == home:
        return shared
    if await _exists(api, namespace, names.INVESTIGATOR_ACCOUNT, shared):
        return _own(namespace, names.INVESTIGATOR_ACCOUNT)
    return shared


async def _requested(
    api: client.KubeClient,
    namespace: str,
    requested: str,
    allowed: Collection[str],
    shared: Identity,
) -> Identity:
    if requested not in allowed:
        raise errors.ConfigError(
            f"spec.serviceAccountName: {requested!a} is not listed by this installation; "
            f"leave the field out or use one of: {', '.join(sorted({names.INVESTIGATOR_ACCOUNT, *allowed}))}"
        )
    if namespace in SYSTEM_NAMESPACES:
        raise errors.ConfigError(
            f"spec.serviceAccountName: accounts of {namespace} are never used; leave the field out"
        )
    if not await _exists(api, namespace, requested, shared):
        raise errors.ConfigError(
            f"spec.serviceAccountName: ServiceAccount {requested} does not exist in namespace {namespace}, "
            "or the shared reader may not see it"
        )
    return _own(namespace, requested)


async def _exists(api: client.KubeClient, namespace: str, name: str, shared: Identity) -> bool:
    """Looked up as the shared reader; a right it lacks counts as "no", which leads to the narrower reads."""
    try:
        path = paths.of(_ACCOUNTS, namespace=namespace, name=name)
        await api.request("GET", path, impersonate=shared.user)
    except (errors.ApiNotFound, errors.ApiForbidden, errors.ApiInvalid):
        return False
    return True


def _own(namespace: str, name: str) -> Identity:
    return Identity(user=client.service_account(namespace, name), bounded=False)
