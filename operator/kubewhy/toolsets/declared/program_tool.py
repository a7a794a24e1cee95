"""A tool that runs one program and tells how it ended."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.core.toolset_files import commands, values

BASE_ENVIRONMENT: Final[Mapping[str, str]] = {"TERM": "dumb"}
"""What every program gets beside the runner's PATH, HOME and LANG and the variables that its toolset names."""

_COMMAND_SHOWN = 2000
_SERVER = re.compile(r"^Error from server \((NotFound|Forbidden)\)", re.MULTILINE)
_SERVER_STATUS: Final = {
    "NotFound": tools.ToolStatus.NOT_FOUND,
    "Forbidden": tools.ToolStatus.FORBIDDEN,
}


class ProgramTool:
    """See `ports.Tool`."""

    def __init__(
        self,
        tool: values.DeclaredTool,
        toolset: str,
        runner: ports.ProcessRunner,
        environment: Mapping[str, str],
    ) -> None:
        self._tool = tool
        self._runner = runner
        self._environment = environment
        self._spec = tools.ToolSpec(
            name=tool.name,
            description=tool.description,
            parameters=_schema(tool.parameters),
            toolset=toolset,
            effect=tool.effect,
            timeout_seconds=tool.timeout_seconds,
        )

    @property
    def spec(self) -> tools.ToolSpec:
        """See `ports.Tool`."""
        return self._spec

    def argv(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """The words of the command, program first.

        Raises:
            errors.ToolFailure: `Refused` for a value that would become an option, `Error` for other unusable ones.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        for parameter in self._tool.parameters:
            if parameter.name not in given and parameter.default is not None:
                given[parameter.name] = parameter.default
            _check(parameter, given.get(parameter.name))
        absent = [
            parameter.name for parameter in self._tool.parameters if parameter.name not in given
        ]
        if self._tool.command is None:
            raise errors.ToolFailure(tools.ToolStatus.REFUSED, self._tool.review)
        try:
            return commands.render(self._tool.command, given, absent=absent)
        except commands.TemplateFault as fault:
            raise errors.ToolFailure(
                tools.ToolStatus.REFUSED, f"{self._tool.name}: {fault}"
            ) from fault

    async def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        """See `ports.Tool`."""
        del context
        argv = self.argv(arguments)
        result = await self._runner.run(
            argv,
            environment=self._environment,
            timeout_seconds=float(self._tool.timeout_seconds),
        )
        return tools.ToolOutput(
            text=_text(argv, result, self._tool.timeout_seconds),
            status=_status(result, self._tool.no_data),
            total_bytes=result.total_bytes,
            truncated=result.truncated,
        )


def environment_of(declaration: values.Declaration, present: Mapping[str, str]) -> dict[str, str]:
    """The environment of the toolset's programs."""
    named = {name: present[name] for name in declaration.variables if name in present}
    return {**BASE_ENVIRONMENT, **named}


def _schema(parameters: Sequence[values.Parameter]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: dict(parameter.schema) for parameter in parameters},
        "additionalProperties": False,
    }
    required = [parameter.name for parameter in parameters if parameter.required]
    if required:
        schema["required"] = required
    return schema


def _check(parameter: values.Parameter, value: object) -> None:
    if value is None:
        if parameter.required:
            raise errors.ToolFailure(tools.ToolStatus.ERROR, f"{parameter.name} is missing")
        return
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            continue
        if "\0" in text:
            raise errors.ToolFailure(
                tools.ToolStatus.REFUSED, f"{parameter.name}: no program takes a NUL character"
            )
        if text.lstrip().startswith("-") and not parameter.dash:
            raise errors.ToolFailure(
                tools.ToolStatus.REFUSED,
                f"{parameter.name}: a value that begins with a dash would become an option of the program",
            )


def _status(result: ports.ProcessResult, no_data: frozenset[int]) -> tools.ToolStatus:
    if result.timed_out:
        return tools.ToolStatus.TIMED_OUT
    if result.exit_code in no_data:
        return tools.ToolStatus.NO_DATA
    if result.exit_code:
        said = _SERVER.search(result.output)
        return _SERVER_STATUS[said[1]] if said else tools.ToolStatus.ERROR
    return tools.ToolStatus.SUCCESS if result.output.strip() else tools.ToolStatus.NO_DATA


def _text(argv: Sequence[str], result: ports.ProcessResult, seconds: int) -> str:
    """The command, how it ended, and its output; never its environment."""
    command = shlex.join(argv).replace("\n", "\\n")
    shown = command if len(command) <= _COMMAND_SHOWN else f"{command[:_COMMAND_SHOWN]}…"
    output = result.output if result.output.strip() else "(no output)"
    return f"$ {shown}\n[{_ending(result, seconds)}]\n{output}"


def _ending(result: ports.ProcessResult, seconds: int) -> str:
    if result.timed_out:
        return f"stopped after {seconds} s; what it wrote until then follows"
    if result.exit_code < 0:
        try:
            return f"ended by signal {-result.exit_code} ({signal.Signals(-result.exit_code).name})"
        except ValueError:
            return f"ended by signal {-result.exit_code}"
    return f"exit code {result.exit_code}"
