"""The toolsets of this process: which there are, and which are healthy now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kubewhy.app.settings import Settings
from kubewhy.core import ports
from kubewhy.toolsets import kubernetes

CHECK_SECONDS = 60
"""Period in which a toolset's health is looked at again."""


class Toolbox:
    """Holds all toolsets; those that can't be used carry the reason as their `problem`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.toolsets: Sequence[ports.Toolset] = (kubernetes.toolset(),)

    async def check(self) -> None:
        """Look at every toolset's health and take over the result."""

    async def keep_checking(self) -> None:
        """Check for ever, once a period."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check()

    async def close(self) -> None:
        """End the connections."""
