"""The toolsets of this process: which there are, and which are healthy now."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import pathlib
from collections.abc import Sequence

from kubewhy import errors, paths
from kubewhy.adapters import http_reader, subprocess_runner, toolset_folder
from kubewhy.app.settings import Settings
from kubewhy.core import ports
from kubewhy.toolsets import kubernetes, prometheus

log = logging.getLogger(__name__)

CHECK_SECONDS = 60
"""Period in which a toolset's health is looked at again."""


class Toolbox:
    """Holds all toolsets; those that can't be used carry the reason as their `problem`."""

    def __init__(self, settings: Settings) -> None:
        self._http = http_reader.HttpReader()
        self._url = settings.prometheus_url
        self._fixed: list[ports.Toolset] = [kubernetes.toolset()]
        self._folders = [paths.data_dir("toolsets")]
        if settings.toolsets_folder:
            self._folders.append(pathlib.Path(settings.toolsets_folder))
        self._runner = subprocess_runner.SubprocessRunner()
        self.toolsets: Sequence[ports.Toolset] = tuple(self._fixed)

    async def check(self) -> None:
        """Look at every toolset's health and take over the result."""
        declared: list[ports.Toolset] = []
        for folder in self._folders:
            declared += await asyncio.to_thread(toolset_folder.load, folder, self._runner)
        self.toolsets = (*self._fixed, await self._prometheus(), *declared)

    async def keep_checking(self) -> None:
        """Check for ever, once a period."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check()

    async def close(self) -> None:
        """End the connections."""
        await self._http.close()

    async def _prometheus(self) -> ports.Toolset:
        toolset = prometheus.toolset(self._http, self._url)
        if not self._url:
            return dataclasses.replace(toolset, problem="KUBEWHY_PROMETHEUS_URL is not set")
        try:
            problem = await prometheus.check(self._http, self._url)
        except errors.ToolFailure as failure:
            problem = str(failure)
        return dataclasses.replace(toolset, problem=problem)
