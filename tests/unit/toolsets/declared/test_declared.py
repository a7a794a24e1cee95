from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from kubewhy import errors
from kubewhy.core import ports, tools, toolset_files
from kubewhy.core.toolset_files import values
from kubewhy.toolsets import declared

FILE = """
format: kubewhy/v1
toolsets:
  orders:
    description: Orders
    llm_instructions: Look twice.
    prerequisites:
    - env: [ORDERS_URL]
    - command: orders --version
      expected_output: orders 2
    tools:
    - name: backlog
      description: Waiting orders
      effect: Read
      command: orders backlog {{ region }} --limit={{ limit }} {{ extra }}
      timeout_seconds: 7
      no_data_exit_codes: [4]
      parameters:
        region: {description: code}
        limit: {type: integer, default: 10}
        extra: {required: false, allow_leading_dash: true}
    - name: reset
      effect: Write
      command: orders reset
    - name: piped
      effect: Read
      command: orders | wc
"""


@dataclasses.dataclass
class Runner:
    """Answers with one result or failure; keeps what was run."""

    result: ports.ProcessResult | errors.ToolFailure
    runs: list[tuple[Sequence[str], Mapping[str, str], float]] = dataclasses.field(
        default_factory=list
    )

    async def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        limit_bytes: int = 1,
    ) -> ports.ProcessResult:
        assert limit_bytes > 0
        self.runs.append((argv, environment, timeout_seconds))
        if isinstance(self.result, errors.ToolFailure):
            raise self.result
        return self.result


def _ended(code: int, output: str = "", **more: Any) -> ports.ProcessResult:
    return ports.ProcessResult(exit_code=code, output=output, total_bytes=len(output), **more)


def _declaration(text: str = FILE) -> values.Declaration:
    return toolset_files.parse(textwrap.dedent(text), "f.yaml")[0]


async def _run(runner: Runner, tool: str = "backlog", **arguments: Any) -> tools.ToolOutput:
    environment = {"ORDERS_URL": "http://o", "KUBEWHY_WEBHOOK_TOKEN": "hidden", "PATH": "/odd"}
    toolset = declared.toolset(_declaration(), runner, environment=environment)
    chosen = next(found for found in toolset.tools if found.spec.name == tool)
    return await chosen.run(cast("ports.ToolContext", None), arguments)


async def test_a_call_runs_the_words_with_a_small_environment() -> None:
    runner = Runner(_ended(0, "42\n"))

    output = await _run(runner, region="eu west")

    argv, environment, timeout = runner.runs[0]
    assert argv == ("orders", "backlog", "eu west", "--limit=10")
    assert environment["ORDERS_URL"] == "http://o"
    assert "KUBEWHY_WEBHOOK_TOKEN" not in environment
    assert "PATH" not in environment
    assert timeout == 7
    assert output.status is tools.ToolStatus.SUCCESS
    assert output.text == "$ orders backlog 'eu west' --limit=10\n[exit code 0]\n42\n"
    assert "http://o" not in output.text


@pytest.mark.parametrize(
    ("result", "status", "text"),
    [
        (_ended(0), "NoData", "exit code 0"),
        (_ended(4, "none\n"), "NoData", "exit code 4"),
        (_ended(1, "boom\n"), "Error", "exit code 1]\nboom"),
        (_ended(2), "Error", "exit code 2"),
        (_ended(127), "Error", "exit code 127"),
        (_ended(137, "x"), "Error", "exit code 137"),
        (_ended(-9, "x"), "Error", "ended by signal 9 (SIGKILL)"),
        (_ended(-15, "half\n", timed_out=True), "TimedOut", "stopped after 7 s"),
        (_ended(1, 'Error from server (NotFound): pods "x" not found'), "NotFound", "exit code 1"),
        (_ended(1, "Error from server (Forbidden): no"), "Forbidden", "exit code 1"),
    ],
)
async def test_each_ending_is_told_apart(
    result: ports.ProcessResult, status: str, text: str
) -> None:
    output = await _run(Runner(result), region="eu")

    assert output.status == status
    assert text in output.text
    assert result.output in output.text


async def test_what_was_cut_is_counted() -> None:
    result = ports.ProcessResult(exit_code=0, output="x", total_bytes=10**8, truncated=True)

    output = await _run(Runner(result), region="eu")

    assert (output.total_bytes, output.truncated) == (10**8, True)


@pytest.mark.parametrize("region", ["-x", "--server=https://evil", " -oyaml", "a\0b"])
async def test_a_refused_value_starts_no_program(region: str) -> None:
    runner = Runner(_ended(0, "x"))

    with pytest.raises(errors.ToolFailure, match="region") as refused:
        await _run(runner, region=region)

    assert refused.value.status == "Refused"
    assert not runner.runs


async def test_a_parameter_may_take_dashes_where_it_says_so() -> None:
    runner = Runner(_ended(0, "x"))

    with pytest.raises(errors.ToolFailure, match="would become an option"):
        await _run(runner, region="eu", extra="--all")


async def test_a_missing_value_is_an_error_and_null_is_missing() -> None:
    with pytest.raises(errors.ToolFailure, match="region is missing"):
        await _run(Runner(_ended(0)), region=None)


def test_the_schema_says_what_is_required() -> None:
    spec = declared.toolset(_declaration(), Runner(_ended(0))).tools[0].spec

    assert spec.parameters["required"] == ["region"]
    assert spec.parameters["properties"]["limit"] == {
        "type": "integer",
        "description": "limit",
        "default": 10,
    }
    assert spec.parameters["additionalProperties"] is False
    assert spec.toolset == "orders"


def test_tools_that_change_things_say_so_and_those_that_need_a_shell_are_left_out() -> None:
    toolset = declared.toolset(_declaration(), Runner(_ended(0)))

    effects = {tool.spec.name: tool.spec.effect for tool in toolset.tools}
    assert effects == {"backlog": "Read", "reset": "Write"}
    assert "piped (needs review: it uses a pipe" in toolset.instructions
    assert toolset.problem == ""


def test_a_toolset_with_nothing_left_says_why() -> None:
    text = "toolsets: {a: {tools: [{name: t, command: a | b}]}}"

    toolset = declared.toolset(_declaration(text), Runner(_ended(0)))

    assert toolset.problem == "needs review: it uses a pipe, which needs a shell"
    assert toolset.tools == ()


@pytest.mark.parametrize(
    ("result", "environment", "problem"),
    [
        (_ended(0, "orders 2.1"), {"ORDERS_URL": "x"}, ""),
        (_ended(0, "orders 2.1"), {}, "the environment variable ORDERS_URL is not set"),
        (_ended(0, "orders 1.9"), {"ORDERS_URL": "x"}, "did not print 'orders 2'"),
        (_ended(3, "no licence"), {"ORDERS_URL": "x"}, "ended with 3: no licence"),
        (_ended(-9, "", timed_out=True), {"ORDERS_URL": "x"}, "did not end within 10 s"),
        (errors.ToolFailure("Error", "no program 'orders'"), {"ORDERS_URL": "x"}, "no program"),
    ],
)
async def test_a_prerequisite_that_does_not_hold_is_the_problem(
    result: ports.ProcessResult | errors.ToolFailure, environment: Mapping[str, str], problem: str
) -> None:
    toolset = await declared.checked(_declaration(), Runner(result), environment=environment)

    assert problem in toolset.problem
    assert bool(problem) == bool(toolset.problem)


async def test_a_switched_off_toolset_runs_nothing() -> None:
    text = """
    toolsets:
      a:
        prerequisites: [{enabled: false, disabled_reason: not here}, {command: x}]
        tools: [{name: t, command: a}]
    """
    runner = Runner(_ended(0))

    assert await declared.check(_declaration(text), runner) == "not here"
    assert not runner.runs
