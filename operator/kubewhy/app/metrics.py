"""Prometheus metrics of the operator. Most are derived from the journal's events, so they count what really happened.

No label carries a name of an Investigation or text of an alert: the number of series stays bounded.
"""

from __future__ import annotations

import prometheus_client

from kubewhy.core import events, ports, state

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)


class Metrics:
    """The operator's series in a registry of their own."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        registry = self.registry
        self.finished = prometheus_client.Counter(
            "kubewhy_investigations_finished_total",
            "Investigations that reached an end, by the reason of the condition Succeeded.",
            ["reason"],
            registry=registry,
        )
        self.seconds = prometheus_client.Histogram(
            "kubewhy_investigation_seconds",
            "Time from the first claim to the end.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.requests = prometheus_client.Counter(
            "kubewhy_model_requests_total",
            "Model requests, by outcome: Replied or the kind of failure.",
            ["outcome"],
            registry=registry,
        )
        self.tokens = prometheus_client.Counter(
            "kubewhy_model_tokens_total", "Tokens, by direction.", ["direction"], registry=registry
        )
        self.cost = prometheus_client.Counter(
            "kubewhy_model_cost_micro_usd_total",
            "Cost in millionths of a US dollar.",
            registry=registry,
        )
        self.calls = prometheus_client.Counter(
            "kubewhy_tool_calls_total",
            "Tool calls, by tool and outcome.",
            ["tool", "status"],
            registry=registry,
        )
        self.call_seconds = prometheus_client.Histogram(
            "kubewhy_tool_seconds", "Time of a tool call.", buckets=_SECONDS, registry=registry
        )
        self.conflicts = prometheus_client.Counter(
            "kubewhy_conflicts_total", "Status writes refused as stale (409).", registry=registry
        )
        self.working = prometheus_client.Gauge(
            "kubewhy_investigations_working", "Investigations at work now.", registry=registry
        )
        self.known = prometheus_client.Gauge(
            "kubewhy_investigations_known",
            "Investigations at work or waiting for a slot.",
            registry=registry,
        )
        self.loop_lag = prometheus_client.Gauge(
            "kubewhy_loop_lag_seconds", "How late the event loop wakes up.", registry=registry
        )
        self.list_age = prometheus_client.Gauge(
            "kubewhy_list_age_seconds", "Age of the newest successful LIST.", registry=registry
        )

    def on_event(self, key: ports.RunKey, event: events.Event, current: state.State) -> None:
        """A `ledger.Listener`."""
        del key  # no series per Investigation
        match event:
            case events.ModelReplied():
                self.requests.labels(outcome="Replied").inc()
                self.tokens.labels(direction="Input").inc(event.usage.input_tokens)
                self.tokens.labels(direction="Output").inc(event.usage.output_tokens)
                self.cost.inc(event.usage.cost_micro_usd)
            case events.ModelFailed():
                self.requests.labels(outcome=event.error).inc()
            case events.ToolReturned():
                self._called(event, current)
            case events.Concluded():
                self.finished.labels(reason=event.reason).inc()
                if current.opened is not None:
                    self.seconds.observe((event.at - current.opened.at).total_seconds())

    def _called(self, event: events.ToolReturned, current: state.State) -> None:
        offered = {spec.name for spec in current.input.tools}
        tool = next((call.call.tool for call in current.calls() if call.call.id == event.call), "")
        label = tool if tool in offered else "other"
        self.calls.labels(tool=label, status=event.result.status.value).inc()
        self.call_seconds.observe(event.result.duration_ms / 1000)
