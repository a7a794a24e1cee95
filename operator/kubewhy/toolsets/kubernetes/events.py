"""`kubernetes_events`: what the cluster's own parts reported, about one object or in one namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import function_tool, kube_events, shapes

SHOWN: Final = 50
MOST_SHOWN: Final = 500
PAGE: Final = 500
MOST_PAGES: Final = 8
"""Pages that are read to find the newest: the API server sorts by name, not by time."""


def tool() -> ports.Tool:
    """The tool."""
    return function_tool.FunctionTool(
        function_tool.spec(
            "events",
            "KubeEvents of an object, or of the namespace, Normal ones included; newest last. "
            "The API server forgets them after about an hour.",
            kind=function_tool.KIND,
            name=function_tool.text("object name"),
            namespace=function_tool.NAMESPACE,
            reason=function_tool.text("e.g. FailedScheduling"),
            type={"type": "string", "enum": ["Normal", "Warning"], "description": "only this type"},
            limit=function_tool.whole(f"newest shown, default {SHOWN}", least=1, most=MOST_SHOWN),
        ),
        _run,
    )


async def _run(context: ports.ToolContext, arguments: Mapping[str, Any]) -> tools.ToolOutput:
    kind, namespace = arguments.get("kind", ""), arguments.get("namespace", "")
    if kind:
        resource = await context.kube.resource(kind)
        kind = resource.kind
        namespace = namespace if resource.namespaced else kube_events.CLUSTER_NAMESPACE
    selector = _selector(kind, arguments)
    found, unread = await _read(context.kube, namespace, selector)
    asked = _asked(context, namespace, selector)
    if not found:
        return tools.ToolOutput(
            text=f"No {asked}. They are kept for about an hour; the objects it owns have their own.",
            status=tools.ToolStatus.NO_DATA,
        )
    events = kube_events.newest_last(found)
    shown = events[-arguments.get("limit", SHOWN) :]
    left = len(events) - len(shown)
    head = f"{asked}: {len(shown)} shown, newest last, {left} older left out{unread}"
    now = context.now()
    lines = [head, *(kube_events.line(event, now) for event in shown)]
    return tools.ToolOutput(text="\n".join(lines), truncated=bool(left or unread))


async def _read(
    kube: ports.KubeReader, namespace: str, selector: str
) -> tuple[Sequence[shapes.Object], str]:
    """All pages up to the bound, and in words what was not read."""
    found: list[shapes.Object] = []
    token = ""
    for _ in range(MOST_PAGES):
        page = await kube.list(
            kube_events.RESOURCE,
            namespace=namespace,
            field_selector=selector,
            limit=PAGE,
            continue_token=token,
        )
        found += page.items
        token = page.continue_token
        if not token:
            return found, ""
    return (
        found,
        f"; only {len(found)} were read, newer ones may be missing: name an object, reason or type",
    )


def _selector(kind: str, arguments: Mapping[str, Any]) -> str:
    parts = [kube_events.fields_of(kind, arguments.get("name", ""))]
    parts += [f"{key}={arguments[key]}" for key in ("reason", "type") if arguments.get(key)]
    return ",".join(part for part in parts if part)


def _asked(context: ports.ToolContext, namespace: str, selector: str) -> str:
    where = function_tool.scope(kube_events.RESOURCE, context, namespace)
    return f"KubeEvents {where}" + (f" with {selector}" if selector else "")
