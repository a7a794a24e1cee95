"""From the fields of a toolset to its declaration: commands parsed, parameters inferred, the unusable marked."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.core import tools
from kubewhy.core.toolset_files import bodies, commands, values, yaml_lines

LONGEST_VALUE = 4096
"""Characters of a text parameter's value."""

_TYPES = frozenset({None, "custom", "built-in"})


def declaration(
    document: yaml_lines.Document,
    path: yaml_lines.Path,
    body: bodies.ToolsetBody,
    *,
    own: bool,
    notices: list[str],
) -> values.Declaration:
    """The declaration of the toolset at `path`; `notices` collects what of it is passed over.

    Raises:
        errors.ConfigError: it can't be used as written; file and line first.
    """
    if body.type not in _TYPES:
        raise errors.ConfigError(
            f"{document.place((*path, 'type'))}: toolsets of type {body.type!r} are not supported by this version"
        )
    if body.transformers or any(tool.transformers for tool in body.tools):
        notices.append(f"{document.place(path)}: transformers are passed over")
    if body.restricted_tools:
        notices.append(
            f"{document.place((*path, 'restricted_tools'))}: restricted_tools is passed over"
        )
    made = [
        _tool(document, (*path, "tools", index), tool, body, own=own, notices=notices)
        for index, tool in enumerate(body.tools)
    ]
    off = () if body.enabled else (values.Prerequisite(off="it is switched off (enabled: false)"),)
    needed = [
        _prerequisite(document, (*path, "prerequisites", index), one)
        for index, one in enumerate(body.prerequisites)
    ]
    return values.Declaration(
        name=str(path[-1]),
        source=document.source,
        description=body.description,
        instructions=_instructions(document, path, body, notices),
        tools=tuple(made),
        prerequisites=(*off, *needed),
        notices=tuple(notices),
    )


def _instructions(
    document: yaml_lines.Document,
    path: yaml_lines.Path,
    body: bodies.ToolsetBody,
    notices: list[str],
) -> str:
    text = body.llm_instructions or ""
    if "{{" in text or "{%" in text:
        place = document.place((*path, "llm_instructions"))
        notices.append(
            f"{place}: templates in llm_instructions are not rendered, so the text is left out"
        )
        return ""
    return text


def _tool(
    document: yaml_lines.Document,
    path: yaml_lines.Path,
    body: bodies.ToolBody,
    toolset: bodies.ToolsetBody,
    *,
    own: bool,
    notices: list[str],
) -> values.DeclaredTool:
    place = document.place(path)
    if own and body.effect is None:
        raise errors.ConfigError(
            f"{place}: the tool {body.name} must say its effect: Read or Write"
        )
    if (body.command is None) == (body.script is None):
        raise errors.ConfigError(f"{place}: the tool {body.name} must have a command")
    command, review = _command(document, path, body)
    given = {**body.parameters, **{argument.name: argument for argument in body.args}}
    parameters = _parameters(given, command.placeholders if command else {})
    unused = [name for name in given if command and name not in command.placeholders]
    notices += [f"{place}: the parameter {name!r} of {body.name} is never used" for name in unused]
    return values.DeclaredTool(
        name=body.name,
        description=body.description or body.user_description or body.name,
        user_description=body.user_description,
        command=command,
        parameters=parameters,
        timeout_seconds=body.timeout_seconds,
        effect=_effect(body, toolset.approval_required_tools),
        no_data=frozenset(body.no_data_exit_codes),
        review=review,
    )


def _command(
    document: yaml_lines.Document, path: yaml_lines.Path, body: bodies.ToolBody
) -> tuple[commands.Command | None, str]:
    if body.command is None:
        return None, f"needs review: {body.name} is a script, which needs a shell"
    try:
        command = commands.parse(body.command)
    except commands.TemplateFault as fault:
        raise errors.ConfigError(
            f"{document.place((*path, 'command'))}: the command of {body.name}: {fault}"
        ) from fault
    return command, f"needs review: {command.review}" if command.review else ""


def _effect(body: bodies.ToolBody, approval: Sequence[str]) -> tools.ToolEffect:
    if any(fnmatch.fnmatchcase(body.name, pattern) for pattern in approval):
        return tools.ToolEffect.WRITE
    return tools.ToolEffect(body.effect or tools.ToolEffect.READ)


def _parameters(
    given: Mapping[str, bodies.ParameterBody], placeholders: Mapping[str, bool]
) -> tuple[values.Parameter, ...]:
    """The declared parameters, then those that only the template names."""
    declared = [_parameter(name, body) for name, body in given.items() if name in placeholders]
    inferred = [
        values.Parameter(
            name=name,
            schema={
                "type": "string",
                "description": name.replace("_", " "),
                "maxLength": LONGEST_VALUE,
            },
            required=required,
        )
        for name, required in placeholders.items()
        if name not in given
    ]
    return (*declared, *inferred)


def _parameter(name: str, body: bodies.ParameterBody) -> values.Parameter:
    schema: dict[str, Any] = {
        "type": body.type,
        "description": body.description or name.replace("_", " "),
    }
    if body.type == "string":
        schema["maxLength"] = LONGEST_VALUE
    for key in ("enum", "properties", "items"):
        if (value := getattr(body, key)) is not None:
            schema[key] = value
    if body.default is not None:
        schema["default"] = body.default
    return values.Parameter(
        name=name,
        schema=schema,
        required=body.required and body.default is None,
        default=body.default,
        dash=body.allow_leading_dash,
    )


def _prerequisite(
    document: yaml_lines.Document, path: yaml_lines.Path, body: bodies.PrerequisiteBody
) -> values.Prerequisite:
    if not body.enabled:
        return values.Prerequisite(off=body.disabled_reason or "it is switched off (prerequisites)")
    if body.command is None:
        return values.Prerequisite(variables=tuple(body.env))
    try:
        command = commands.parse(body.command)
    except commands.TemplateFault as fault:
        raise errors.ConfigError(f"{document.place((*path, 'command'))}: {fault}") from fault
    if command.placeholders:
        raise errors.ConfigError(f"{document.place((*path, 'command'))}: it can't have parameters")
    return values.Prerequisite(
        variables=tuple(body.env), command=command, expected_output=body.expected_output or ""
    )
