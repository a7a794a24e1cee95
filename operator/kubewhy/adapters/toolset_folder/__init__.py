"""Reads a folder of toolset files. A file that can't be used is a problem of its own, not of its neighbours."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kubewhy import errors
from kubewhy.core import toolset_files
from kubewhy.core.toolset_files import values, yaml_lines

MOST_FILES = 200

_SUFFIXES = frozenset({".yaml", ".yml"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The declarations of the usable files, in the order of their names, and the faults of the others by file."""

    declarations: tuple[values.Declaration, ...]
    problems: dict[str, str]


def read(folder: Path) -> Contents:
    """Read all `*.yaml` and `*.yml` of the folder, not of folders in it; takes time, so call it in a thread.

    A toolset or tool whose name an earlier file has already is a problem of the later file.

    Raises:
        errors.ConfigError: the folder can't be read.
    """
    try:
        files = sorted(
            path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file()
        )
    except OSError as error:
        raise errors.ConfigError(
            f"the toolset folder {folder} can't be read: {error.strerror}"
        ) from error
    declarations: list[values.Declaration] = []
    problems: dict[str, str] = {}
    if len(files) > MOST_FILES:
        problems[str(folder)] = f"of its {len(files)} files only the first {MOST_FILES} are read"
    for file in files[:MOST_FILES]:
        try:
            found = toolset_files.parse(_text(file), file.name)
            _refuse_repeated(declarations, found, file.name)
        except errors.ConfigError as error:
            problems[file.name] = str(error)
        else:
            declarations += found
    return Contents(declarations=tuple(declarations), problems=problems)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            # A character has at most four bytes; one more tells that the file is too long.
            return stream.read(4 * yaml_lines.LONGEST + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise errors.ConfigError(f"{file.name}:{line}: this is not UTF-8") from error
    except OSError as error:
        raise errors.ConfigError(f"{file.name}:1: it can't be read: {error.strerror}") from error


def _refuse_repeated(
    before: list[values.Declaration], found: tuple[values.Declaration, ...], source: str
) -> None:
    toolsets = {declaration.name: declaration.source for declaration in before}
    tools = {tool.name: declaration.source for declaration in before for tool in declaration.tools}
    for declaration in found:
        if declaration.name in toolsets:
            raise errors.ConfigError(
                f"{source}: the toolset {declaration.name!r} is in {toolsets[declaration.name]} already"
            )
        for tool in declaration.tools:
            if tool.name in tools:
                raise errors.ConfigError(
                    f"{source}: the tool {tool.name!r} is in {tools[tool.name]} already"
                )
