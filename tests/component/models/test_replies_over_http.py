"""What providers answer, through the real client stack (faults.md 45, 47 to 49, 53)."""

from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import convert
from kubewhy.core import messages, model_list, replies


async def test_text_calls_and_usage_arrive(asker: Any) -> None:
    before = asker.count("text and call")
    reply = await asker.ask("text and call")
    assert reply.text == "I look"
    assert reply.calls == (messages.RequestedCall(tool="look", arguments='{"at": "x"}'),)
    assert reply.finish == "tool_calls"
    # LiteLLM's own price list of gpt-4o: $2.50 in, $1.25 cached, $10 out per million tokens.
    assert reply.usage == messages.Usage(
        input_tokens=1000, output_tokens=100, cached_tokens=400, cost_micro_usd=1500 + 500 + 1000
    )
    assert asker.count("text and call") - before == 1


async def test_prices_of_the_list_go_before_the_map(asker: Any) -> None:
    prices = model_list.Prices(input=1_000_000, output=2_000_000, cached=500_000)
    reply = await asker.ask("text and call", prices=prices)
    assert reply.usage.cost_micro_usd == 600 + 200 + 200


async def test_an_unknown_model_costs_nothing_and_says_so(
    asker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await asker.ask("text and call", model="openai/my-own-model")
    assert reply.usage.cost_micro_usd == 0
    assert "no price is known for openai/my-own-model" in caplog.text


async def test_the_request_has_our_ids_and_one_result_per_call(asker: Any) -> None:
    await asker.ask("no usage")
    body = asker.body("no usage")
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    call, result = body["messages"][2]["tool_calls"][0], body["messages"][3]
    assert (call["id"], result["tool_call_id"]) == ("1-0", "1-0")
    assert body["tools"][0]["function"]["name"] == "look"
    assert body["model"] == "gpt-4o"


@pytest.mark.parametrize("turn", ["no usage", "negative usage"])
async def test_unusable_usage_is_estimated(asker: Any, turn: str) -> None:
    reply = await asker.ask(turn)
    assert reply.usage.input_tokens > 20
    assert reply.usage.output_tokens >= len(reply.text) // 4
    assert reply.usage.cost_micro_usd > 0


async def test_ten_megabytes_are_capped_and_their_usage_is_not(asker: Any) -> None:
    reply = await asker.ask("huge")
    assert len(reply.text) == convert.REPLY_LENGTH
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1_000_000, 500_000)


async def test_call_ids_of_the_provider_do_not_matter(asker: Any) -> None:
    reply = await asker.ask("twin calls")
    assert [call.arguments for call in reply.calls] == [f'{{"at": "{at}"}}' for at in "abcd"]
    assert len((await asker.ask("many calls")).calls) == 200


@pytest.mark.parametrize("turn", ["malformed arguments", "empty arguments", "null arguments"])
async def test_malformed_arguments_stay_a_fault(asker: Any, turn: str) -> None:
    (call,) = (await asker.ask(turn)).calls
    assert call.tool == "look"
    values, fault = replies.arguments(call.arguments)
    assert values is None
    assert fault


async def test_odd_calls_are_read(asker: Any) -> None:
    (call,) = (await asker.ask("object arguments")).calls
    assert replies.arguments(call.arguments) == ({"at": "x"}, "")
    assert (await asker.ask("nameless call")).calls[0].tool == ""
    (legacy,) = (await asker.ask("legacy call")).calls
    assert (legacy.tool, legacy.arguments) == ("look", '{"at": "x"}')


@pytest.mark.parametrize("turn", ["null tool calls", "empty tool calls", "missing tool calls"])
async def test_no_calls_in_any_form(asker: Any, turn: str) -> None:
    reply = await asker.ask(turn)
    assert (reply.text, reply.calls) == ("text", ())


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ("empty choices", "no message"),
        ("no choices", "no chat completion"),
        ("null message", "no chat completion"),
        ("null content", "empty"),
        ("only reasoning", "only reasoning"),
        ("cut off", "reply cut off"),
        ("odd body", "no chat completion"),
        ("bad JSON", "no chat completion"),
        ("HTML", "no chat completion"),
        ("error in 200", "refuses the request"),
    ],
)
async def test_an_unusable_reply_is_a_protocol_error_after_one_request(
    asker: Any, turn: str, words: str
) -> None:
    before = asker.count(turn)
    with pytest.raises(errors.ModelProtocolError, match=words):
        await asker.ask(turn)
    assert asker.count(turn) - before == 1


async def test_a_filtered_reply_is_a_refusal(asker: Any) -> None:
    with pytest.raises(errors.ModelRefused):
        await asker.ask("filtered")


@pytest.mark.parametrize("mode", ["Off", "JsonObject", "JsonSchema"])
async def test_the_last_step_offers_no_tools(asker: Any, mode: str) -> None:
    reply = await asker.ask("answer", final=True, jsonMode=mode)
    assert replies.read(reply, ()).conclusion == {"verdict": "Inconclusive", "summary": "s"}
    body = asker.body("answer")
    assert "tools" not in body
    wanted = {"Off": None, "JsonObject": "json_object", "JsonSchema": "json_schema"}[mode]
    assert body.get("response_format", {}).get("type") == wanted
