"""The shape that all tools of this toolset share, and the pieces of their parameter schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from kubewhy.core import ports, tools

TOOLSET: Final = "kubernetes"

Run = Callable[[ports.ToolContext, Mapping[str, Any]], Awaitable[tools.ToolOutput]]


@dataclasses.dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that is one function."""

    spec: tools.ToolSpec
    function: Run

    def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> Awaitable[tools.ToolOutput]:
        """See `ports.Tool`."""
        return self.function(context, arguments)


def text(description: str, *, longest: int = 253) -> dict[str, Any]:
    """Schema of a text parameter."""
    return {"type": "string", "description": description, "maxLength": longest}


def whole(description: str, *, least: int, most: int) -> dict[str, Any]:
    """Schema of a whole number within bounds."""
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


def switch(description: str) -> dict[str, Any]:
    """Schema of a boolean parameter."""
    return {"type": "boolean", "description": description}


KIND: Final = text(
    "kind, plural or short name, e.g. Deployment, pods, hpa, certificates.cert-manager.io"
)
NAMESPACE: Final = text("default: the Investigation's")
SELECTOR: Final = text("label selector, e.g. app=web,tier!=db", longest=2048)


def spec(
    name: str,
    description: str,
    /,
    *required: str,
    timeout_seconds: int = 30,
    **parameters: dict[str, Any],
) -> tools.ToolSpec:
    """The tool's specification; every parameter has a description and unknown ones are refused."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": parameters,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    return tools.ToolSpec(
        name=f"{TOOLSET}_{name}",
        description=description,
        parameters=schema,
        toolset=TOOLSET,
        timeout_seconds=timeout_seconds,
    )


def scope(resource: ports.Resource, context: ports.ToolContext, namespace: str) -> str:
    """Where a read looked, in words."""
    if not resource.namespaced:
        return "in the cluster"
    if namespace == "*":
        return "in all namespaces"
    return f"in namespace {namespace or context.namespace}"
