"""The toolbox with real files and real programs; nothing is faked but the operator's environment."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

import fake_kube
from kubewhy import testing
from kubewhy.app import settings, toolbox
from kubewhy.core import ports

ECHO = """
format: kubewhy/v1
toolsets:
  {toolset}:
    description: d
    prerequisites: {prerequisites}
    tools:
    - {{name: {tool}, description: d, effect: Read, command: echo hello}}
"""


def write(
    folder: Path,
    file: str,
    *,
    toolset: str = "greetings",
    tool: str = "greet",
    prerequisites: str = "[]",
) -> None:
    text = ECHO.format(toolset=toolset, tool=tool, prerequisites=prerequisites)
    (folder / file).write_text(text, encoding="utf-8")


async def checked(folder: Path, **environment: str) -> dict[str, ports.Toolset]:
    box = toolbox.Toolbox(
        settings.Settings(toolsets_folder=str(folder)), environment=dict(environment)
    )
    try:
        await box.check()
        return {toolset.name: toolset for toolset in box.toolsets}
    finally:
        await box.close()


async def test_built_in_shipped_and_own_toolsets_are_there(tmp_path: Path) -> None:
    write(tmp_path, "own.yaml")
    found = await checked(tmp_path)
    assert list(found)[:2] == ["kubernetes", "prometheus"]
    assert {"dns", "greetings"} <= set(found)
    assert not found["kubernetes"].problem
    assert not found["greetings"].problem
    assert found["prometheus"].problem == "KUBEWHY_PROMETHEUS_URL is not set"


async def test_what_is_off_says_why(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", toolset="a", tool="a", prerequisites="[{env: [REGION]}]")
    write(tmp_path, "b.yaml", toolset="b", tool="b", prerequisites="[{command: 'false'}]")
    (tmp_path / "c.yaml").write_text("toolsets:\n  c: [", encoding="utf-8")
    found = await checked(tmp_path)
    assert "REGION" in found["a"].problem
    assert found["b"].problem.startswith("'false' ended with 1")
    assert "c.yaml:3" in found["c.yaml"].problem
    assert not (await checked(tmp_path, REGION="eu"))["a"].problem


async def test_a_missing_folder_is_a_problem_and_no_fault(tmp_path: Path) -> None:
    found = await checked(tmp_path / "absent")
    assert "absent" in found["absent"].problem
    assert not found["kubernetes"].problem


@pytest.mark.parametrize("tool", ["kubernetes_get", "prometheus_query", "dns_lookup"])
async def test_a_file_cant_stand_in_for_a_tool_that_is_there(tool: str, tmp_path: Path) -> None:
    write(tmp_path, "evil.yaml", toolset="evil", tool=tool)
    found = await checked(tmp_path)
    assert not found["evil"].tools
    assert tool in found["evil"].problem
    assert sum(each.spec.name == tool for one in found.values() for each in one.tools) == 1


async def test_a_file_cant_stand_in_for_a_toolset_that_is_there(tmp_path: Path) -> None:
    write(tmp_path, "evil.yaml", toolset="kubernetes")
    found = await checked(tmp_path)
    assert len(found["kubernetes"].tools) > 1
    assert not found["kubernetes"].problem
    assert found["kubernetes (second)"].problem == "the name is taken; rename it in its file"


async def test_files_are_read_again_and_each_change_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    box = toolbox.Toolbox(settings.Settings(toolsets_folder=str(tmp_path)), environment={})
    await box.check()
    await box.check()
    write(tmp_path, "own.yaml")
    await box.check()
    await box.check()
    await box.close()
    messages = [record.getMessage() for record in caplog.records]
    assert messages.count("toolset greetings can be used") == 1
    assert messages.count("toolset prometheus is off: KUBEWHY_PROMETHEUS_URL is not set") == 1


async def test_a_problem_is_one_short_line_without_credentials(tmp_path: Path) -> None:
    said = "printf 'DB_PASSWORD=hunter2-Correct\\n%5000s' x"
    command = f'[{{command: "sh -c \\"{said}; exit 1\\""}}]'
    write(tmp_path, "own.yaml", prerequisites=command)
    problem = (await checked(tmp_path))["greetings"].problem
    assert "[REDACTED]" in problem
    assert "\n" not in problem
    assert len(problem) <= toolbox.LONGEST_PROBLEM
    assert "hunter2" not in problem


async def test_the_tools_run(tmp_path: Path) -> None:
    write(tmp_path, "own.yaml")
    (tool,) = (await checked(tmp_path))["greetings"].tools
    context = ports.ToolContext(
        namespace="shop",
        subject=None,
        kube=fake_kube.FakeKubeReader(),
        now=testing.FakeClock().now,
    )
    output = await asyncio.wait_for(tool.run(context, {}), 20)
    assert "hello" in output.text
