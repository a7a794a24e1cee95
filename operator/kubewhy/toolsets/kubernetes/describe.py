"""`kubernetes_describe`: one object with conditions, containers, owners and KubeEvents, for any kind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import (
    description,
    function_tool,
    kube_events,
    owners,
    shapes,
)

EVENTS_READ: Final = 100
EVENTS_SHOWN: Final = 20


def tool() -> ports.Tool:
    """The tool."""
    return function_tool.FunctionTool(
        function_tool.spec(
            "describe",
            "One object of any kind: owners, conditions, container states, spec and status without noise, KubeEvents.",
            "kind",
            "name",
            kind=function_tool.KIND,
            name=function_tool.text("object name"),
            namespace=function_tool.NAMESPACE,
        ),
        _run,
    )


async def _run(context: ports.ToolContext, arguments: Mapping[str, Any]) -> tools.ToolOutput:
    kube, namespace = context.kube, arguments.get("namespace", "")
    resource = await kube.resource(arguments["kind"])
    found = await kube.get(resource, arguments["name"], namespace=namespace)
    if not resource.namespaced:
        namespace = ""
    chain, events = await asyncio.gather(
        owners.chain(kube, found, namespace=namespace), _events(kube, resource, found, namespace)
    )
    now = context.now()
    shown = description.object_text({"kind": resource.kind, **found}, now)
    text = "\n".join(
        [
            description.head(resource, found, now),
            f"Owners: {' > '.join(chain) or 'none'}",
            *shown.lines,
            *_event_lines(events, context),
        ]
    )
    return tools.ToolOutput(text=text, truncated=shown.truncated)


async def _events(
    kube: ports.KubeReader, resource: ports.Resource, found: shapes.Object, namespace: str
) -> ports.ObjectPage | errors.ApiError:
    """The KubeEvents, or why they could not be read: without them the object is still worth showing."""
    if not resource.namespaced:
        namespace = kube_events.CLUSTER_NAMESPACE
    fields = kube_events.fields_of(resource.kind, shapes.text(found, "metadata", "name"))
    try:
        return await kube.list(
            kube_events.RESOURCE, namespace=namespace, field_selector=fields, limit=EVENTS_READ
        )
    except errors.ApiError as error:
        return error


def _event_lines(
    events: ports.ObjectPage | errors.ApiError, context: ports.ToolContext
) -> Sequence[str]:
    if isinstance(events, errors.ApiError):
        return [f"KubeEvents: not read: {events}"]
    if not events.items:
        return ["KubeEvents: none (they are kept for about an hour)"]
    ordered = kube_events.newest_last(events.items)
    shown = ordered[-EVENTS_SHOWN:]
    left = len(ordered) - len(shown)
    more = "more" if events.continue_token else "none"
    note = f" ({left} older and {more} unread left out)" if left or events.continue_token else ""
    now = context.now()
    return [
        f"KubeEvents, newest last{note}:",
        *(f"  {kube_events.line(event, now)}" for event in shown),
    ]
