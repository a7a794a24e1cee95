"""Typed facts: the form in which `kubernetes_first_look` reports what it saw, and its reader.

A fact states what the API said, not what it means. Its text form is made for models and people alike, carries the
source's raw words in lines of their own so that they can be quoted verbatim, and can be read back without loss:

    ## ContainerTerminated Pod/checkout-7d9f container=app exitCode=1 reason=Error restarts=5
    > RuntimeError: DB_HOST is unset

Raw words never start a line, so no log line can pose as a fact.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping

_HEADER = re.compile(r"^## (?P<kind>[A-Z][A-Za-z]*) (?P<object>[^\s/]+/\S+)(?P<fields>.*)$")
_FIELD = re.compile(r' ([a-zA-Z][a-zA-Z0-9]*)=("(?:[^"\\]|\\.)*"|[^\s"]+)')
_PLAIN = re.compile(r"[^\s\"\\]+")
_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One observation.

    `kind` is a PascalCase word (see docs/toolsets.md), `object` is "Kind/name", `fields` are the decisive values as
    text, `words` the raw lines of the source (log lines, event messages), oldest first.
    """

    kind: str
    object: str
    fields: Mapping[str, str] = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] = ()

    def get(self, name: str) -> str:
        """The field's value, "" where the fact has none."""
        return self.fields.get(name, "")


def render(facts: Iterable[Fact]) -> str:
    """The text form, one block per fact in the order given."""
    return "\n".join(_block(fact) for fact in facts)


def parse(text: str) -> tuple[Fact, ...]:
    """Read the facts back out of `render`'s text; other lines are passed over."""
    found: list[Fact] = []
    for line in text.split("\n"):
        header = _HEADER.match(line)
        if header:
            fields = {name: _unquote(value) for name, value in _FIELD.findall(header["fields"])}
            found.append(Fact(kind=header["kind"], object=header["object"], fields=fields))
        elif line.startswith("> ") and found:
            last = found[-1]
            found[-1] = dataclasses.replace(last, words=(*last.words, line[2:]))
    return tuple(found)


def _block(fact: Fact) -> str:
    fields = "".join(f" {name}={_quote(value)}" for name, value in fact.fields.items() if value)
    words = "".join(f"\n> {line}" for word in fact.words for line in _BREAKS.split(word))
    return f"## {fact.kind} {fact.object}{fields}{words}"


def _quote(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value)


def _unquote(value: str) -> str:
    if not value.startswith('"'):
        return value
    text: str = json.loads(value)
    return text
