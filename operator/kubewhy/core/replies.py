"""What a model's reply asks for, whatever form it has (design.md §7).

Native tool calls come first. A reply without them is searched for calls in Hermes and Qwen tags, in
JSON in a fence and in JSON in text, because small and self-hosted models write them there. An
adapter has already turned the legacy `function_call` into a native one.

`arguments` and `validate` belong to the same reading and are found here for the loop's convenience.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from typing import Any

from kubewhy.core import call_arguments, call_text, conclusion, jsontext, messages, plain_answer

arguments = call_arguments.read
validate = call_arguments.validate
plain = plain_answer.read

MOST_CALLS = 256
"""Calls of one reply that are read; the loop's own cap is lower and answers each call above it."""

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"\A.*</(think|thinking|reasoning)>", re.DOTALL)
_EMPTY_FENCE = re.compile(r"```[a-zA-Z_]*\s*```")
_ANSWER = frozenset(conclusion.CONCLUDE.parameters["properties"]) | {"root_cause", "ruled_out"}
_DECISIVE = frozenset({"verdict", "rootCause", "root_cause"})
_WRAPPERS = ("conclusion", "answer", "result", "response", "final_answer")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reply as the loop sees it.

    `calls` keep their order and their raw arguments; each needs a result. `text` is the prose without
    thoughts and without the calls found in it. `conclusion` is the answer, if the reply gives one: the
    arguments of the first readable `conclude` call (which stays in `calls`) or an answer as bare JSON.
    `notes` say in words what was read tolerantly.
    """

    calls: tuple[messages.RequestedCall, ...] = ()
    text: str = ""
    conclusion: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def read(reply: messages.ModelReply, offered: Collection[str]) -> Reading:
    """Read a reply; `offered` are the names of the tools that the model was given."""
    text = _without_thoughts(reply.text)
    calls = reply.calls
    notes: tuple[str, ...] = ()
    if not calls:
        found = call_text.find(text, {*offered, conclusion.CONCLUDE.name})
        calls, text, notes = found.calls, found.text, found.notes
    calls = calls[:MOST_CALLS]
    answer = _concluding(calls)
    if not calls:
        answer, text = _bare(text)
    return Reading(
        calls=calls,
        text=_tidy(text),
        conclusion=answer,
        notes=(*notes, *_argument_notes(calls)),
    )


def _without_thoughts(text: str) -> str:
    """Drop what a reasoning model thinks aloud: it names tools and drafts answers without meaning them."""
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text))


def _concluding(calls: tuple[messages.RequestedCall, ...]) -> Mapping[str, Any] | None:
    """The values of the first `conclude` call that can be read."""
    for call in calls:
        values = arguments(call.arguments)[0] if call.tool == conclusion.CONCLUDE.name else None
        if values:
            return values
    return None


def _bare(text: str) -> tuple[Mapping[str, Any] | None, str]:
    """The last JSON object in a text that is an answer, and the text without it."""
    for found in reversed(tuple(jsontext.find(text))):
        answer = _answer(found.value)
        if answer:
            return answer, text[: found.start] + text[found.end :]
    return None, text


def _answer(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, dict):
        return None
    for name in _WRAPPERS:
        if isinstance(value.get(name), dict) and len(value) == 1:
            return _answer(value[name])
    answers = _DECISIVE & value.keys() or ("summary" in value and value.keys() <= _ANSWER)
    return value if answers else None


def _argument_notes(calls: tuple[messages.RequestedCall, ...]) -> tuple[str, ...]:
    notes = ((call.tool, call_arguments.parse(call.arguments).note) for call in calls)
    return tuple(f"{tool[:64]}: {note}" for tool, note in notes if note)


def _tidy(text: str) -> str:
    return _EMPTY_FENCE.sub("", text).strip()
