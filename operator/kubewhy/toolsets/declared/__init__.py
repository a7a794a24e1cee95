"""Toolsets made from YAML declarations: each tool runs one program, never through a shell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from kubewhy import errors
from kubewhy.core import ports
from kubewhy.core.toolset_files import commands, values
from kubewhy.toolsets.declared.program_tool import ProgramTool, environment_of

CHECK_SECONDS: Final = 10.0
"""For each program that is tried before a toolset is used."""


def toolset(
    declaration: values.Declaration,
    runner: ports.ProcessRunner,
    *,
    environment: Mapping[str, str] | None = None,
    problem: str = "",
) -> ports.Toolset:
    """The toolset of a declaration.

    Args:
        declaration: from `toolset_files.parse`.
        runner: runs the programs.
        environment: the operator's variables; programs get those that the declaration names.
        problem: what `check` found, "" if nothing.
    """
    usable = [tool for tool in declaration.tools if not tool.review]
    passed = environment_of(declaration, environment or {})
    return ports.Toolset(
        name=declaration.name,
        description=declaration.description,
        instructions=_instructions(declaration),
        tools=tuple(ProgramTool(tool, declaration.name, runner, passed) for tool in usable),
        problem=declaration.problem or problem or _nothing_usable(declaration, len(usable)),
    )


async def check(
    declaration: values.Declaration,
    runner: ports.ProcessRunner,
    *,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Why the toolset can't be used now, "" if it can. Switches first, then variables, then programs, all at once."""
    if declaration.problem:
        return declaration.problem
    for needed in declaration.prerequisites:
        if needed.off:
            return needed.off
    present = environment or {}
    missing = [name for name in declaration.variables if not present.get(name)]
    if missing:
        return f"the environment variable {', '.join(missing)} is not set for the operator"
    passed = environment_of(declaration, present)
    tried = (
        _try(needed.command, needed.expected_output, runner, passed)
        for needed in declaration.prerequisites
        if needed.command
    )
    return next((problem for problem in await asyncio.gather(*tried) if problem), "")


async def checked(
    declaration: values.Declaration,
    runner: ports.ProcessRunner,
    *,
    environment: Mapping[str, str] | None = None,
) -> ports.Toolset:
    """`toolset`, with what `check` finds as its problem."""
    problem = await check(declaration, runner, environment=environment)
    return toolset(declaration, runner, environment=environment, problem=problem)


async def _try(
    command: commands.Command,
    expected: str,
    runner: ports.ProcessRunner,
    environment: Mapping[str, str],
) -> str:
    try:
        argv = commands.render(command, {})
        result = await runner.run(
            argv, environment=environment, timeout_seconds=CHECK_SECONDS, limit_bytes=64 * 1024
        )
    except commands.TemplateFault as fault:
        return f"its prerequisite needs review: {fault}"
    except errors.ToolFailure as failure:
        return str(failure)
    shown = " ".join(argv)[:200]
    if result.timed_out:
        return f"{shown!r} did not end within {CHECK_SECONDS:g} s"
    if result.exit_code:
        return f"{shown!r} ended with {result.exit_code}: {result.output.strip()[:300]}"
    if expected not in result.output:
        return f"{shown!r} did not print {expected!r}"
    return ""


def _instructions(declaration: values.Declaration) -> str:
    off = [f"{tool.name} ({tool.review})" for tool in declaration.tools if tool.review]
    lines = [declaration.instructions, f"Switched off: {'; '.join(off)}" if off else ""]
    return "\n".join(line for line in lines if line)


def _nothing_usable(declaration: values.Declaration, usable: int) -> str:
    if usable:
        return ""
    reasons = dict.fromkeys(tool.review for tool in declaration.tools)
    return "; ".join(reasons) or "it has no tools"
