"""Tool calls that a model wrote into its text instead of calling: tags, fences, bare JSON.

A tag or a JSON object with nothing but a name and arguments is taken for a call whatever name it
holds, so that the model hears of a wrong one. Other JSON must name a tool that was offered: reports
quote manifests, and a manifest with a `name` is no call.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kubewhy.core import jsontext, messages

_TAG = re.compile(
    r"<(?P<tag>tool_call|function_call)>\s*(?P<body>.*?)\s*(?:</(?P=tag)>|(?=<(?P=tag)>)|\Z)",
    re.DOTALL,
)
_FUNCTION = re.compile(
    r"<function=(?P<name>[^>\s]{1,128})>(?P<body>.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL
)
_PARAMETER = re.compile(
    r"<parameter=(?P<name>[^>\s]{1,128})>\n?(?P<value>.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)",
    re.DOTALL,
)
_NAME = re.compile(r'"(?:name|tool|function|tool_name|action)"\s*:\s*"(?P<name>[^"\\]{1,128})"')
_ARGUMENTS = re.compile(r'"(?:arguments|parameters|args|input|action_input|tool_input)"\s*:\s*')
_BETWEEN = 256
"""Characters after a malformed call's name in which its arguments must begin."""
_NAMES = ("name", "tool", "tool_name", "function", "action")
_VALUES = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
_WRAPPERS = ("function", "function_call", "tool_call")
_CALL_KEYS = frozenset({*_NAMES, *_VALUES, "id", "type"})
_FENCE_EDGES = re.compile(r"```[a-zA-Z_]*\s*\Z"), re.compile(r"\A\s*```")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Calls in their order and the text without them."""

    calls: tuple[messages.RequestedCall, ...]
    text: str
    notes: tuple[str, ...] = ()


def find(text: str, known: Collection[str]) -> Found:
    """The calls in a text; `known` are the names that a call in prose must have."""
    for form, search in (("tags", _tagged), ("JSON in its text", _in_json)):
        calls, rest = search(text, known)
        if calls:
            return Found(calls=calls, text=rest, notes=(f"the model wrote its calls as {form}",))
    broken = _malformed(text, known)
    if broken:
        return Found(calls=(broken,), text="", notes=("the model wrote a call as malformed JSON",))
    return Found(calls=(), text=text)


def _tagged(text: str, known: Collection[str]) -> tuple[tuple[messages.RequestedCall, ...], str]:
    text = text[: jsontext.SCANNED]
    calls = tuple(call for body in _bodies(text) for call in _tag_calls(body, known))
    return calls, _FUNCTION.sub("", _TAG.sub("", text))


def _bodies(text: str) -> Iterator[str]:
    tagged = [match["body"] for match in _TAG.finditer(text)]
    yield from tagged or [match[0] for match in _FUNCTION.finditer(text)]


def _tag_calls(body: str, known: Collection[str]) -> Iterator[messages.RequestedCall]:
    functions = list(_FUNCTION.finditer(body))
    if functions:
        yield from (_function_call(match["name"], match["body"]) for match in functions)
        return
    values = [found.value for found in jsontext.find(body)]
    calls = [call for value in values for call in _calls(value, known, alone=True)]
    yield from calls or [_malformed_call(body)]


def _function_call(name: str, body: str) -> messages.RequestedCall:
    """Qwen3-Coder's XML parameters, all text, or Llama's JSON between the tags."""
    parameters = {match["name"]: match["value"] for match in _PARAMETER.finditer(body)}
    raw = json.dumps(parameters) if parameters else body.strip() or "{}"
    return messages.RequestedCall(tool=name, arguments=raw)


def _in_json(text: str, known: Collection[str]) -> tuple[tuple[messages.RequestedCall, ...], str]:
    calls: list[messages.RequestedCall] = []
    kept, position = "", 0
    for found in jsontext.find(text):
        before, after = text[position : found.start], text[found.end :]
        here = _calls(found.value, known, alone=_stands_alone(before, after))
        if here:
            calls += here
            kept, position = kept + before, found.end
    return tuple(calls), kept + text[position:]


def _stands_alone(before: str, after: str) -> bool:
    """Whether JSON fills a fence or has nothing around it."""
    opening, closing = _FENCE_EDGES
    fenced = opening.search(before) and closing.search(after)
    return bool(fenced) or not (before.strip() or after.strip())


def _calls(value: Any, known: Collection[str], *, alone: bool) -> list[messages.RequestedCall]:
    """The calls that a JSON value is, none if it is anything else; a list must hold calls only."""
    if isinstance(value, list):
        parts = [_calls(item, known, alone=alone) for item in value]
        return [call for part in parts for call in part] if all(parts) else []
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("tool_calls"), list):
        return _calls(value["tool_calls"], known, alone=True)
    for name in _WRAPPERS:
        if isinstance(value.get(name), dict):
            return _calls(value[name], known, alone=alone)
    call = _call(value, known, alone=alone)
    return [call] if call else []


def _call(
    value: Mapping[str, Any], known: Collection[str], *, alone: bool
) -> messages.RequestedCall | None:
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    given = next((key for key in _VALUES if key in value), "")
    bare = value.keys() <= _CALL_KEYS
    if not name or not (given or (bare and name in known)):
        return None
    if name not in known and not (alone and bare):
        return None
    return messages.RequestedCall(tool=name, arguments=_raw(value[given]) if given else "")


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _malformed(text: str, known: Collection[str]) -> messages.RequestedCall | None:
    """A call that names a known tool but whose JSON can't be read: its fault goes back to the model."""
    text = text[: jsontext.SCANNED]
    readable = [range(found.start, found.end) for found in jsontext.find(text)]
    for name in itertools.islice(_NAME.finditer(text), jsontext.ATTEMPTS):
        raw = _arguments_after(text, name.end())
        if name["name"] in known and raw and not any(name.start() in span for span in readable):
            return messages.RequestedCall(tool=name["name"], arguments=raw)
    return None


def _malformed_call(text: str) -> messages.RequestedCall:
    name = _NAME.search(text)
    raw = _arguments_after(text, name.end()) if name else ""
    return messages.RequestedCall(tool=name["name"] if name else "", arguments=raw or text)


def _arguments_after(text: str, position: int) -> str:
    found = _ARGUMENTS.search(text, position, position + _BETWEEN)
    return text[found.end() :] if found else ""
