"""Toolsets as declared in YAML: what their tools run, take and need. Nothing here runs anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kubewhy.core import tools
from kubewhy.core.toolset_files import commands


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter: `schema` is its JSON schema; a value may begin with a dash only where `dash` says so."""

    name: str
    schema: Mapping[str, Any]
    required: bool = True
    default: object = None
    dash: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTool:
    """One tool that runs a program. `review` says why it is off, "" where it is not.

    Of the exit codes in `no_data` the program says that it looked and found nothing.
    """

    name: str
    description: str
    user_description: str
    command: commands.Command | None
    parameters: tuple[Parameter, ...]
    timeout_seconds: int
    effect: tools.ToolEffect
    no_data: frozenset[int] = frozenset()
    review: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prerequisite:
    """One thing that must hold: a static switch, variables that are set, or a program that succeeds."""

    off: str = ""
    variables: tuple[str, ...] = ()
    command: commands.Command | None = None
    expected_output: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One toolset. `problem` says why it can't be used at all; `notices` what of it is not taken, with file and line.

    `variables` are those that its programs get from the operator's environment, and no others.
    """

    name: str
    source: str
    description: str = ""
    instructions: str = ""
    tools: tuple[DeclaredTool, ...] = ()
    prerequisites: tuple[Prerequisite, ...] = ()
    problem: str = ""
    notices: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of environment variables, in order, each once."""
        return tuple(
            dict.fromkeys(name for needed in self.prerequisites for name in needed.variables)
        )
