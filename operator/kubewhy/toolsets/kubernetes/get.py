"""`kubernetes_get`: objects of one kind as the table that kubectl prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import function_tool, table

ROWS: Final = 50
MOST_ROWS: Final = 500


def tool() -> ports.Tool:
    """The tool."""
    return function_tool.FunctionTool(
        function_tool.spec(
            "get",
            "List objects of one kind, or one by name, as kubectl get prints them.",
            "kind",
            kind=function_tool.KIND,
            name=function_tool.text("one object only"),
            namespace=function_tool.text("default: the Investigation's; * for all"),
            selector=function_tool.SELECTOR,
            field_selector=function_tool.text(
                "e.g. spec.nodeName=n1,status.phase=Failed", longest=2048
            ),
            wide=function_tool.switch("more columns"),
            limit=function_tool.whole(f"most rows, default {ROWS}", least=1, most=MOST_ROWS),
        ),
        _run,
    )


async def _run(context: ports.ToolContext, arguments: Mapping[str, Any]) -> tools.ToolOutput:
    resource = await context.kube.resource(arguments["kind"])
    name, namespace = arguments.get("name", ""), arguments.get("namespace", "")
    reply = await context.kube.table(
        resource,
        name=name,
        namespace=namespace,
        label_selector=arguments.get("selector", ""),
        field_selector=arguments.get("field_selector", ""),
        limit=arguments.get("limit", ROWS),
    )
    lines = table.render(
        reply,
        wide=bool(arguments.get("wide")),
        namespaces=resource.namespaced and namespace == "*",
    )
    asked = _asked(resource, context, arguments)
    if not lines:
        return tools.ToolOutput(
            text=f"No {asked}. The API server answered: there is none.",
            status=tools.ToolStatus.NO_DATA,
        )
    missing = table.left_out(reply)
    count = f"{len(lines) - 1} shown" + (
        f", {missing}: narrow the selector or raise limit" if missing else ", none left out"
    )
    return tools.ToolOutput(text="\n".join([f"{asked}: {count}", *lines]), truncated=bool(missing))


def _asked(
    resource: ports.Resource, context: ports.ToolContext, arguments: Mapping[str, Any]
) -> str:
    """What was looked for and where, so that a reader never takes one namespace for the cluster."""
    what = f"{resource.kind} {arguments['name']}" if arguments.get("name") else resource.name
    parts = [what, function_tool.scope(resource, context, arguments.get("namespace", ""))]
    for key, word in (("selector", "with labels"), ("field_selector", "with fields")):
        if arguments.get(key):
            parts.append(f"{word} {arguments[key]}")
    return " ".join(parts)
