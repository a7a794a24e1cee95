"""Command templates: from `orders-cli backlog {{ region }}` and values to a list of words, never through a shell.

A template is Jinja2 in a sandbox, of which only `{{ … }}` and `{% if %}` are taken. Each value that it prints is first
replaced by a mark, then the text is split into words, then the marks become the values again: whatever a value holds,
it stays in the word in which it stood. A text that needs a shell can't be run and says why.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import jinja2
import jinja2.nodes
import jinja2.sandbox

LONGEST: Final = 64 * 1024
"""Characters of a command after rendering."""

_OPEN, _CLOSE = "\U000f0000", "\U000f0001"
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_KEPT = " kept"
"""No name that a template can write."""

RESERVED: Final = frozenset({"config", "env", "request_context"})
"""Names that HolmesGPT's templates give a meaning of their own."""

_FILTERS: Final = ("default", "d", "lower", "upper", "trim", "join", "int", "string")
_TESTS: Final = ("defined", "undefined", "none", "string", "number", "eq", "equalto", "ne", "in")
_NODES: Final = (
    jinja2.nodes.Template,
    jinja2.nodes.Output,
    jinja2.nodes.TemplateData,
    jinja2.nodes.Name,
    jinja2.nodes.Const,
    jinja2.nodes.Filter,
    jinja2.nodes.Test,
    jinja2.nodes.If,
    jinja2.nodes.CondExpr,
    jinja2.nodes.Compare,
    jinja2.nodes.Operand,
    jinja2.nodes.And,
    jinja2.nodes.Or,
    jinja2.nodes.Not,
    jinja2.nodes.List,
    jinja2.nodes.Tuple,
)
_SHELL: Final = {
    "|": "a pipe",
    "&": "&",
    ";": "several commands",
    "<": "a redirect",
    ">": "a redirect",
    "(": "a subshell",
    ")": "a subshell",
    "`": "command substitution",
    "\n": "several lines",
}
_EXPANSION = re.compile(r"\$(?:\(|\{|[A-Za-z_0-9?@*#$!])")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class TemplateFault(ValueError):
    """The template can't be read, or can't be rendered with these values; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command template: one text that is split into words, or a template for each word.

    `placeholders` are the names it prints, with whether it can't do without; `review` says why it needs a shell, ""
    where it needs none.
    """

    templates: tuple[str, ...]
    split: bool
    placeholders: Mapping[str, bool]
    review: str = ""


def parse(source: str | Sequence[str]) -> Command:
    """Read a template.

    Raises:
        TemplateFault: it is no template, or has unbalanced quotes.
    """
    split = isinstance(source, str)
    texts = (_joined(source),) if isinstance(source, str) else tuple(source)
    if not texts:
        raise TemplateFault("the command is empty")
    placeholders: dict[str, bool] = {}
    review = ""
    for index, text in enumerate(texts):
        tree = _tree(text)
        review = review or _unusable(tree)
        for name, required in _names(tree, conditional=False):
            placeholders[name] = placeholders.get(name, False) or required
        literal = "".join(_literal(tree))
        if split:
            review = review or _needs_shell(literal)
        if index == 0 and _MARK.search(_first_word(literal, split=split)):
            raise TemplateFault("the program itself must be written out, not come from a parameter")
    known = {name: needed for name, needed in placeholders.items() if name not in RESERVED}
    return Command(templates=texts, split=split, placeholders=known, review=review)


def render(
    command: Command, values: Mapping[str, object], *, absent: Collection[str] = ()
) -> tuple[str, ...]:
    """The words of the command; `absent` names print nothing, and a word left empty by them is dropped.

    Raises:
        TemplateFault: the template can't be rendered with these values, or a word begins with a value's dash.
    """
    if command.review:
        raise TemplateFault(command.review)
    nothing = {name: jinja2.Undefined(name=name) for name in absent}
    kept: list[str] = []
    words: list[str] = []
    for template in command.templates:
        text = _rendered(template, {**nothing, **values, _KEPT: kept})
        if command.split:
            words += _words(text)
        elif text or not _OPEN_TAG.search(template):
            words.append(text)
    return tuple(_filled(word, kept) for word in words)


_OPEN_TAG = re.compile(r"\{[{%]")


@jinja2.pass_context
def _keep(context: jinja2.runtime.Context, value: object) -> str:
    """Put a mark in place of a printed value; without the context Jinja2 would do it when it compiles."""
    text = _text(value)
    if isinstance(value, jinja2.Undefined):
        return text
    kept: list[str] = context[_KEPT]
    kept.append(text)
    return f"{_OPEN}{len(kept) - 1}{_CLOSE}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float, jinja2.Undefined)):
        return str(value)
    raise TemplateFault("a list must be printed with the filter join")


@functools.lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, finalize=_keep, autoescape=False
    )
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in _FILTERS}
    environment.tests = {name: environment.tests[name] for name in _TESTS}
    return environment


def _joined(text: str) -> str:
    """One line, where the lines of the text are joined as a shell would."""
    return text.replace("\\\n", " ").strip()


def _tree(text: str) -> jinja2.nodes.Template:
    if _OPEN in text or _CLOSE in text or "\0" in text:
        raise TemplateFault("the command holds characters of private use")
    try:
        return _environment().parse(text)
    except jinja2.TemplateError as error:
        raise TemplateFault(f"the template can't be read: {error}") from error
    except RecursionError as error:
        raise TemplateFault("the template is nested too deeply") from error


def _unusable(tree: jinja2.nodes.Node) -> str:
    """Why the template can't be used, "" if it can."""
    names = {node.name for node in tree.find_all(jinja2.nodes.Name)}
    if reserved := sorted(names & RESERVED):
        return f"its template uses {reserved[0]}, which is not given to commands"
    for node in _walk(tree):
        if not isinstance(node, _NODES):
            return f"its template uses {type(node).__name__}, of Jinja2 only {{{{ }}}} and {{% if %}} are taken"
        if isinstance(node, jinja2.nodes.Filter) and node.name not in _FILTERS:
            return f"its template uses the filter {node.name}; there are {', '.join(_FILTERS)}"
        if isinstance(node, jinja2.nodes.Test) and node.name not in _TESTS:
            return f"its template uses the test {node.name}; there are {', '.join(_TESTS)}"
    return ""


def _walk(node: jinja2.nodes.Node) -> Iterator[jinja2.nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


def _names(node: jinja2.nodes.Node, *, conditional: bool) -> Iterator[tuple[str, bool]]:
    """Names that the template looks up, each with whether it is needed there."""
    if isinstance(node, jinja2.nodes.Name):
        yield node.name, not conditional
        return
    for field, value in node.iter_fields():
        children = value if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, jinja2.nodes.Node):
                yield from _names(child, conditional=conditional or _optional(node, field))


def _optional(node: jinja2.nodes.Node, field: str) -> bool:
    if isinstance(node, (jinja2.nodes.If, jinja2.nodes.CondExpr, jinja2.nodes.Test)):
        return True
    return (
        isinstance(node, jinja2.nodes.Filter) and node.name in {"default", "d"} and field == "node"
    )


def _literal(node: jinja2.nodes.Node) -> Iterator[str]:
    """The text outside the expressions, with a mark for each of them."""
    if isinstance(node, jinja2.nodes.TemplateData):
        yield node.data
    elif isinstance(node, jinja2.nodes.Expr):
        yield f"{_OPEN}0{_CLOSE}"
    else:
        for field, value in node.iter_fields(exclude=("test",)):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, jinja2.nodes.Node) and field != "test":
                    yield from _literal(child)


def _first_word(literal: str, *, split: bool) -> str:
    words = _words(literal) if split else [literal]
    if not words or not words[0]:
        raise TemplateFault("the command is empty")
    return words[0]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise TemplateFault(f"the command can't be split into words: {error}") from error


def _needs_shell(text: str) -> str:
    """What of the text only a shell understands, "" if nothing."""
    if _ASSIGNMENT.match(text):
        return "it sets a variable, which needs a shell"
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 2
            continue
        if quote and char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        elif reason := _special(text, at, quote):
            return f"it uses {reason}, which needs a shell"
        at += 1
    return ""


def _special(text: str, at: int, quote: str) -> str:
    char = text[at]
    if quote == "'":
        return ""
    if _EXPANSION.match(text, at):
        return "$, an expansion"
    if char == "`":
        return _SHELL[char]
    if quote:
        return ""
    if char in "~#" and (at == 0 or text[at - 1].isspace()):
        return char
    return _SHELL.get(char, "")


@functools.lru_cache(maxsize=256)
def _compiled(template: str) -> jinja2.Template:
    return _environment().from_string(template)


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    try:
        text = _compiled(template).render(values)
    except (jinja2.TemplateError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TemplateFault(f"the command can't be put together: {error}") from error
    if len(text) > LONGEST:
        raise TemplateFault(f"the command is longer than {LONGEST} characters")
    return text


def _filled(word: str, kept: Sequence[str]) -> str:
    begin = _MARK.match(word)
    if begin and kept[int(begin[1])].startswith("-"):
        raise TemplateFault("a value that begins with a dash would become an option of the program")
    return _MARK.sub(lambda mark: kept[int(mark[1])], word)
