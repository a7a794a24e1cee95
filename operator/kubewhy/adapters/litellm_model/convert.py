"""Our messages to the OpenAI form that LiteLLM takes, and its replies back. Pure."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.core import call_arguments, conclusion, messages, model_list, tools

REPLY_LENGTH = 256 * 1024
"""Most characters of a reply's text that are kept."""

MOST_CALLS = 512
"""Most calls of a reply that are kept; the loop answers those above its own cap."""

_TOOL_NAME_LENGTH = 256
_NEED_TOOLS = ("bedrock/", "converse/")
_SHORT_IDS = ("mistral/", "codestral/")
_NOT_OFFERED = tools.ToolSpec(
    name="no_tool", description="Not to be called.", parameters={"type": "object"}, toolset=""
)


def payload(entry: model_list.LiteLLMEntry, request: messages.ModelRequest) -> dict[str, Any]:
    """The arguments of a completion, without key and time limit.

    Raises:
        errors.ModelProtocolError: a call in the history has not exactly one result.
    """
    _check_history(request.messages)
    made: dict[str, Any] = dict(entry.parameters.items())
    made |= {
        "model": entry.model,
        "messages": [_message(message, _identity(entry)) for message in request.messages],
        "max_tokens": request.max_output_tokens,
    }
    offered = _offered(entry, request)
    if offered:
        made["tools"] = [_tool(spec) for spec in offered]
    if request.final and entry.json_mode != "Off":
        made["response_format"] = _response_format(entry.json_mode)
    if entry.base_url:
        made["api_base"] = entry.base_url
    return made


def reply(response: Any, usage: messages.Usage) -> messages.ModelReply:
    """Read a completion; `usage` goes into the reply, or onto the error of a reply that was paid in vain.

    Raises:
        errors.ModelProtocolError: no choice, no content, or cut off at the token limit (faults.md 48).
        errors.ModelRefused: the content filter ended it.
    """
    choice = next(iter(_get(response, "choices") or ()), None)
    message = _get(choice, "message")
    if message is None:
        raise errors.ModelProtocolError("the reply holds no message", usage=usage)
    finish = str(_get(choice, "finish_reason") or "")[:64]
    text, calls = _text(message)[:REPLY_LENGTH], tuple(_calls(message))
    if finish == "content_filter" or (_refusal(message) and not text and not calls):
        raise errors.ModelRefused("the provider's content filter ended the reply", usage=usage)
    if finish == "length":
        words = "reply cut off: the limit of output tokens was reached"
        raise errors.ModelProtocolError(words, usage=usage)
    if not text.strip() and not calls:
        reasoned = _get(message, "reasoning_content")
        words = "the reply holds only reasoning" if reasoned else "the reply is empty"
        raise errors.ModelProtocolError(words, usage=usage)
    return messages.ModelReply(text=text, calls=calls, usage=usage, finish=finish)


def written(response: Any) -> int:
    """Bytes of text and calls in a completion: what its output tokens are estimated from."""
    message = _get(next(iter(_get(response, "choices") or ()), None), "message")
    if message is None:
        return 0
    parts = [
        _text(message),
        *(part for call in _calls(message) for part in (call.tool, call.arguments)),
    ]
    return sum(len(part.encode(errors="replace")) for part in parts)


def _check_history(history: Sequence[messages.Message]) -> None:
    """Providers refuse a history in which a call has no answer; better here than after a request."""
    open_calls: list[str] = []
    for message in history:
        if message.role is messages.Role.TOOL:
            if message.call_id not in open_calls:
                raise _broken(message.call_id, "has a result that no call asked for")
            open_calls.remove(message.call_id)
            continue
        if open_calls:
            raise _broken(open_calls[0], "has no result")
        open_calls = [call.id for call in message.calls]
    if open_calls:
        raise _broken(open_calls[0], "has no result")


def _broken(call: str, what: str) -> errors.ModelProtocolError:
    return errors.ModelProtocolError(
        f"call {call} in the conversation {what}; no request was sent. This is a fault of kubewhy"
    )


def _identity(entry: model_list.LiteLLMEntry) -> Callable[[str], str]:
    """How the provider is told of a call: by our own id, or by nine letters and digits where it insists on those."""
    if not entry.model.startswith(_SHORT_IDS):
        return str
    return lambda call: hashlib.sha256(call.encode()).hexdigest()[:9]


def _message(message: messages.Message, identity: Callable[[str], str]) -> dict[str, Any]:
    if message.role is messages.Role.TOOL:
        call = identity(message.call_id)
        return {"role": "tool", "tool_call_id": call, "content": message.text}
    made: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if message.calls:
        made["content"] = message.text or None
        made["tool_calls"] = [_made_call(call, identity(call.id)) for call in message.calls]
    return made


def _made_call(call: tools.ToolCall, identity: str) -> dict[str, Any]:
    function = {"name": call.tool or "unnamed", "arguments": call.arguments}
    return {"id": identity, "type": "function", "function": function}


def _offered(
    entry: model_list.LiteLLMEntry, request: messages.ModelRequest
) -> Sequence[tools.ToolSpec]:
    """The tools; one that is none where a provider takes no history of calls without tools."""
    if request.tools and not request.final:
        return request.tools
    called = any(message.calls for message in request.messages)
    return (_NOT_OFFERED,) if called and entry.model.startswith(_NEED_TOOLS) else ()


def _tool(spec: tools.ToolSpec) -> dict[str, Any]:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
    }
    return {"type": "function", "function": function}


def _response_format(mode: str) -> dict[str, Any]:
    if mode == "JsonObject":
        return {"type": "json_object"}
    schema = {"name": conclusion.CONCLUDE.name, "schema": dict(conclusion.CONCLUDE.parameters)}
    return {"type": "json_schema", "json_schema": schema}


def _text(message: Any) -> str:
    content = _get(message, "content")
    if isinstance(content, list):
        return "".join(str(_get(part, "text") or "") for part in content)
    return content if isinstance(content, str) else ""


def _calls(message: Any) -> Iterator[messages.RequestedCall]:
    native: Iterable[Any] = _get(message, "tool_calls") or ()
    functions = [_get(call, "function") for call in itertools.islice(native, MOST_CALLS)]
    legacy = _get(message, "function_call")
    for function in functions or ([legacy] if legacy else []):
        arguments = _get(function, "arguments")
        yield messages.RequestedCall(
            tool=str(_get(function, "name") or "")[:_TOOL_NAME_LENGTH],
            arguments=_raw(arguments)[: call_arguments.LONGEST + 1],
        )


def _raw(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else tools.canonical(arguments)


def _refusal(message: Any) -> bool:
    return bool(
        _get(message, "refusal") or _get(_get(message, "provider_specific_fields"), "refusal")
    )


def _get(value: Any, name: str) -> Any:
    """A field of one of LiteLLM's objects or dicts, None where it has none."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
