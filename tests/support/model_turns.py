"""The named turns that the component tests of models ask the scripted server for."""

from __future__ import annotations

from typing import Any


def _raw(message: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {"raw": body | more}


def _said(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None} | fields


def _call(name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def _error(message: str) -> str:
    return f'{{"error": {{"message": "{message}", "type": "scripted"}}}}'


def _fails(**fault: Any) -> dict[str, Any]:
    return {"text": "good after all", "faults": [fault]}


_FOREVER = {"times": "always"}

TURNS: dict[str, dict[str, Any]] = {
    "text and call": {
        "text": "I look",
        "calls": [{"tool": "look", "arguments": {"at": "x"}}],
        "usage": {"input": 1000, "output": 100, "cached": 400},
    },
    "no usage": {"text": "three bytes a token", "usage": None},
    "negative usage": _raw(
        _said(content="hi"),
        usage={"prompt_tokens": -5, "completion_tokens": -7, "total_tokens": -12},
    ),
    "huge": {"text": "y" * 10_000_000, "usage": {"input": 1_000_000, "output": 500_000}},
    "twin calls": {
        "calls": [
            {"tool": "look", "arguments": {"at": "a"}, "id": "same"},
            {"tool": "look", "arguments": {"at": "b"}, "id": "same"},
            {"tool": "look", "arguments": {"at": "c"}, "id": ""},
            {"tool": "look", "arguments": {"at": "d"}, "id": "i" * 10_000},
        ]
    },
    "many calls": {"calls": [{"tool": "look", "arguments": {"at": "a"}}] * 200},
    "malformed arguments": {"calls": [{"tool": "look", "arguments": '{"at": '}]},
    "empty arguments": {"calls": [{"tool": "look", "arguments": ""}]},
    "null arguments": _raw(_said(tool_calls=[_call("look", None)]), "tool_calls"),
    "object arguments": _raw(_said(tool_calls=[_call("look", {"at": "x"})]), "tool_calls"),
    "nameless call": _raw(_said(tool_calls=[_call(None, "{}")]), "tool_calls"),
    "null tool calls": _raw(_said(content="text", tool_calls=None)),
    "empty tool calls": _raw(_said(content="text", tool_calls=[])),
    "missing tool calls": _raw(_said(content="text")),
    "legacy call": _raw(
        _said(function_call={"name": "look", "arguments": '{"at": "x"}'}), "function_call"
    ),
    "empty choices": {"raw": {"id": "x", "object": "chat.completion", "choices": []}},
    "no choices": {"raw": {"id": "x"}},
    "null message": _raw(None),
    "null content": _raw(_said()),
    "only reasoning": _raw(_said(reasoning_content="hm")),
    "cut off": {"text": '{"verdict": "Inconcl', "finish": "length"},
    "filtered": {"text": "", "finish": "content_filter"},
    "odd body": _fails(body="[1, 2]", **_FOREVER),
    "bad JSON": _fails(body='{"choices": [', **_FOREVER),
    "HTML": _fails(body="<html>hello</html>", **_FOREVER),
    "error in 200": _fails(body=_error("overloaded"), **_FOREVER),
    "no key": _fails(
        status=401, body=_error("Incorrect API key: sk-CANARY-0123456789"), **_FOREVER
    ),
    "no right": _fails(status=403, **_FOREVER),
    "no model": _fails(status=404, **_FOREVER),
    "wrong request": _fails(status=400, **_FOREVER),
    "unprocessable": _fails(status=422, **_FOREVER),
    "too long": _fails(
        status=400,
        body=_error("This model's maximum context length is 128 tokens. However, you sent 300"),
        **_FOREVER,
    ),
    "policy": _fails(
        status=400, body=_error("filtered due to content management policy"), **_FOREVER
    ),
    "limited for 1 s": _fails(status=429, headers={"Retry-After": "1"}),
    "limited": _fails(status=429),
    "limited for 100 s": _fails(status=429, headers={"Retry-After": "100"}, **_FOREVER),
    "limited for ever": _fails(status=429, **_FOREVER),
    "down twice": {
        "text": "good after all",
        "faults": [{"status": 502, "body": "<html>bad gateway</html>"}, {"status": 529}],
    },
    "down for ever": _fails(status=500, **_FOREVER),
    "cut once": _fails(cut=20),
    "reset once": _fails(reset=True),
    "silent": _fails(silent=True, **_FOREVER),
    "dripping": _fails(drip=0.1, **_FOREVER),
    "silent once": _fails(silent=True),
    "answer": {"text": '{"verdict": "Inconclusive", "summary": "s"}'},
}


def number(turn: str) -> int:
    """The step at which the script has that turn."""
    return list(TURNS).index(turn)
