"""The toolset `prometheus`: metrics and alerts of anything that speaks Prometheus' HTTP API.

All tools only read. Nothing found is an answer of its own, a refused query keeps Prometheus' words, and what was left
out is counted. Prometheus knows no namespaces: whoever may use this toolset sees every series behind its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewhy import errors
from kubewhy.core import ports
from kubewhy.toolsets.prometheus import alerts, api, queries

NAME: Final = "prometheus"

INSTRUCTIONS: Final = (
    "Prometheus tools take PromQL. Restrict by namespace and pod labels, aggregate with sum by (…) or topk, and use "
    "rate() on counters. NoData means that no series matched at that time: check metric and label names before "
    "concluding anything from it. A range result names minimum, maximum and last value of each series; its table "
    "may skip rows, the minimum and maximum never do."
)


def toolset(
    reader: ports.HttpReader, base_url: str, headers: Mapping[str, str] | None = None
) -> ports.Toolset:
    """The toolset for the Prometheus at `base_url`, such as `http://prometheus.monitoring:9090`.

    Args:
        reader: sends the requests.
        base_url: address up to but not including `/api/v1`; may have a path.
        headers: sent with each request, such as `Authorization` or a tenant's name.
    """
    prometheus = api.Api(reader, base_url, headers or {})
    return ports.Toolset(
        name=NAME,
        description="Metrics and alerts from Prometheus",
        instructions=INSTRUCTIONS,
        tools=(
            queries.Query(prometheus),
            queries.QueryRange(prometheus),
            alerts.Alerts(prometheus),
        ),
    )


async def check(
    reader: ports.HttpReader, base_url: str, headers: Mapping[str, str] | None = None
) -> str:
    """Why the toolset can't be used now, "" if it can; takes at most 5 seconds."""
    try:
        await api.Api(reader, base_url, headers or {}).query("vector(1)", timeout_seconds=5)
    except errors.ToolFailure as failure:
        return str(failure)
    return ""
