from __future__ import annotations

import textwrap
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewhy import errors
from kubewhy.core import tools, toolset_files
from kubewhy.core.toolset_files import values


def _parse(text: str, source: str = "orders.yaml") -> tuple[values.Declaration, ...]:
    return toolset_files.parse(textwrap.dedent(text), source)


OWN = """\
format: kubewhy/v1
toolsets:
  orders:
    description: Orders
    llm_instructions: Look twice.
    prerequisites:
    - env: [ORDERS_URL]
    - command: orders --version
      expected_output: orders
    tools:
    - name: backlog
      description: Waiting orders
      user_description: backlog of {{ region }}
      effect: Read
      command: orders backlog {{ region }}{% if since %} --since {{ since }}{% endif %}
      timeout_seconds: 5
      no_data_exit_codes: [4]
      parameters:
        region: {description: code, enum: [eu, us]}
"""


def test_the_own_format_is_read_in_full() -> None:
    (orders,) = _parse(OWN)
    (backlog,) = orders.tools

    assert (orders.name, orders.description, orders.instructions) == (
        "orders",
        "Orders",
        "Look twice.",
    )
    assert orders.variables == ("ORDERS_URL",)
    assert orders.prerequisites[1].expected_output == "orders"
    assert not orders.problem
    assert not orders.notices
    assert backlog.timeout_seconds == 5
    assert backlog.no_data == {4}
    assert backlog.effect is tools.ToolEffect.READ
    assert {parameter.name: parameter.required for parameter in backlog.parameters} == {
        "region": True,
        "since": False,
    }
    assert backlog.parameters[0].schema == {
        "type": "string",
        "description": "code",
        "maxLength": 4096,
        "enum": ["eu", "us"],
    }


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        (
            "    description: Orders",
            "    colour: red",
            "orders.yaml:4",
            "colour: this field is unknown",
        ),
        (
            "      timeout_seconds",
            "      timeout",
            "orders.yaml:16",
            "timeout: this field is unknown",
        ),
        (
            "{description: code,",
            "{describe: code,",
            "orders.yaml:19",
            "describe: this field is unknown",
        ),
        ("toolsets:", "toolset:", "orders.yaml:2", "'toolset' is unknown"),
        ("kubewhy/v1", "kubewhy/v9", "orders.yaml:1", "'kubewhy/v9' is unknown"),
        ("      effect: Read\n", "", "orders.yaml:11", "must say its effect"),
        ("effect: Read", "effect: Delete", "orders.yaml:14", "'Read' or 'Write'"),
        (
            "timeout_seconds: 5",
            "timeout_seconds: 0",
            "orders.yaml:16",
            "greater than or equal to 1",
        ),
        (
            "timeout_seconds: 5",
            "timeout_seconds: 601",
            "orders.yaml:16",
            "less than or equal to 600",
        ),
        ("- name: backlog\n      description", "- description", "orders.yaml:11", "Field required"),
        ("name: backlog", "name: back log", "orders.yaml:11", "pattern"),
        ("orders backlog {{ region }}", "orders 'backlog", "orders.yaml:15", "split into words"),
        ("  orders:\n", "  Orders!:\n", "orders.yaml:3", "no toolset name"),
        (
            "env: [ORDERS_URL]",
            "env: [ORDERS-URL]",
            "orders.yaml:7",
            "no name of an environment variable",
        ),
        ("orders --version", "orders {{ x }}", "orders.yaml:8", "can't have parameters"),
        (
            "    tools:",
            "    type: mcp\n    tools:",
            "orders.yaml:10",
            "type 'mcp' are not supported",
        ),
    ],
)
def test_a_fault_in_the_own_format_is_refused_with_file_and_line(
    old: str, new: str, place: str, message: str
) -> None:
    assert old in OWN

    with pytest.raises(errors.ConfigError) as refused:
        _parse(OWN.replace(old, new, 1))

    text = str(refused.value)
    assert text.startswith(f"{place}: ")
    assert message in text


HOLMES = """
toolsets:
  team/a:
    description: A
    docs_url: https://example.com
    icon_url: https://example.com/i.svg
    tags: [core]
    subtype: x
    config: {any: value}
    expose_remotely: false
    status_refresh_interval_seconds: 600
    transformers: [{name: llm_summarize, config: {input_threshold: 1000}}]
    llm_instructions: "Tools: {{ tool_names }}"
    approval_required_tools: ["restart_*"]
    tools:
    - name: list_a
      description: list
      command: a-cli list {{ region }}{% if namespace %} -n {{ namespace }}{% endif %}
      colour: red
      parameters:
        region: {type: string, describe: x}
        namespace:
    - name: restart_a
      command: a-cli restart {{ name }}
      args: [{name: name, description: which}]
    - name: piped
      command: a-cli list | wc -l
    - name: scripted
      script: |
        #!/bin/bash
        a-cli list
  team/b:
    color: red
  team/c:
    type: http
  team/d:
    enabled: false
    tools: [{name: d, command: d}]
mcp_servers:
  tickets: {config: {url: https://mcp.example.com}}
"""


def test_a_holmesgpt_file_is_read_with_what_can_be_used_of_it() -> None:
    found = {declaration.name: declaration for declaration in _parse(HOLMES, "h.yaml")}
    by_name = {tool.name: tool for tool in found["team/a"].tools}

    assert not found["team/a"].problem
    assert by_name["list_a"].review == ""
    assert {one.name: one.required for one in by_name["list_a"].parameters} == {
        "region": True,
        "namespace": True,
    }
    assert by_name["restart_a"].effect is tools.ToolEffect.WRITE
    assert by_name["restart_a"].parameters[0].schema["description"] == "which"
    assert "a pipe, which needs a shell" in by_name["piped"].review
    assert "is a script, which needs a shell" in by_name["scripted"].review
    assert found["team/b"].problem.startswith("h.yaml:33: color: this field is unknown")
    assert "type 'http' are not supported" in found["team/c"].problem
    assert found["team/d"].prerequisites[0].off
    assert found["tickets"].problem.startswith("h.yaml:40: MCP servers are not supported")


def test_what_is_passed_over_is_said_with_file_and_line() -> None:
    notices = "\n".join(_parse(HOLMES, "h.yaml")[0].notices)

    assert "h.yaml:19: 'colour' is unknown and passed over" in notices
    assert "h.yaml:21: 'describe' is unknown and passed over" in notices
    assert "transformers are passed over" in notices
    assert "llm_instructions are not rendered" in notices


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("toolsets: !!python/object/apply:os.system [id]", "1: the tag .*python.* is not allowed"),
        ("toolsets:\n  a: !!python/name:os.system\n", "2: the tag"),
        ("toolsets: !include x", "1: the tag !include is not allowed"),
        ("a: &a [1]\nb: *a\n", r"2: the alias \*a"),
        ("toolsets:\n- name: a\n", "1: toolsets must map names"),
        ("- a\n", "has `toolsets:` at its top"),
        ("text", "has `toolsets:` at its top"),
        ("toolsets:\n  a: {}\n  b: {}\n  a: {}\n", "4: 'a' stands here for the second time"),
        ("toolsets: {}\n---\ntoolsets: {}\n", "2: a second document"),
        ("toolsets: [", r"\d: "),
        ("? [a, b]\n: c\n", "1: a name must be a plain word"),
        ("a: {b: \t- c", r"\d: "),
        ("toolsets: \x00", r"\d: "),
        ("[" * 3000, r"\d: "),
        (
            "toolsets:\n" + "\n".join(" " * i + "a:" for i in range(1, 200)),
            "nested more than 32 deep",
        ),
        ("toolsets: [" + "1," * 60_000 + "]", "more than 50000 values"),
        (f"# {'x' * 5_000_000}", "1: the file is longer than 512 KiB"),
        (
            "toolsets:\n  a: {tools: [{name: t, command: c}]}\n  b: {tools: [{name: t, command: c}]}\n",
            "3: the tool 't' is in a already",
        ),
    ],
)
def test_a_file_that_can_not_be_used_is_refused_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=rf"^f\.yaml:.*{message}|^f\.yaml:{message}"):
        toolset_files.parse(text, "f.yaml")


def test_an_alias_bomb_costs_nothing() -> None:
    levels = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    started = time.process_time()

    with pytest.raises(errors.ConfigError, match=r"f.yaml:2: the alias"):
        toolset_files.parse("\n".join(["a0: &a0 [x]", *levels]), "f.yaml")

    assert time.process_time() - started < 1


@pytest.mark.parametrize("text", ["", "# nothing\n", "toolsets:\n", "toolsets: {}\n"])
def test_an_empty_file_declares_nothing(text: str) -> None:
    assert toolset_files.parse(text, "f.yaml") == ()


@given(st.text(max_size=200) | st.text(alphabet="toolse:{}[]-&*!|>%'\"\n \tab0.~", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        toolset_files.parse(text, "f.yaml")
    except errors.ConfigError as error:
        assert str(error).startswith("f.yaml:")  # noqa: PT017 - both outcomes are right
