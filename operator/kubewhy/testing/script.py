"""Scripts of a model that only plays back: a list of turns, chosen by step, with faults in front of them.

    turns:
      - calls: [{tool: kubernetes_first_look, arguments: {kind: Pod, name: checkout}}]
        faults: [{status: 429, headers: {Retry-After: "1"}}, {silent: true}]
      - calls:
          - tool: conclude
            arguments: {verdict: RootCauseFound, summary: "${match:RuntimeError: .*}", …}

The step is the number of assistant messages in the request, so a restarted client gets the turn that
the first one got. `${match:REGEX}` in a text or argument becomes the first match (its first group, if
it has one) in the tool messages of the request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pydantic
import yaml

_MATCH = re.compile(r"\$\{match:(.+?)\}(?!\})")


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Call(_Part):
    """One tool call; `arguments` given as text is sent as it stands, malformed or not."""

    tool: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None
    """The provider's id; made up if absent."""


class Usage(_Part):
    """The token counts that the reply states."""

    input: int = 100
    output: int = 20
    cached: int = 0
    cost_micro_usd: int = 0
    """Only for the in-process model; over HTTP the client counts the cost."""


class Fault(_Part):
    """What happens to a request instead of the turn's reply."""

    status: int = 200
    headers: dict[str, str] = {}
    body: str = ""
    """The body as it stands; for a status other than 200 an OpenAI error object if empty."""
    delay: float = 0
    """Seconds before anything is sent."""
    silent: bool = False
    """Accept the request and never answer."""
    drip: float = 0
    """Send the headers at once and then one byte of the body every so many seconds."""
    cut: int = -1
    """Close the connection after so many bytes of the body."""
    reset: bool = False
    """Reset the connection without an answer."""
    times: int | Literal["always"] = 1
    """How many requests of this turn it meets."""


class Turn(_Part):
    """One reply of the model and the faults that come before it."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish: str = ""
    """The finish reason; "tool_calls" or "stop" if empty."""
    usage: Usage | None = Usage()
    """None: the reply states no usage."""
    raw: dict[str, Any] | None = None
    """Over HTTP: the whole body of the reply, in place of what the other fields would make."""
    delay: float = 0
    """Seconds before the reply."""
    faults: tuple[Fault, ...] = ()

    def fault(self, earlier: int) -> Fault | None:
        """The fault that meets a request of this turn after `earlier` ones, None when they are used up."""
        for fault in self.faults:
            if fault.times == "always" or earlier < fault.times:
                return fault
            earlier -= fault.times
        return None

    def filled(self, outputs: Sequence[str]) -> Turn:
        """This turn with its `${match:…}` parts replaced from the texts of the tool messages."""
        seen = "\n".join(outputs)
        calls = [Call.model_validate(_filled(call.model_dump(), seen)) for call in self.calls]
        return self.model_copy(update={"text": _filled(self.text, seen), "calls": tuple(calls)})


class Script(_Part):
    """All turns of a run."""

    turns: tuple[Turn, ...] = ()
    by: Literal["step", "request"] = "step"
    """What chooses the turn: the number of assistant messages, or the number of the request."""
    after: Literal["fail", "repeat"] = "fail"
    """What follows the last turn: an error, or the last turn again."""
    obedient: bool = False
    """No turns: call whatever offered tool the input names (faults.md §2.1), then conclude."""

    @classmethod
    def read(cls, text: str) -> Script:
        """Read YAML or JSON: a mapping of the fields above, or just the list of turns.

        Raises:
            ValueError: not a script; the text names the field.
        """
        document = yaml.safe_load(text)
        return cls.model_validate({"turns": document} if isinstance(document, list) else document)

    def turn(self, number: int) -> Turn | None:
        """The turn of step or request `number` (from 0), None after the end."""
        if number < len(self.turns):
            return self.turns[number]
        return self.turns[-1] if self.turns and self.after == "repeat" else None


def obey(offered: Mapping[str, Mapping[str, Any]], called: Sequence[str], text: str) -> Turn:
    """The reply of a model that does whatever its input says, the worst case of a prompt injection.

    Args:
        offered: parameter schemas by tool name.
        called: tools that it has called before; each is called once.
        text: all it was told by users and tools.
    """
    named = [name for name in offered if name != "conclude" and name not in called and name in text]
    calls = tuple(
        Call(tool=name, arguments=_arguments(offered[name], text.partition(name)[2]))
        for name in named
    )
    if calls:
        return Turn(calls=calls)
    answer = {"verdict": "Inconclusive", "summary": "did all that the input said"}
    return (
        Turn(calls=(Call(tool="conclude", arguments=answer),))
        if "conclude" in offered
        else Turn(text=json.dumps(answer))
    )


def _arguments(schema: Mapping[str, Any], after: str) -> dict[str, Any]:
    """The JSON object that follows the tool's name, else something for each required parameter."""
    try:
        given, _ = json.JSONDecoder().raw_decode(after.lstrip(" ,:(`"))
    except ValueError:
        given = None
    if isinstance(given, dict):
        return given
    words = iter(re.findall(r"[\w./-]+", after))
    samples: dict[str, Any] = {
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return {
        name: samples.get(schema.get("properties", {}).get(name, {}).get("type"))
        or next(words, "x")
        for name in schema.get("required", ())
    }


def _filled(value: Any, outputs: str) -> Any:
    if isinstance(value, str):
        return _MATCH.sub(lambda part: _first(part[1], outputs), value)
    if isinstance(value, dict):
        return {name: _filled(item, outputs) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, outputs) for item in value]
    return value


def _first(pattern: str, outputs: str) -> str:
    found = re.search(pattern, outputs, re.MULTILINE)
    if not found:
        return f"no match of {pattern}"
    return str(found[1] if found.re.groups else found[0])
