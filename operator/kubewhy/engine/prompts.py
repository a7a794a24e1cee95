"""Renders the system prompt from the components under `prompts/`.

Templates are sandboxed, and an undefined name is an error: a prompt with a hole in it would never be noticed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jinja2
import jinja2.sandbox

from kubewhy.core import ports


def system(
    toolsets: Sequence[ports.Toolset],
    *,
    off: Sequence[ports.Toolset],
    namespace: str,
    mode: str,
    fence: str,
    cluster: str,
) -> str:
    """The system prompt of one run; `off` are the toolsets that can't be used, with their problem."""
    offered = [tool.spec.name for toolset in toolsets for tool in toolset.tools]
    first = next(
        (name for name in offered if name.endswith("_first_look")), offered[0] if offered else ""
    )
    template = _environment().get_template("system.j2")
    return template.render(
        toolsets=toolsets,
        off=off,
        namespace=namespace,
        mode=mode,
        fence=fence,
        cluster=cluster,
        first_tool=first or "the tool that fits best",
    ).strip()


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.sandbox.ImmutableSandboxedEnvironment(
        loader=jinja2.PackageLoader("kubewhy", "prompts"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        keep_trailing_newline=False,
    )
