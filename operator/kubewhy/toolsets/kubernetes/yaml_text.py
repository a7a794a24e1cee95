"""`kubernetes_yaml`: one object in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import function_tool, manifest, objects, pruning, shapes, texts

MOST: Final = 512 * 1024
"""Most characters of the text."""


def tool() -> ports.Tool:
    """The tool."""
    return function_tool.FunctionTool(
        function_tool.spec(
            "yaml",
            "One object as YAML in full, without managedFields.",
            "kind",
            "name",
            kind=function_tool.KIND,
            name=function_tool.text("object name"),
            namespace=function_tool.NAMESPACE,
            field=function_tool.text("only this part, e.g. spec.template.spec or data"),
        ),
        _run,
    )


async def _run(context: ports.ToolContext, arguments: Mapping[str, Any]) -> tools.ToolOutput:
    resource = await context.kube.resource(arguments["kind"])
    found = await context.kube.get(
        resource, arguments["name"], namespace=arguments.get("namespace", "")
    )
    shown: Any = pruning.whole(found)
    field = arguments.get("field", "").strip(".")
    if field:
        shown = shapes.dig(shown, *field.split("."))
        if shown is None:
            return tools.ToolOutput(
                text=f"{objects.title(found)} has no field {field}", status=tools.ToolStatus.NO_DATA
            )
    text = manifest.dump(shown)
    kept, cut = texts.block(text, MOST)
    return tools.ToolOutput(text=kept, total_bytes=len(text.encode()), truncated=cut)
