"""The fields of a toolset file, as people write them."""

from __future__ import annotations

import re
from typing import Any, Literal

import pydantic

LONGEST_TIMEOUT = 600
"""Seconds; the most that a tool may ask for."""

_TOOL = r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


class Body(pydantic.BaseModel):
    """Strict about names; the reader decides which unknown ones are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class ParameterBody(Body):
    """A parameter of a tool."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] = "string"
    description: str = pydantic.Field("", max_length=1024)
    required: bool = True
    enum: list[str | int] | None = pydantic.Field(None, min_length=1, max_length=100)
    properties: dict[str, Any] | None = None
    items: dict[str, Any] | None = None
    default: str | int | float | bool | None = None
    allow_leading_dash: bool = False


class ArgumentBody(ParameterBody):
    """A parameter as an entry of the list `args`."""

    name: str


class ToolBody(Body):
    """A tool."""

    name: str = pydantic.Field(pattern=_TOOL)
    description: str = pydantic.Field("", max_length=2048)
    user_description: str = pydantic.Field("", max_length=512)
    parameters: dict[str, ParameterBody] = pydantic.Field(default_factory=dict, max_length=32)
    args: list[ArgumentBody] = pydantic.Field(default_factory=list, max_length=32)
    command: str | list[str] | None = None
    script: str | None = None
    timeout_seconds: int = pydantic.Field(60, ge=1, le=LONGEST_TIMEOUT)
    effect: Literal["Read", "Write"] | None = None
    no_data_exit_codes: list[int] = pydantic.Field(default_factory=list, max_length=16)
    icon_url: str | None = None
    transformers: list[Any] | None = None


class PrerequisiteBody(Body):
    """A prerequisite: one of `enabled`, `env` and `command`."""

    enabled: bool = True
    disabled_reason: str = pydantic.Field("", max_length=512)
    env: list[str] = pydantic.Field(default_factory=list, max_length=32)
    command: str | list[str] | None = None
    expected_output: str | None = None

    @pydantic.field_validator("env")
    @classmethod
    def _are_names(cls, names: list[str]) -> list[str]:
        for name in names:
            if not _VARIABLE.match(name):
                raise ValueError(f"{name!r} is no name of an environment variable")
        return names


class ToolsetBody(Body):
    """A toolset."""

    enabled: bool = True
    type: str | None = None
    subtype: str | None = None
    description: str = pydantic.Field("", max_length=2048)
    docs_url: str | None = None
    icon_url: str | None = None
    installation_instructions: str | None = None
    tags: list[str] | None = None
    llm_instructions: str | None = pydantic.Field(None, max_length=16384)
    prerequisites: list[PrerequisiteBody] = pydantic.Field(default_factory=list, max_length=16)
    config: dict[str, Any] | None = None
    approval_required_tools: list[str] = pydantic.Field(default_factory=list, max_length=100)
    expose_remotely: bool | None = None
    status_refresh_interval_seconds: int | None = None
    transformers: list[Any] | None = None
    restricted_tools: list[str] | None = None
    tools: list[ToolBody] = pydantic.Field(default_factory=list, max_length=200)
