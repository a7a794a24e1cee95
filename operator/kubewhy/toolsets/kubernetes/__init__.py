"""The toolset `kubernetes`: reads of the cluster through the API, made for a reader that pays for every word.

All tools only read. Where a tool looked and how much it left out is part of every result; "nothing there", "does not
exist" and "may not be read" stay different outcomes.
"""

from __future__ import annotations

from typing import Final

from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import (
    describe,
    events,
    first_look,
    function_tool,
    get,
    logs,
    yaml_text,
)

INSTRUCTIONS: Final = (
    "Kubernetes tools only read, within this Investigation's rights. Without `namespace` they look in the "
    "Investigation's own namespace only; a result says where it looked and what it left out. "
    "NoData means there is none, NotFound that the object does not exist, Forbidden that it may not be read: "
    "name what was forbidden, never report it as absent. Secrets can't be read; missing ones show in KubeEvents. "
    "Of a crash looping container read the log with previous=true."
)


def toolset() -> ports.Toolset:
    """The toolset; it needs nothing but the `KubeReader` of the run it serves."""
    return ports.Toolset(
        name=function_tool.TOOLSET,
        description="Objects, logs and KubeEvents of the cluster",
        instructions=INSTRUCTIONS,
        tools=(
            first_look.tool(),
            get.tool(),
            describe.tool(),
            yaml_text.tool(),
            logs.tool(),
            events.tool(),
        ),
    )
