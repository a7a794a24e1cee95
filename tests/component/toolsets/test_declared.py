from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import repository
from kubewhy import errors
from kubewhy.adapters import subprocess_runner, toolset_folder
from kubewhy.core import ports, tools
from kubewhy.toolsets import declared

RESOLVER = Path("/etc/resolv.conf").read_text().strip()
SHIPPED = repository.ROOT / "toolsets"

ECHO = """
format: kubewhy/v1
toolsets:
  echo:
    tools:
    - {name: echo, effect: Read, command: "printf '%s|' {{ x }} end"}
"""


async def _run(folder: Path, tool: str, arguments: Mapping[str, Any]) -> tools.ToolOutput:
    contents = toolset_folder.read(folder)
    assert contents.problems == {}
    runner = subprocess_runner.SubprocessRunner()
    found = [await declared.checked(one, runner) for one in contents.declarations]
    assert [toolset.problem for toolset in found] == [""] * len(found)
    chosen = next(one for toolset in found for one in toolset.tools if one.spec.name == tool)
    return await chosen.run(cast("ports.ToolContext", None), arguments)


async def test_the_shipped_toolset_resolves_a_name() -> None:
    output = await _run(SHIPPED, "dns_lookup", {"host": "localhost"})

    assert output.status is tools.ToolStatus.SUCCESS
    assert "$ getent ahosts -- localhost\n[exit code 0]\n" in output.text
    assert "127.0.0.1" in output.text or "::1" in output.text


async def test_the_shipped_toolset_shows_the_resolver() -> None:
    output = await _run(SHIPPED, "dns_resolver_config", {})

    assert RESOLVER in output.text


def test_every_shipped_tool_says_what_its_parameters_mean() -> None:
    contents = toolset_folder.read(SHIPPED)

    assert contents.declarations
    for declaration in contents.declarations:
        assert declaration.notices == ()
        for tool in declaration.tools:
            assert tool.review == ""
            assert len(tool.description) > 20
            for parameter in tool.parameters:
                assert len(parameter.schema["description"]) > 10


@pytest.mark.parametrize(
    "value",
    ["; id", "$(id)", "`id`", "a\nb", "", "é🙂", "{{7*7}}", "{% raw %}", "%s %d", "'\"\\", "a  b"],
)
async def test_a_program_gets_a_hostile_value_as_one_word(tmp_path: Path, value: str) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)

    output = await _run(tmp_path, "echo", {"x": value})

    assert output.text.endswith(f"{value}|end|")


async def test_a_program_that_is_missing_is_the_toolsets_problem(tmp_path: Path) -> None:
    text = ECHO.replace("    tools:", "    prerequisites: [{command: no-such-program}]\n    tools:")
    (tmp_path / "echo.yaml").write_text(text)
    (declaration,) = toolset_folder.read(tmp_path).declarations

    toolset = await declared.checked(declaration, subprocess_runner.SubprocessRunner())

    assert "no-such-program" in toolset.problem


def test_a_bad_file_is_a_problem_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ECHO)
    (tmp_path / "b.yaml").write_text("toolsets: [\n")
    (tmp_path / "c.yml").write_bytes(b"\n\n\xff\xfe")
    (tmp_path / "d.yaml").write_text("#" * 5_000_000)
    (tmp_path / "e.yaml").write_text(ECHO.replace("  echo:", "  other:"))
    (tmp_path / "f.yaml").write_text(ECHO.replace("name: echo", "name: echo2"))
    (tmp_path / "g.txt").write_text("no toolset")
    (tmp_path / "h.yaml").mkdir()

    contents = toolset_folder.read(tmp_path)

    assert [declaration.name for declaration in contents.declarations] == ["echo"]
    assert set(contents.problems) == {"b.yaml", "c.yml", "d.yaml", "e.yaml", "f.yaml"}
    assert contents.problems["c.yml"] == "c.yml:3: this is not UTF-8"
    assert "512 KiB" in contents.problems["d.yaml"]
    assert "the tool 'echo' is in a.yaml already" in contents.problems["e.yaml"]
    assert "the toolset 'echo' is in a.yaml already" in contents.problems["f.yaml"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match=r"none can't be read: No such file"):
        toolset_folder.read(tmp_path / "none")
