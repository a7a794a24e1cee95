"""Toolset files: YAML text into declarations of toolsets. Reads HolmesGPT's format and kubewhy's stricter own one.

A file with `format: kubewhy/v1` at its top is in the own format: every unknown field is refused and each tool says its
`effect`. In any other file unknown fields below a toolset are reported and passed over, as HolmesGPT does. What such a
file holds that kubewhy can't do leaves its toolset or tool off with a reason; it never fails the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic

from kubewhy import errors
from kubewhy.core.toolset_files import bodies, building, values, yaml_lines

FORMAT = "kubewhy/v1"

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9/_.-]{0,61}[a-z0-9])?\Z")
_TOP = frozenset({"format", "toolsets", "mcp_servers"})
_REPORTED = 20


def parse(text: str, source: str) -> tuple[values.Declaration, ...]:
    """Read a file; `source` is its name for error texts.

    Raises:
        errors.ConfigError: the file as a whole can't be used, with a line `file:line: …` for each fault.
    """
    document = yaml_lines.read(text, source)
    top = document.value
    if top is None:
        return ()
    if not isinstance(top, dict):
        raise errors.ConfigError(f"{source}:1: a toolset file has `toolsets:` at its top")
    own = _is_own(document, top)
    unknown = [name for name in top if name not in _TOP]
    if unknown:
        allowed = ", ".join(sorted(_TOP))
        raise errors.ConfigError(
            f"{document.place((unknown[0],))}: {unknown[0]!r} is unknown; the top has {allowed}"
        )
    found = [*_toolsets(document, top, own=own), *_servers(document, top)]
    _refuse_repeated(document, found)
    faults = [declaration.problem for declaration in found if own and declaration.problem]
    if faults:
        raise errors.ConfigError("\n".join("\n".join(faults).splitlines()[:_REPORTED]))
    return tuple(found)


def _is_own(document: yaml_lines.Document, top: Mapping[str, Any]) -> bool:
    if "format" not in top:
        return False
    if top["format"] != FORMAT:
        raise errors.ConfigError(
            f"{document.place(('format',))}: the format {top['format']!r} is unknown; this version reads {FORMAT}"
        )
    return True


def _toolsets(
    document: yaml_lines.Document, top: Mapping[str, Any], *, own: bool
) -> Iterator[values.Declaration]:
    for name, raw in _named(document, top, "toolsets"):
        path: yaml_lines.Path = ("toolsets", name)
        notices: list[str] = []
        try:
            if not _NAME.match(name):
                raise errors.ConfigError(
                    f"{document.place(path)}: {name!r} is no toolset name: lower-case letters, digits, / _ . -"
                )
            plain = raw if own else _known_only(document, path, raw, notices)
            body = _validated(document, path, plain)
            yield building.declaration(document, path, body, own=own, notices=notices)
        except errors.ConfigError as error:
            yield values.Declaration(
                name=name, source=document.source, problem=str(error), notices=tuple(notices)
            )


def _servers(document: yaml_lines.Document, top: Mapping[str, Any]) -> Iterator[values.Declaration]:
    for name, _ in _named(document, top, "mcp_servers"):
        place = document.place(("mcp_servers", name))
        problem = f"{place}: MCP servers are not supported by this version"
        yield values.Declaration(name=name, source=document.source, problem=problem)


def _named(
    document: yaml_lines.Document, top: Mapping[str, Any], key: str
) -> Iterator[tuple[str, Any]]:
    found = top.get(key)
    if found is None:
        return
    if not isinstance(found, dict):
        raise errors.ConfigError(
            f"{document.place((key,))}: {key} must map names to bodies (`{key}: {{name: {{…}}}}`), not be a list"
        )
    yield from found.items()


def _validated(
    document: yaml_lines.Document, path: yaml_lines.Path, raw: Any
) -> bodies.ToolsetBody:
    try:
        return bodies.ToolsetBody.model_validate(raw if raw is not None else {})
    except pydantic.ValidationError as error:
        lines = [
            f"{document.place((*path, *fault['loc']))}: {_dotted(fault['loc'])}{_words(fault)}"
            for fault in error.errors(include_url=False)[:_REPORTED]
        ]
        raise errors.ConfigError("\n".join(lines)) from error


def _dotted(path: yaml_lines.Path) -> str:
    return ".".join(str(part) for part in path) + ": " if path else ""


def _words(fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        return "this field is unknown; see toolsets/README.md"
    return str(fault["msg"])


def _known_only(
    document: yaml_lines.Document, path: yaml_lines.Path, raw: Any, notices: list[str]
) -> Any:
    """The toolset without the unknown fields of its tools and parameters, which HolmesGPT drops without a word."""
    if not isinstance(raw, dict) or not isinstance(raw.get("tools"), list):
        return raw
    tools = []
    for index, tool in enumerate(raw["tools"]):
        place = (*path, "tools", index)
        kept = _kept(document, place, tool, bodies.ToolBody, notices)
        if isinstance(kept, dict) and isinstance(kept.get("parameters"), dict):
            parameters = {
                name: _kept(
                    document, (*place, "parameters", name), body, bodies.ParameterBody, notices
                )
                for name, body in kept["parameters"].items()
            }
            kept = {**kept, "parameters": parameters}
        tools.append(kept)
    return {**raw, "tools": tools}


def _kept(
    document: yaml_lines.Document,
    path: yaml_lines.Path,
    raw: Any,
    model: type[bodies.Body],
    notices: list[str],
) -> Any:
    if raw is None and model is bodies.ParameterBody:
        return {}
    if not isinstance(raw, dict):
        return raw
    notices += [
        f"{document.place((*path, name))}: {name!r} is unknown and passed over"
        for name in raw
        if name not in model.model_fields
    ]
    return {name: value for name, value in raw.items() if name in model.model_fields}


def _refuse_repeated(document: yaml_lines.Document, found: list[values.Declaration]) -> None:
    """Two tools of one name in a file could not be told apart."""
    seen: dict[str, str] = {}
    for declaration in found:
        for tool in declaration.tools:
            if tool.name in seen:
                place = document.place(("toolsets", declaration.name))
                raise errors.ConfigError(
                    f"{place}: the tool {tool.name!r} is in {seen[tool.name]} already"
                )
            seen[tool.name] = declaration.name
