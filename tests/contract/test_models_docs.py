"""docs/models.md says what the model list takes: every field, and an example that is valid."""

import re
from pathlib import Path

from kubewhy.core import model_list

TEXT = (Path(__file__).resolve().parents[2] / "docs/models.md").read_text(encoding="utf-8")


def test_the_example_is_a_valid_list() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    listed = model_list.read(example, source="docs/models.md")
    assert set(listed.entries) == {"default", "local", "rules", "triage"}


def test_every_field_has_a_row() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    fields = model_list.LiteLLMEntry.model_fields.items()
    assert {field.alias or name for name, field in fields} <= rows


def test_the_defaults_are_those_of_the_code() -> None:
    stated = dict(re.findall(r"^\| `(\w+)` \|.*\| `?(\w+)`? \|$", TEXT, re.MULTILINE))
    fields = model_list.LiteLLMEntry.model_fields
    for name in ("context_tokens", "attempts", "timeout_seconds", "json_mode"):
        assert stated[fields[name].alias or name] == str(fields[name].default)


def test_every_parameter_is_named() -> None:
    for name in model_list.PARAMETERS:
        assert f"`{name}`" in TEXT
