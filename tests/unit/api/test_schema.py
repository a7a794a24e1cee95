"""The generator against the shapes pydantic makes, and against those it must refuse."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from kubewhy.api import schema
from kubewhy.api.values import Mode


class Inner(BaseModel):
    """An inner value."""

    count: int


class Sample(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")

    text: Annotated[str, Field(max_length=5, examples=["a"])] | None = None
    word: Literal["a"] = "a"
    mode: Mode = Mode.READ_ONLY
    inner: Inner | None = None
    """the field's
    own words

    in two paragraphs"""
    ratio: Annotated[int, Field(gt=0, lt=9)] = 3
    pairs: dict[str, Annotated[str, Field(max_length=3)]] = Field(default_factory=dict)
    many: tuple[Inner, ...] = ()


def made(model: type[BaseModel], name: str) -> dict[str, Any]:
    child: dict[str, Any] = schema.structural(model)["properties"][name]
    return child


def test_optional_becomes_absent_and_keeps_bounds() -> None:
    assert made(Sample, "text") == {"type": "string", "maxLength": 5}


def test_const_becomes_an_enum_of_one() -> None:
    assert made(Sample, "word") == {"type": "string", "default": "a", "enum": ["a"]}


def test_enums_are_inlined() -> None:
    assert made(Sample, "mode")["enum"] == ["ReadOnly", "Approve"]
    assert made(Sample, "mode")["default"] == "ReadOnly"


def test_references_are_inlined_and_the_fields_words_win() -> None:
    assert made(Sample, "inner") == {
        "description": "the field's own words\n\nin two paragraphs",
        "type": "object",
        "required": ["count"],
        "properties": {"count": {"type": "integer", "format": "int64"}},
    }


def test_exclusive_bounds_are_flags() -> None:
    assert made(Sample, "ratio") == {
        "type": "integer",
        "format": "int64",
        "default": 3,
        "exclusiveMaximum": True,
        "exclusiveMinimum": True,
        "maximum": 9,
        "minimum": 0,
    }


def test_maps_and_lists_have_their_items_schema() -> None:
    assert made(Sample, "pairs")["additionalProperties"] == {"type": "string", "maxLength": 3}
    assert made(Sample, "many")["items"]["required"] == ["count"]


def test_what_the_api_server_refuses_is_left_out() -> None:
    text = str(schema.structural(Sample))
    for word in ("title", "examples", "$ref", "$defs", "anyOf", "None"):
        assert word not in text
    assert "additionalProperties" not in schema.structural(Sample)


def test_a_status_has_no_defaults() -> None:
    without = schema.structural(Sample, defaults=False)
    assert all("default" not in child for child in without["properties"].values())


class WithFloat(BaseModel):
    cost: float


class WithUnion(BaseModel):
    either: int | str


class WithAny(BaseModel):
    anything: Any


class WithTagged(BaseModel):
    tagged: Annotated["A | B", Field(discriminator="kind")]


class A(BaseModel):
    kind: Literal["a"]


class B(BaseModel):
    kind: Literal["b"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (WithFloat, "WithFloat.cost: floats are not allowed"),
        (WithUnion, "WithUnion.either: only a union with None"),
        (WithAny, "WithAny.anything: every field needs one type"),
        (WithTagged, "WithTagged.tagged: a structural schema has no unions"),
    ],
)
def test_what_cannot_be_structural_is_refused(model: type[BaseModel], words: str) -> None:
    model.model_rebuild()
    with pytest.raises(schema.UnsupportedSchemaError, match=words):
        schema.structural(model)
