"""What the webhook needs to know before it starts, checked as a whole."""

from __future__ import annotations

import dataclasses

from kubewhy import errors
from kubewhy.adapters.kube import config
from kubewhy.api import names
from kubewhy.core.alerting import alert_plan

_MAX_PORT = 65_535


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of what senders can take from the webhook (alertmanager.md §10 of the reference).

    Sizes are bytes, times seconds. `buffered_bytes` bounds the bodies of all requests together, `requests` those
    whose alerts are read and stored at one time, `writes` the API requests at one time. `answer_seconds` bounds
    everything after the body was read: the next replica of Alertmanager sends too after 15 s.
    """

    body_bytes: int = 4 * 1024 * 1024
    buffered_bytes: int = 48 * 1024 * 1024
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    answer_seconds: float = 12.0
    keepalive_seconds: float = 75.0
    shutdown_seconds: float = 20.0
    connections: int = 2048
    requests: int = 8
    writes: int = 32


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files; with `client_ca`, clients must show a certificate that it signed."""

    certificate: str
    key: str
    client_ca: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The webhook's settings.

    `tokens` and the first line of each of `token_files` are the valid bearer tokens; files are read again when they
    change. Without any, `insecure` must be set. `access` says where the API server is. Port 0 picks a free one; None
    leaves that server out.
    """

    access: config.Access
    policy: alert_plan.Policy = alert_plan.Policy(fallback_namespace=names.SYSTEM_NAMESPACE)  # noqa: RUF009 - frozen
    address: str = "0.0.0.0"  # noqa: S104 - a pod's own network; a NetworkPolicy bounds it
    port: int = 8088
    health_port: int | None = 8081
    metrics_port: int | None = 8080
    tokens: tuple[str, ...] = ()
    token_files: tuple[str, ...] = ()
    insecure: bool = False
    tls: TlsFiles | None = None
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Refuse settings that would start an open or useless server.

        Raises:
            errors.ConfigError: no token and not `insecure`, or a port out of range.
        """
        if not self.tokens and not self.token_files and not self.insecure:
            raise errors.ConfigError(
                "the webhook has no bearer token, so anybody could start Investigations: set "
                "KUBEWHY_WEBHOOK_TOKEN or name a token file, or allow it with the insecure switch"
            )
        for port in (self.port, self.health_port, self.metrics_port):
            if port is not None and not 0 <= port <= _MAX_PORT:
                raise errors.ConfigError(f"port {port} is not between 0 and {_MAX_PORT}")
