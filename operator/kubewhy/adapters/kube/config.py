"""Where the API server is and which credentials go there.

Three frozen values say it without holding any secret; `choose` derives one from arguments and environment, and
`client.connect` turns it into a client. Nobody's default kubeconfig is used unless it is named: neither
`~/.kube/config` nor its current context is ever picked up by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubewhy import errors


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InCluster:
    """The pod's own service account: address from the environment, token and CA from the mounted files."""

    def __str__(self) -> str:
        return "the pod's service account"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """One or more kubeconfig files (`path`, separated as in KUBECONFIG); `context` "" means the current one."""

    path: str
    context: str = ""

    def __str__(self) -> str:
        return f"kubeconfig {self.path}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Explicit:
    """Address, CA bundle and token file as they are; "" for `ca_file` means the system's CAs."""

    server: str
    ca_file: str = ""
    token_file: str = ""

    def __str__(self) -> str:
        return f"server {self.server}"


Access = InCluster | Kubeconfig | Explicit


def choose(
    environment: Mapping[str, str], *, kubeconfig: str = "", context: str = ""
) -> InCluster | Kubeconfig:
    """Pick the access: the named kubeconfig, else KUBECONFIG, else the pod's service account.

    Raises:
        errors.ConfigError: none of the three is there.
    """
    path = kubeconfig or environment.get("KUBECONFIG", "")
    if path:
        return Kubeconfig(path=path, context=context)
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return InCluster()
    raise errors.ConfigError(
        "no Kubernetes API server is known: set KUBECONFIG or pass --kubeconfig "
        "(inside a pod the service account is used)"
    )
