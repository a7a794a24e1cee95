"""The webhook's Prometheus metrics. No label takes its values from a request."""

from __future__ import annotations

import prometheus_client

from kubewhy.app.webhook import intake

_PREFIX = "kubewhy_webhook"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15)


class Metrics:
    """All metrics in a registry of their own."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        self.requests = self._counter(
            "requests", "Requests by status code of the answer.", ["code"]
        )
        self.alerts = self._counter(
            "alerts", "Alerts by what became of them; the reason says why.", ["outcome", "reason"]
        )
        self.cut_alerts = self._counter(
            "cut_alerts", "Alerts whose labels or annotations were cut to their bounds.", []
        )
        self.missing_alerts = self._counter(
            "missing_alerts", "Alerts that Alertmanager left out of its messages (max_alerts).", []
        )
        self.unknown_versions = self._counter(
            "unknown_versions", "Messages of another payload version than 4.", []
        )
        self.closed = self._counter(
            "connections_closed", "Connections closed by the webhook, by reason.", ["reason"]
        )
        self.seconds = prometheus_client.Histogram(
            f"{_PREFIX}_request_seconds",
            "Time from the end of the request's header to its answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.in_flight = prometheus_client.Gauge(
            f"{_PREFIX}_requests_in_flight", "Requests being answered.", registry=self.registry
        )
        self.connections = prometheus_client.Gauge(
            f"{_PREFIX}_connections", "Open connections.", registry=self.registry
        )

    def count(self, tally: intake.Tally) -> None:
        """Add what became of one message's alerts."""
        for (outcome, reason), number in tally.counts.items():
            self.alerts.labels(outcome=outcome.value, reason=reason).inc(number)

    def text(self) -> bytes:
        """The exposition in Prometheus's text format."""
        return prometheus_client.generate_latest(self.registry)

    def _counter(self, name: str, text: str, labels: list[str]) -> prometheus_client.Counter:
        return prometheus_client.Counter(f"{_PREFIX}_{name}", text, labels, registry=self.registry)
