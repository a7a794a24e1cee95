"""The operator's model list (models.yaml): the names that `spec.model` may hold and what they mean.

    models:
      - name: default
        provider: litellm
        model: anthropic/claude-sonnet-4-5
        key: {env: ANTHROPIC_API_KEY}

`default` must be there. Without a file it is the built-in triage model, which needs no key and no
network. The name `triage` always means that model. Unknown names are an error, never another model.

Reading is pure: `read` takes the file's text. Keys are named here, never held.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

import pydantic
import yaml

from kubewhy import errors
from kubewhy.api import base

DEFAULT = "default"
TRIAGE = "triage"

LARGEST_FILE = 256 * 1024
"""Characters of a model list."""

DEFAULT_CONTEXT_TOKENS = 128_000

_Parameter = Literal[
    "api_version",
    "aws_region_name",
    "reasoning_effort",
    "seed",
    "service_tier",
    "temperature",
    "top_p",
    "vertex_location",
    "vertex_project",
]


PARAMETERS: tuple[str, ...] = get_args(_Parameter)
"""What `parameters` of an entry may name: nothing that could replace the key, the messages or the limits."""


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=base.manifest_name,
        use_attribute_docstrings=True,
        # A wrong value may be a key that was written where its name belongs.
        hide_input_in_errors=True,
    )


class Key(_Part):
    """Where the provider's key is read from, anew for each request, so that a rotated one is found."""

    env: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")] | None = None
    """The environment variable that holds it."""
    file: Annotated[str, pydantic.Field(pattern=r"^/", max_length=4096)] | None = None
    """The absolute path of a mounted file that holds it."""

    @pydantic.model_validator(mode="after")
    def _one(self) -> Key:
        if (self.env is None) == (self.file is None):
            raise ValueError("give either env (the name of a variable) or file (an absolute path)")
        return self


class Prices(_Part):
    """Whole micro-USD per million tokens: a price of $3.00 per million is 3000000."""

    input: Annotated[int, pydantic.Field(ge=0, le=10**12)]
    output: Annotated[int, pydantic.Field(ge=0, le=10**12)]
    cached: Annotated[int, pydantic.Field(ge=0, le=10**12)] | None = None
    """For input tokens that the provider had cached; `input` if absent."""


class TriageEntry(_Part):
    """The built-in rule-based model."""

    name: base.CatalogueName
    provider: Literal["triage"]


class LiteLLMEntry(_Part):
    """A hosted or self-hosted model behind LiteLLM."""

    name: base.CatalogueName
    provider: Literal["litellm"]
    model: Annotated[str, pydantic.Field(min_length=1, max_length=256, pattern=r"^[!-~]+$")]
    """LiteLLM's name of the model, with its provider: openai/gpt-4.1, ollama_chat/qwen3."""
    base_url: Annotated[str, pydantic.Field(max_length=2048)] | None = pydantic.Field(
        default=None, alias="baseURL"
    )
    """The server of a self-hosted or proxied model; the provider's own if absent."""
    key: Key | None = None
    """Absent: none is sent to `baseURL`; without `baseURL` the provider's own chain finds credentials."""
    context_tokens: Annotated[int, pydantic.Field(ge=1024, le=100_000_000)] = DEFAULT_CONTEXT_TOKENS
    """Size of the context window."""
    prices: Prices | None = None
    """In place of LiteLLM's price list; needed for models that it doesn't know, else they cost nothing."""
    attempts: Annotated[int, pydantic.Field(ge=1, le=10)] = 3
    """Most requests for one reply; nothing below kubewhy repeats any."""
    timeout_seconds: Annotated[int, pydantic.Field(ge=1, le=3600)] = 120
    """Most seconds for one reply, all attempts, pauses and fallbacks included."""
    json_mode: Literal["Off", "JsonObject", "JsonSchema"] = "Off"
    """How the last step asks for JSON: in words only, by JSON mode, or by a JSON schema."""
    fallbacks: Annotated[tuple[base.CatalogueName, ...], pydantic.Field(max_length=5)] = ()
    """Names of litellm entries to ask, in order, when this one can't be reached or refuses the key."""
    parameters: dict[_Parameter, str | int | pydantic.FiniteFloat] = {}
    """More parameters for LiteLLM."""

    @pydantic.field_validator("fallbacks", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @pydantic.field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str | None) -> str | None:
        try:
            parts = urlsplit(value or "http://none")
        except ValueError:
            raise ValueError("must be a valid URL") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http or https URL with a host")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("must have no user, password, query or fragment: keys belong in `key`")
        return value


Entry = TriageEntry | LiteLLMEntry


class _Document(_Part):
    models: Annotated[
        list[Annotated[Entry, pydantic.Field(discriminator="provider")]],
        pydantic.Field(min_length=1, max_length=100),
    ]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """All entries by name; `source` is the file's name for messages."""

    entries: Mapping[str, Entry]
    source: str = "the built-in model list"

    def get(self, name: str) -> Entry:
        """The entry of that name.

        Raises:
            errors.ConfigError: there is none; the text lists the known names.
        """
        entry = self.entries.get(name)
        if entry is None:
            known = ", ".join(sorted(self.entries))
            raise errors.ConfigError(
                f"model {name[:64]!r} is not in {self.source}; the known models are: {known}"
            )
        return entry

    def fallbacks(self, entry: LiteLLMEntry) -> tuple[LiteLLMEntry, ...]:
        """The entries that stand in for one, in order; their own fallbacks don't count."""
        found = (self.get(name) for name in entry.fallbacks)
        return tuple(other for other in found if isinstance(other, LiteLLMEntry))


def built_in() -> ModelList:
    """The list without a file: `default` and `triage`, both the triage model."""
    entries = (TriageEntry(name=name, provider="triage") for name in (DEFAULT, TRIAGE))
    return ModelList(entries={entry.name: entry for entry in entries})


def read(text: str, *, source: str) -> ModelList:
    """Read the text of a model list; `source` names it in messages.

    Raises:
        errors.ConfigError: it can't be used as written; the text names the file, each entry and field,
            and holds no value of the file.
    """
    if len(text) > LARGEST_FILE:
        raise errors.ConfigError(f"{source}: longer than {LARGEST_FILE} characters")
    document = _document(text, source)
    entries = document.models
    faults = [*_doubles(entries), *_missing(entries), *_fallback_faults(entries)]
    if faults:
        raise errors.ConfigError(f"{source}: {'; '.join(faults)}")
    named: dict[str, Entry] = {TRIAGE: TriageEntry(name=TRIAGE, provider="triage")}
    return ModelList(entries=named | {entry.name: entry for entry in entries}, source=source)


_TWICE = "a name stands twice in one mapping"


class _Loader(yaml.SafeLoader):
    """YAML without tags, refusing a name that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        values = super().construct_mapping(node, deep=deep)
        if len(values) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, _TWICE, node.start_mark)
        return values


def _document(text: str, source: str) -> _Document:
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - derived from the safe loader
    except yaml.MarkedYAMLError as error:
        # Not the parser's words: they quote the line, and a line may hold a key.
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        problem = _TWICE if error.problem == _TWICE else "not valid YAML"
        raise errors.ConfigError(f"{source}: line {line}: {problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise errors.ConfigError(f"{source}: not valid YAML") from None
    if not isinstance(value, dict):
        raise errors.ConfigError(f"{source}: must be a mapping with the list `models`")
    try:
        return _Document.model_validate(value)
    except pydantic.ValidationError as error:
        faults = "; ".join(_faults(error, value))
        raise errors.ConfigError(f"{source}: {faults}") from None


def _faults(error: pydantic.ValidationError, value: Mapping[str, Any]) -> Iterable[str]:
    for fault in error.errors(include_url=False, include_context=False, include_input=False)[:10]:
        place = [part for part in fault["loc"] if part not in ("litellm", "triage")]
        where = _entry_name(value, place[1]) if len(place) > 1 and place[0] == "models" else ""
        field = ".".join(str(part) for part in (place[2:] if where else place))
        message = fault["msg"].removeprefix("Value error, ")
        yield ": ".join(part for part in (where, field, message) if part)


def _entry_name(value: Mapping[str, Any], index: int | str) -> str:
    entries = value.get("models")
    entry = entries[index] if isinstance(entries, list) and isinstance(index, int) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    number = f"entry {index + 1}" if isinstance(index, int) else f"entry {index}"
    return f"{number} ({name[:64]!r})" if isinstance(name, str) else number


def _doubles(entries: list[Entry]) -> Iterable[str]:
    names = [entry.name for entry in entries]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"the name {name!r} stands {names.count(name)} times"
    for entry in entries:
        if entry.name == TRIAGE and entry.provider != TRIAGE:
            yield f"{TRIAGE!r} is the name of the built-in model; give the entry another one"


def _missing(entries: list[Entry]) -> Iterable[str]:
    if DEFAULT not in {entry.name for entry in entries}:
        yield f"no entry is named {DEFAULT!r}; it is what an Investigation without spec.model uses"


def _fallback_faults(entries: list[Entry]) -> Iterable[str]:
    usable = {entry.name for entry in entries if isinstance(entry, LiteLLMEntry)}
    for entry in entries:
        for name in entry.fallbacks if isinstance(entry, LiteLLMEntry) else ():
            if name not in usable - {entry.name}:
                yield f"{entry.name!r}: fallback {name!r} is no other entry of provider litellm"
