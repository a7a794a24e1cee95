from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from kubewhy.core import ports, tools
from kubewhy.toolsets import kubernetes

DOCS = Path(__file__).resolve().parents[4] / "docs" / "toolsets.md"
TOOLS = kubernetes.toolset().tools
GENERAL = [tool for tool in TOOLS if tool.spec.name != "kubernetes_first_look"]
"""first_look has tests of its own, in tests/unit/toolsets/first_look."""

CHARACTERS_PER_TOKEN = 4
MOST_TOKENS = 1500
"""Half of what all default toolsets and the prompt may cost together; it is paid again on every step."""


def test_schemas_and_instructions_stay_small() -> None:
    texts = [kubernetes.toolset().instructions]
    texts += [
        json.dumps([tool.spec.name, tool.spec.description, tool.spec.parameters]) for tool in TOOLS
    ]
    assert sum(map(len, texts)) / CHARACTERS_PER_TOKEN <= MOST_TOKENS


@pytest.mark.parametrize("tool", GENERAL, ids=lambda tool: tool.spec.name)
def test_each_tool_reads_and_describes_its_parameters(tool: ports.Tool) -> None:
    spec = tool.spec
    jsonschema.Draft202012Validator.check_schema(spec.parameters)
    assert spec.effect is tools.ToolEffect.READ
    assert spec.toolset == "kubernetes"
    assert re.fullmatch(r"kubernetes_[a-z_]{1,50}", spec.name)
    assert spec.parameters["additionalProperties"] is False
    for name, parameter in spec.parameters["properties"].items():
        assert re.fullmatch(r"[a-z_]+", name)
        assert parameter["description"], name
        if parameter["type"] == "integer":
            assert {"minimum", "maximum"} <= set(parameter), name


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.spec.name)
def test_each_tool_is_documented(tool: ports.Tool) -> None:
    assert f"`{tool.spec.name}`" in DOCS.read_text() or f"## {tool.spec.name}" in DOCS.read_text()
