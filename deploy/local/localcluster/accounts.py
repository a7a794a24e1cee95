"""Who may talk to the API server: token file, test users and kubeconfigs."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

# Users of the kubeconfig; all but admin have no rights until a test binds some.
TEST_USERS: Mapping[str, tuple[str, ...]] = {
    "admin": ("system:masters",),
    "alice": ("developers",),
    "bob": ("developers",),
    "approver": ("approvers",),
    "viewer": ("viewers",),
}

# The programs themselves, under the names that Kubernetes' built-in roles are bound to.
SYSTEM_USERS: Mapping[str, tuple[str, ...]] = {
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "system:node:localhost": ("system:nodes",),
}


@dataclass(frozen=True)
class Account:
    """One user of the API server and the bearer token that proves it."""

    user: str
    token: str
    groups: tuple[str, ...]


def create() -> list[Account]:
    """All accounts of a new cluster, with fresh tokens."""
    return [
        Account(user, secrets.token_hex(24), groups)
        for users in (TEST_USERS, SYSTEM_USERS)
        for user, groups in users.items()
    ]


def token_file(accounts: list[Account]) -> str:
    """The API server's static token file: token,user,uid,"group,group"."""
    return "".join(
        f'{account.token},{account.user},{account.user},"{",".join(account.groups)}"\n'
        for account in accounts
    )


def users_file(accounts: list[Account]) -> dict[str, object]:
    """The test users as {user: {token, groups}}."""
    return {
        account.user: {"token": account.token, "groups": list(account.groups)}
        for account in accounts
        if account.user in TEST_USERS
    }


def named(accounts: list[Account], user: str) -> Account:
    """The account of `user`, who must be among `accounts`."""
    return next(account for account in accounts if account.user == user)


def kubeconfig(
    *, cluster: str, server: str, authority: bytes, accounts: list[Account]
) -> dict[str, object]:
    """A kubeconfig that trusts `authority`, knows `accounts` and starts as the first of them."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": base64.b64encode(authority).decode(),
                },
            }
        ],
        "users": [{"name": account.user, "user": {"token": account.token}} for account in accounts],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": accounts[0].user}}],
        "current-context": cluster,
    }
