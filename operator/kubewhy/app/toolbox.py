"""The toolsets of this process: which there are, and which can be used now."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kubewhy import errors, paths
from kubewhy.adapters import http_reader, subprocess_runner, toolset_folder
from kubewhy.app.settings import Settings
from kubewhy.core import ports, redaction, untrusted
from kubewhy.toolsets import declared, kubernetes, prometheus

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 60
"""Period in which a toolset's health is looked at again, and toolset files are read again."""

LONGEST_PROBLEM: Final = 500
"""Characters: problems are shown to models."""


class Toolbox:
    """Holds all toolsets; those that can't be used carry the reason as their `problem`."""

    def __init__(self, settings: Settings, *, environment: Mapping[str, str] | None = None) -> None:
        self._http = http_reader.HttpReader()
        self._runner = subprocess_runner.SubprocessRunner()
        self._url = settings.prometheus_url
        self._environment = os.environ if environment is None else environment
        self._folders = [paths.data_dir("toolsets")]
        if settings.toolsets_folder:
            self._folders.append(pathlib.Path(settings.toolsets_folder))
        self._built_in = kubernetes.toolset()
        self._said: dict[str, object] = {}
        self.toolsets: Sequence[ports.Toolset] = (self._built_in,)

    async def check(self) -> None:
        """Look at every toolset's health and take over the result."""
        metrics, *folders = await asyncio.gather(
            self._prometheus(), *(self._folder(folder) for folder in self._folders)
        )
        found = [self._built_in, *metrics, *(one for folder in folders for one in folder)]
        self.toolsets = tuple(_shown(one) for one in distinct(found))
        for toolset in self.toolsets:
            self._say(toolset.name, toolset.problem)

    async def keep_checking(self) -> None:
        """Check for ever, once a period."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.check()

    async def close(self) -> None:
        """End the connections."""
        await self._http.close()

    async def _prometheus(self) -> list[ports.Toolset]:
        toolset = prometheus.toolset(self._http, self._url)
        problem = "KUBEWHY_PROMETHEUS_URL is not set"
        if self._url:
            problem = await prometheus.check(self._http, self._url)
        return [dataclasses.replace(toolset, problem=problem)]

    async def _folder(self, folder: pathlib.Path) -> list[ports.Toolset]:
        try:
            contents = await asyncio.to_thread(toolset_folder.read, folder)
        except errors.ConfigError as error:
            return [_unusable(folder.name, str(error))]
        for declaration in contents.declarations:
            self._say(f"{declaration.source}: {declaration.name}", declaration.notices)
        usable = await asyncio.gather(
            *(
                declared.checked(declaration, self._runner, environment=self._environment)
                for declaration in contents.declarations
            )
        )
        return [*usable, *(_unusable(*problem) for problem in contents.problems.items())]

    def _say(self, about: str, news: str | tuple[str, ...]) -> None:
        """Log what is new about a toolset, each thing once."""
        if self._said.get(about, ()) == news:
            return
        self._said[about] = news
        if isinstance(news, tuple):
            log.warning("toolset file with remarks: %s", "; ".join(news))
        elif news:
            log.warning("toolset %s is off: %s", about, news)
        else:
            log.info("toolset %s can be used", about)


def distinct(toolsets: Iterable[ports.Toolset]) -> Iterator[ports.Toolset]:
    """The toolsets, where no later one takes an earlier one's name or the name of one of its tools.

    A later one of that kind is off, with its name changed where that is what was taken: a file must not be able to
    stand in for what is built in.
    """
    names: set[str] = set()
    owners: dict[str, str] = {}
    for toolset in toolsets:
        taken = next((tool.spec.name for tool in toolset.tools if tool.spec.name in owners), "")
        if toolset.name in names:
            yield _unusable(f"{toolset.name} (second)", "the name is taken; rename it in its file")
            continue
        if taken:
            problem = f"its tool {taken} is in {owners[taken]} already; rename it in its file"
            toolset = dataclasses.replace(toolset, tools=(), problem=problem)  # noqa: PLW2901
        names.add(toolset.name)
        owners.update((tool.spec.name, toolset.name) for tool in toolset.tools)
        yield toolset


def _unusable(name: str, problem: str) -> ports.Toolset:
    return ports.Toolset(name=name, description="", tools=(), problem=problem)


def _shown(toolset: ports.Toolset) -> ports.Toolset:
    """With its problem on one line and fit to be shown: it can hold what a program or server wrote."""
    problem = redaction.redact(untrusted.clean_line(toolset.problem))
    return dataclasses.replace(toolset, problem=problem[:LONGEST_PROBLEM])
