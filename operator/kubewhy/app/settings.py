"""What an installation can set, read once at start from environment variables `KUBEWHY_…`.

Each field's variable is its name in capitals with that prefix: `list_seconds` is `KUBEWHY_LIST_SECONDS`.
"""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Mapping
from typing import Any

from kubewhy import errors
from kubewhy.adapters.kube import config
from kubewhy.api import names

PREFIX = "KUBEWHY_"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the operator process. Lists are written with commas."""

    namespace: str = names.SYSTEM_NAMESPACE
    """Namespace of the operator: its Lease and the shared reader live there."""
    holder: str = ""
    """Identity of this replica in claims; the host name where it is not set (in a pod: the pod's name)."""
    api_server: str = ""
    """Address of the API server; "" means KUBECONFIG or the pod's service account."""
    api_ca_file: str = ""
    api_token_file: str = ""
    concurrent: int = 5
    """Investigations at work at once; the rest wait as Pending."""
    parallel_tools: int = 16
    """Tool calls of one step at work at once."""
    list_seconds: int = 60
    """Period of the LIST that finds what the watch has lost."""
    tend_seconds: int = 300
    """Period in which finished Investigations are looked at: end of life, alerts that resolved since."""
    lease_seconds: int = 15
    """How long a replica is taken to be alive after it has renewed its Lease."""
    renew_seconds: int = 5
    health_address: str = "0.0.0.0:8081"
    """Where /healthz and /readyz are served."""
    metrics_address: str = "0.0.0.0:8080"
    """Where /metrics is served."""
    models_file: str = ""
    """models.yaml; without it the built-in triage model is the only one."""
    toolsets_folder: str = ""
    """A folder of further YAML toolsets beside the shipped ones."""
    prometheus_url: str = ""
    """Base address of Prometheus; without it that toolset is off."""
    cluster: str = ""
    """Name of this cluster, given to the model."""
    allowed_accounts: tuple[str, ...] = ()
    """Service accounts, besides kubewhy-investigator, that spec.serviceAccountName may name."""
    trusted_namespaces: tuple[str, ...] = ()
    """Namespaces whose Investigations may read across namespaces with the shared reader."""

    @property
    def access(self) -> config.Access | None:
        """The API server that is named explicitly; None where environment and pod decide."""
        if not self.api_server:
            return None
        return config.Explicit(
            server=self.api_server, ca_file=self.api_ca_file, token_file=self.api_token_file
        )


def load(environment: Mapping[str, str]) -> Settings:
    """Read the settings.

    Raises:
        errors.ConfigError: a value does not fit its type; the text names the variable.
    """
    found: dict[str, Any] = {
        field.name: _value(PREFIX + field.name.upper(), environment, field.default)
        for field in dataclasses.fields(Settings)
        if PREFIX + field.name.upper() in environment
    }
    settings = Settings(**found)
    if settings.renew_seconds >= settings.lease_seconds:
        raise errors.ConfigError(
            f"KUBEWHY_RENEW_SECONDS={settings.renew_seconds} must be less than "
            f"KUBEWHY_LEASE_SECONDS={settings.lease_seconds}, or a living replica looks dead in between"
        )
    if settings.holder:
        return settings
    return dataclasses.replace(settings, holder=environment.get("POD_NAME") or socket.gethostname())


def address(text: str) -> tuple[str, int]:
    """Host and port of `host:port`.

    Raises:
        errors.ConfigError: it has no port.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - largest port
        raise errors.ConfigError(f"{text[:80]!r} is no address: write host:port")
    return host.strip("[]"), int(port)


def _value(name: str, environment: Mapping[str, str], default: object) -> object:
    text = environment[name]
    if isinstance(default, int):
        if not text.isdecimal() or not 0 < int(text) < 10**6:
            raise errors.ConfigError(f"{name}={text[:80]!r}: write a whole number from 1 to 999999")
        return int(text)
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text
