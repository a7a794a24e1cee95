"""Replies in every form a model writes them, read into calls, text and answer. Nothing is mocked."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from kubewhy.core import messages, replies

OFFERED = {"kubernetes_get", "kubernetes_logs"}
POD = '{"kind": "Pod"}'


def read(text: str = "", calls: Sequence[tuple[str, str]] = ()) -> replies.Reading:
    requested = tuple(messages.RequestedCall(tool=tool, arguments=raw) for tool, raw in calls)
    return replies.read(messages.ModelReply(text=text, calls=requested), OFFERED)


def calls_of(text: str) -> list[tuple[str, Any]]:
    return [(call.tool, json.loads(call.arguments)) for call in read(text).calls]


def test_native_calls_pass_unchanged_and_win_over_the_text() -> None:
    reading = read(
        '<tool_call>{"name": "kubernetes_logs"}</tool_call>', [("Kubernetes_Get", '{"a"')]
    )
    assert reading.calls == (messages.RequestedCall(tool="Kubernetes_Get", arguments='{"a"'),)
    assert reading.conclusion is None


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}\n```',
        '```\n{"tool": "kubernetes_get", "args": {"kind": "Pod"}}\n```',
        'I look at it: {"name": "kubernetes_get", "parameters": {"kind": "Pod"}} and wait.',
        '{"function": "kubernetes_get", "input": {"kind": "Pod"}}',
        '{"action": "kubernetes_get", "action_input": {"kind": "Pod"}}',
        '{"name": "kubernetes_get", "arguments": "{\\"kind\\": \\"Pod\\"}"}',
        '[{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}]',
        '[TOOL_CALLS][{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}]',
        '{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "kubernetes_get", "arguments": "{\\"kind\\": \\"Pod\\"}"}}]}',  # noqa: E501
        '{"function_call": {"name": "kubernetes_get", "arguments": {"kind": "Pod"}}}',
        '<tool_call>\n{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}\n</tool_call>',
        'First\n<tool_call>{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}',
        "<tool_call>\n<function=kubernetes_get>\n<parameter=kind>\nPod\n</parameter>\n</function>\n</tool_call>",
        "<function=kubernetes_get><parameter=kind>Pod</parameter></function>",
        '<function=kubernetes_get>{"kind": "Pod"}</function>',
    ],
)
def test_a_call_in_the_text_is_found_and_taken_out_of_it(text: str) -> None:
    reading = read(text)
    assert calls_of(text) == [("kubernetes_get", {"kind": "Pod"})]
    assert "kubernetes_get" not in reading.text
    assert "```" not in reading.text
    assert reading.notes


def test_several_calls_keep_their_order_and_the_prose_around_them() -> None:
    text = (
        'One.\n```json\n{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}\n```\nTwo.\n'
        '{"name": "kubernetes_logs", "arguments": {"pod": "a"}}\nThree.'
    )
    assert calls_of(text) == [
        ("kubernetes_get", {"kind": "Pod"}),
        ("kubernetes_logs", {"pod": "a"}),
    ]
    assert read(text).text.split() == ["One.", "Two.", "Three."]
    tagged = (
        '<tool_call>{"name": "kubernetes_get", "arguments": {"kind": "Pod"}}</tool_call>'
        '<tool_call>{"name": "nonsense", "arguments": {}}</tool_call>'
    )
    assert calls_of(tagged) == [("kubernetes_get", {"kind": "Pod"}), ("nonsense", {})]


@pytest.mark.parametrize(
    "text",
    [
        "The Pod is fine.",
        '{"kind": "Pod", "metadata": {"name": "kubernetes_get"}}',
        'The manifest {"name": "checkout", "arguments": {"a": 1}} is quoted here.',
        "```yaml\nname: kubernetes_get\n```",
        '{"name": "kubernetes_get", "image": "x"}',
        '<think>I could call {"name": "kubernetes_get", "arguments": {}}</think> Nothing to do.',
        'so {"name": "kubernetes_get", "arguments": {}}</think> Nothing to do.',
        "kubernetes_get with arguments kind=Pod would help",
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    assert read(text).calls == ()


def test_a_lone_call_of_an_unknown_tool_is_kept_so_that_it_can_be_refused() -> None:
    assert calls_of('{"name": "delete_pod", "arguments": {"name": "x"}}') == [
        ("delete_pod", {"name": "x"})
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "kubernetes_get", "arguments": {"kind":}</tool_call>',
        '```json\n{"name": "kubernetes_get", "arguments": {"kind": "Pod", \n```',
        '{"name": "kubernetes_get"}',
        '<tool_call>{"name": "kubernetes_get"}</tool_call>',
        '{"name": "kubernetes_get", "arguments": null}',
        '{"name": "kubernetes_get", "arguments": [1]}',
    ],
)
def test_malformed_calls_in_text_keep_their_fault(text: str) -> None:
    (call,) = read(text).calls
    assert call.tool == "kubernetes_get"
    values, fault = replies.arguments(call.arguments)
    assert values is None
    assert fault


def test_an_answer_as_bare_json_is_the_conclusion() -> None:
    answer = {"verdict": "Inconclusive", "summary": "s"}
    assert read(json.dumps(answer)).conclusion == answer
    fenced = read(f"My answer:\n```json\n{json.dumps(answer)}\n```")
    assert (fenced.conclusion, fenced.text) == (answer, "My answer:")
    assert read(json.dumps({"conclusion": answer})).conclusion == answer
    draft = json.dumps({"verdict": "NoProblemFound", "summary": "draft"})
    assert read(f"{draft} no, better: {json.dumps(answer)}").conclusion == answer
    assert read('{"summary": "s", "root_cause": {"statement": "a"}}').conclusion


@pytest.mark.parametrize(
    "text",
    ['{"summary": "s", "image": "x"}', '{"status": "ok"}', "Inconclusive", '[{"verdict": "x"}]'],
)
def test_other_json_is_no_answer(text: str) -> None:
    assert read(text).conclusion is None


def test_a_conclude_call_is_the_answer_and_stays_a_call() -> None:
    raw = '{"verdict": "NoProblemFound", "summary": "fine"}'
    native = read("text", [("kubernetes_get", POD), ("conclude", raw)])
    assert native.conclusion == json.loads(raw)
    assert [call.tool for call in native.calls] == ["kubernetes_get", "conclude"]
    in_text = read(f'{{"name": "conclude", "arguments": {raw}}}')
    assert in_text.conclusion == json.loads(raw)
    assert [call.tool for call in in_text.calls] == ["conclude"]
    assert read("", [("conclude", raw[:-1])]).conclusion is None


def test_tolerant_reading_is_noted() -> None:
    notes = read("", [("kubernetes_get", json.dumps(POD)), ("kubernetes_logs", "{} ok")]).notes
    assert notes == (
        "kubernetes_get: arguments were encoded twice",
        "kubernetes_logs: arguments were followed by text, which was ignored",
    )
    assert read("", [("kubernetes_get", POD)]).notes == ()


def test_the_number_of_calls_is_bounded() -> None:
    assert len(read("", [("kubernetes_get", POD)] * 1000).calls) == replies.MOST_CALLS
    many = json.dumps([{"name": "kubernetes_get", "arguments": {}}] * 1000)
    assert len(read(many).calls) == replies.MOST_CALLS


@pytest.mark.parametrize("offered", [[], (), {"kubernetes_get"}])
def test_an_empty_reply_reads_as_nothing(offered: Any) -> None:
    assert replies.read(messages.ModelReply(), offered) == replies.Reading()


def test_a_plain_text_answer_is_read_as_far_as_it_goes() -> None:
    text = (
        "## Result\n**Root cause:** DB_HOST is unset in checkout-env.\n\nConfidence: High\n\n"
        '- [2-1] "RuntimeError: DB_HOST is unset"\n- `exitCode=1 reason=Error` (1-0)\n- "no call named"'
    )
    assert replies.plain(text) == {
        "summary": "DB_HOST is unset in checkout-env.",
        "rootCause": {
            "statement": "DB_HOST is unset in checkout-env.",
            "confidence": "High",
            "evidence": [
                {"call": "2-1", "quote": "RuntimeError: DB_HOST is unset"},
                {"call": "1-0", "quote": "exitCode=1 reason=Error"},
            ],
        },
    }
    assert (
        replies.plain("# Root Cause\n\nThe limit is too low.")["rootCause"]["statement"]
        == "The limit is too low."
    )
    assert replies.plain("I could not tell.") == {
        "summary": "I could not tell.",
        "verdict": "Inconclusive",
    }
    assert replies.plain("NoProblemFound: all replicas are ready")["verdict"] == "NoProblemFound"
    assert replies.plain(" \n") == {}


@pytest.mark.parametrize(
    "text",
    [
        "{" * 300_000,
        "[" * 300_000,
        '{"a":' * 60_000,
        "<tool_call>" * 20_000,
        "<function=x>" * 20_000,
        "<tool_call><function=x>" + "<parameter=x>" * 15_000,
        "<think>" * 40_000,
        "root cause" * 20_000,
        "\n" * 200_000,
        '"name":"kubernetes_get"' * 10_000,
        '"name":"kubernetes_get","arguments"' * 8_000,
        "`" * 100_000,
        '"a' * 60_000 + "1-0",
        "```json\n" * 30_000,
        " " * 200_000 + "x",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    read(text)
    replies.plain(text)
    assert time.process_time() - started < 2
