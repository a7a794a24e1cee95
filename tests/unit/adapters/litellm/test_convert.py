"""Messages to the OpenAI form and replies back, on plain values; LiteLLM itself is not loaded."""

from types import SimpleNamespace
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import convert
from kubewhy.core import call_arguments, conclusion, messages, model_list, tools

USAGE = messages.Usage(input_tokens=10, output_tokens=5, cost_micro_usd=7)
SPEC = tools.ToolSpec(
    name="look",
    description="looks",
    parameters={"type": "object", "properties": {}},
    toolset="t",
)


def entry(**fields: Any) -> model_list.LiteLLMEntry:
    return model_list.LiteLLMEntry(
        **{"name": "m", "provider": "litellm", "model": "openai/x"} | fields
    )


def said(text: str = "", *calls: str) -> messages.Message:
    made = tuple(tools.ToolCall(id=call, tool="look", arguments="{}") for call in calls)
    return messages.Message(role=messages.Role.ASSISTANT, text=text, calls=made)


def result(call: str) -> messages.Message:
    return messages.Message(role=messages.Role.TOOL, text=f"result {call}", call_id=call)


def payload(*history: messages.Message, final: bool = False, **fields: Any) -> dict[str, Any]:
    request = messages.ModelRequest(
        messages=history, tools=() if final else (SPEC,), final=final, max_output_tokens=99
    )
    return convert.payload(entry(**fields), request)


def completion(message: Any, finish: str = "stop") -> Any:
    return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason=finish)])


def message(**fields: Any) -> Any:
    return SimpleNamespace(**{"content": None, "tool_calls": None, "function_call": None} | fields)


def function(name: Any = "look", arguments: Any = "{}") -> Any:
    return SimpleNamespace(
        id="provider-1", function=SimpleNamespace(name=name, arguments=arguments)
    )


def test_a_conversation_keeps_our_ids_and_its_order() -> None:
    system = messages.Message(role=messages.Role.SYSTEM, text="rules")
    user = messages.Message(role=messages.Role.USER, text="why?")
    made = payload(
        system, user, said("I look", "1-0", "1-1"), result("1-0"), result("1-1"), said("so")
    )
    assert made["messages"] == [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "why?"},
        {
            "role": "assistant",
            "content": "I look",
            "tool_calls": [
                {"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}}
                for id_ in ("1-0", "1-1")
            ],
        },
        {"role": "tool", "tool_call_id": "1-0", "content": "result 1-0"},
        {"role": "tool", "tool_call_id": "1-1", "content": "result 1-1"},
        {"role": "assistant", "content": "so"},
    ]
    assert payload(said("", "1-0"), result("1-0"))["messages"][0]["content"] is None
    assert (made["model"], made["max_tokens"]) == ("openai/x", 99)
    assert "api_base" not in made
    assert "response_format" not in made


@pytest.mark.parametrize(
    "history",
    [
        (said("", "1-0"),),
        (said("", "1-0", "1-1"), result("1-0")),
        (said("", "1-0"), said("next")),
        (said("", "1-0"), result("1-0"), result("1-0")),
        (result("1-0"),),
        (said("", "1-0"), result("2-0")),
    ],
)
def test_a_history_without_exactly_one_result_per_call_is_not_sent(history: Any) -> None:
    with pytest.raises(errors.ModelProtocolError, match=r"call \d-\d .* no request was sent"):
        payload(*history)


def test_tools_are_offered_but_not_on_the_last_step() -> None:
    (tool,) = payload(said("x"))["tools"]
    assert tool["function"] == {
        "name": "look",
        "description": "looks",
        "parameters": {"type": "object", "properties": {}},
    }
    asked = (said("", "1-0"), result("1-0"))
    assert "tools" not in payload(*asked, final=True)
    # Bedrock takes no history of calls without tools.
    (stand_in,) = payload(*asked, final=True, model="bedrock/claude")["tools"]
    assert stand_in["function"]["name"] == "no_tool"
    assert "tools" not in payload(said("x"), final=True, model="bedrock/claude")


def test_json_is_asked_for_on_the_last_step_as_the_entry_says() -> None:
    assert "response_format" not in payload(said("x"), jsonMode="JsonObject")
    assert "response_format" not in payload(said("x"), final=True)
    asked = payload(said("x"), final=True, jsonMode="JsonObject")["response_format"]
    assert asked == {"type": "json_object"}
    schema = payload(said("x"), final=True, jsonMode="JsonSchema")["response_format"]
    assert schema["json_schema"]["schema"] == conclusion.CONCLUDE.parameters


def test_the_entrys_parameters_never_replace_ours() -> None:
    made = payload(
        said("x"), baseURL="http://vllm:8000/v1", parameters={"temperature": 0.5, "seed": 3}
    )
    assert (made["temperature"], made["seed"], made["api_base"]) == (0.5, 3, "http://vllm:8000/v1")


@pytest.mark.parametrize("absent", [None, []])
def test_text_without_calls(absent: Any) -> None:
    """faults.md 49: null, empty and missing behave alike."""
    found = convert.reply(completion(message(content="hi", tool_calls=absent)), USAGE)
    assert found == messages.ModelReply(text="hi", usage=USAGE, finish="stop")
    bare = completion(SimpleNamespace(content="hi"))
    assert convert.reply(bare, USAGE) == found


def test_calls_keep_their_raw_arguments() -> None:
    calls = [function(arguments='{"a"'), function(None, None), function("look", {"b": 1})]
    found = convert.reply(completion(message(tool_calls=calls), "tool_calls"), USAGE)
    assert [(call.tool, call.arguments) for call in found.calls] == [
        ("look", '{"a"'),
        ("", ""),
        ("look", '{"b":1}'),
    ]


def test_the_legacy_function_call_is_a_call() -> None:
    legacy = SimpleNamespace(name="look", arguments="{}")
    found = convert.reply(completion(message(function_call=legacy), "function_call"), USAGE)
    assert found.calls == (messages.RequestedCall(tool="look", arguments="{}"),)
    both = message(tool_calls=[function("other")], function_call=legacy)
    assert [call.tool for call in convert.reply(completion(both), USAGE).calls] == ["other"]


def test_a_huge_reply_is_capped() -> None:
    """faults.md 53: what is kept is bounded, and arguments that were cut can't be read as whole ones."""
    huge = '{"a": "' + "x" * 10_000_000 + '"}'
    calls = [function(arguments=huge)] * 2000
    found = convert.reply(completion(message(content="y" * 10_000_000, tool_calls=calls)), USAGE)
    assert len(found.text) == convert.REPLY_LENGTH
    assert len(found.calls) == convert.MOST_CALLS
    values, fault = call_arguments.read(found.calls[0].arguments)
    assert values is None
    assert "longer than" in fault


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (SimpleNamespace(choices=[]), "no message"),
        (SimpleNamespace(choices=None), "no message"),
        (SimpleNamespace(), "no message"),
        (completion(None), "no message"),
        (completion(message()), "empty"),
        (completion(message(content=" \n")), "empty"),
        (completion(message(reasoning_content="hm")), "only reasoning"),
        (completion(message(content='{"verdict"'), "length"), "reply cut off"),
        (completion(message(tool_calls=[function()]), "length"), "reply cut off"),
    ],
)
def test_an_unusable_reply_says_why_and_what_it_cost(response: Any, words: str) -> None:
    """faults.md 48."""
    with pytest.raises(errors.ModelProtocolError, match=words) as caught:
        convert.reply(response, USAGE)
    assert caught.value.usage == USAGE


@pytest.mark.parametrize(
    "response",
    [
        completion(message(content="half an ans"), "content_filter"),
        completion(message(), "content_filter"),
        completion(message(refusal="I can't help with that")),
        completion(message(provider_specific_fields={"refusal": "no"})),
    ],
)
def test_a_refusal_is_not_asked_again(response: Any) -> None:
    with pytest.raises(errors.ModelRefused) as caught:
        convert.reply(response, USAGE)
    assert caught.value.usage == USAGE


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, SimpleNamespace(text="b"), {"type": "image"}]
    assert convert.reply(completion(message(content=parts)), USAGE).text == "ab"


def test_written_counts_text_and_calls() -> None:
    assert (
        convert.written(completion(message(content="äb", tool_calls=[function("look", "{}")]))) == 9
    )
    assert convert.written(SimpleNamespace(choices=[])) == 0


def test_mistral_gets_ids_of_the_only_form_it_takes() -> None:
    made = payload(said("", "1-0", "12-34"), result("1-0"), result("12-34"), model="mistral/large")
    first, second = (call["id"] for call in made["messages"][0]["tool_calls"])
    assert [message["tool_call_id"] for message in made["messages"][1:]] == [first, second]
    assert first != second
    assert all(len(each) == 9 and each.isalnum() for each in (first, second))
