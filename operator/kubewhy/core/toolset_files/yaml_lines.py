"""YAML into plain values that know their lines; refuses what a file of settings never needs.

Refused are tags other than the plain ones (`!!python/object`), aliases (a few of them can stand for gigabytes),
repeated names, second documents, and more than a person writes by hand.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import yaml

from kubewhy import errors

LONGEST: Final = 512 * 1024
"""Characters of a file."""

DEEPEST: Final = 32
MOST: Final = 50_000
"""Values in a file."""

Path = tuple[str | int, ...]
"""Names and indices from the top to a value."""

_PREFIX = "tag:yaml.org,2002:"
_PLAIN = frozenset(
    f"{_PREFIX}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
_TRUE = frozenset({"true", "yes", "on"})
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The value of a file, and the line (from 1) of each value in it by its path."""

    value: Any
    lines: Mapping[Path, int]
    source: str

    def place(self, path: Path) -> str:
        """`file:line` of the value, or of the nearest one around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return f"{self.source}:{self.lines[path[:length]]}"
        return f"{self.source}:1"


def read(text: str, source: str) -> Document:
    """Read one document; `source` is the file's name for error texts.

    Raises:
        errors.ConfigError: it is no YAML, or holds what is refused; the text begins with file and line.
    """
    if len(text) > LONGEST:
        raise errors.ConfigError(
            f"{source}:1: the file is longer than {LONGEST // 1024} KiB; split it into several"
        )
    builder = _Builder(source)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise errors.ConfigError(f"{source}:{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise errors.ConfigError(f"{source}:1: {str(error).splitlines()[0]}") from error
    return Document(value=builder.value, lines=builder.lines, source=source)


class _Builder:
    """Builds the value from the parser's events, so that nothing is expanded and every value's line is known."""

    def __init__(self, source: str) -> None:
        self.value: Any = None
        self.lines: dict[Path, int] = {(): 1}
        self._source = source
        self._resolver = yaml.SafeLoader("")
        self._open: list[tuple[dict[str, Any] | list[Any], Path]] = []
        self._key: list[str | None] = []
        self._documents = 0
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        """Take the parser's next event."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._refuse(line, "a second document begins here; a file holds one")
        elif isinstance(event, yaml.AliasEvent):
            self._refuse(line, f"the alias *{event.anchor}: write the value out")
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._check_tag(event.tag, line)
            self._start({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._key.pop()

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._check_tag(event.tag, line)
        if self._open and isinstance(self._open[-1][0], dict) and self._key[-1] is None:
            self._name(event.value, line)
        else:
            self._put(self._plain(event, line), line)

    def _name(self, name: str, line: int) -> None:
        holder, path = self._open[-1]
        if name in holder:
            self._refuse(line, f"{name!r} stands here for the second time")
        self.lines[(*path, name)] = line
        self._key[-1] = name

    def _start(self, value: dict[str, Any] | list[Any], line: int) -> None:
        if self._open and isinstance(self._open[-1][0], dict) and self._key[-1] is None:
            self._refuse(line, "a name must be a plain word")
        if len(self._open) >= DEEPEST:
            self._refuse(line, f"values are nested more than {DEEPEST} deep")
        path = self._put(value, line)
        self._open.append((value, path))
        self._key.append(None)

    def _put(self, value: Any, line: int) -> Path:
        self._count += 1
        if self._count > MOST:
            self._refuse(line, f"the file holds more than {MOST} values")
        if not self._open:
            self.value = value
            return ()
        holder, path = self._open[-1]
        if isinstance(holder, list):
            holder.append(value)
            place: Path = (*path, len(holder) - 1)
        else:
            name = self._key[-1] or ""
            holder[name] = value
            self._key[-1] = None
            place = (*path, name)
        self.lines.setdefault(place, line)
        return place

    def _plain(self, event: yaml.ScalarEvent, line: int) -> Any:
        tag = event.tag or self._resolved(event)
        text = event.value
        kind = tag.removeprefix(_PREFIX)
        try:
            if kind == "null":
                return None
            if kind == "bool":
                return text.lower() in _TRUE
            if kind == "int":
                return int(text.replace("_", ""), 0)
            if kind == "float":
                return _finite(float(text.replace("_", "")))
        except ValueError:
            self._refuse(
                line, f"{text[:40]!r} is no number as YAML writes it; quote it if it is a text"
            )
        return text

    def _resolved(self, event: yaml.ScalarEvent) -> str:
        tag: str = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
        return tag

    def _check_tag(self, tag: str | None, line: int) -> None:
        if tag and tag != "!" and tag not in _PLAIN:
            self._refuse(line, f"the tag {tag.replace(_PREFIX, '!!')} is not allowed")

    def _refuse(self, line: int, text: str) -> NoReturn:
        raise errors.ConfigError(f"{self._source}:{line}: {text}")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError
    return value
