"""The webhook's settings from environment variables `KUBEWHY_WEBHOOK_…` and those it shares with the operator."""

from __future__ import annotations

from collections.abc import Mapping

from kubewhy.adapters.kube import config
from kubewhy.app import settings, webhook
from kubewhy.core.alerting import alert_plan, alert_rules

_ON = frozenset({"1", "true", "yes"})


def load(environment: Mapping[str, str]) -> webhook.Settings:
    """Read the settings.

    Variables (all optional but one way to authenticate): KUBEWHY_WEBHOOK_TOKEN (one or two tokens with a blank between
    them), KUBEWHY_WEBHOOK_TOKEN_FILES, KUBEWHY_WEBHOOK_INSECURE, KUBEWHY_WEBHOOK_ADDRESS, …_HEALTH_ADDRESS,
    …_METRICS_ADDRESS, …_FALLBACK_NAMESPACE, …_IGNORED_ALERTS, …_TLS_CERTIFICATE, …_TLS_KEY, …_TLS_CLIENT_CA.

    Raises:
        errors.ConfigError: no way to authenticate, an address without a port, or no API server.
    """

    def value(name: str, default: str = "") -> str:
        return environment.get(f"KUBEWHY_WEBHOOK_{name}", default)

    shared = settings.load(environment)
    address, port = settings.address(value("ADDRESS", "0.0.0.0:8088"))
    return webhook.Settings(
        access=shared.access or config.choose(environment),
        policy=_policy(shared, value("FALLBACK_NAMESPACE"), value("IGNORED_ALERTS")),
        address=address,
        port=port,
        health_port=settings.address(value("HEALTH_ADDRESS", "0.0.0.0:8081"))[1],
        metrics_port=settings.address(value("METRICS_ADDRESS", "0.0.0.0:8080"))[1],
        tokens=tuple(value("TOKEN").split()),
        token_files=_list(value("TOKEN_FILES")),
        insecure=value("INSECURE").lower() in _ON,
        tls=_tls(value("TLS_CERTIFICATE"), value("TLS_KEY"), value("TLS_CLIENT_CA")),
    )


def _policy(shared: settings.Settings, fallback: str, ignored: str) -> alert_plan.Policy:
    names_ = frozenset(_list(ignored)) or alert_rules.DEFAULT.ignored_names
    return alert_plan.Policy(
        fallback_namespace=fallback or shared.namespace,
        cluster=shared.cluster,
        rules=alert_rules.Rules(ignored_names=names_, own_namespace=shared.namespace),
    )


def _tls(certificate: str, key: str, client_ca: str) -> webhook.TlsFiles | None:
    if not certificate:
        return None
    return webhook.TlsFiles(certificate=certificate, key=key, client_ca=client_ca)


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
