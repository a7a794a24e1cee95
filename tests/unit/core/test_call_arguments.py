"""Raw arguments in, canonical values or a fault out. Nothing is mocked."""

import json
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from kubewhy.core import call_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tail": {"type": "integer", "minimum": 1, "maximum": 1000},
        "previous": {"type": "boolean"},
        "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "ports": {"type": "array", "items": {"type": "integer"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ('{"a": 1', "not valid JSON: Expecting ',' delimiter at character 7"),
        ("", "empty"),
        (" \n", "empty"),
        ("null", "not null"),
        ("[]", "not a list"),
        ("[1]", "not a list"),
        ("5", "not a number"),
        ("true", "not a boolean"),
        ('"hello"', "not valid JSON"),
        ('""', "not text"),
        ('"null"', "not null"),
        ("kind=Pod", "not valid JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ('{"a": 1}{"b": 2}', "more than one"),
        ('{"a": 1},\n[2]', "more than one"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\ud800": 1}', "surrogate"),
        ('{"a": "x\\u0000"}', "NUL"),
        ('{"a": ' + "9" * 5000 + "}", "64 bits"),
        ('{"a": 9223372036854775808}', "64 bits"),
        ("[" * 40_000, "nested deeper"),
        ('{"a":' * 33 + "1" + "}" * 33, "nested deeper"),
        ('{"a": "' + "x" * 65_536 + '"}', "longer than 65536 bytes"),
        ('{"a": "' + "ü" * 33_000 + '"}', "longer than 65536 bytes"),
    ],
)
def test_malformed_arguments_are_a_fault_and_never_empty_values(raw: str, fault: str) -> None:
    values, words = call_arguments.read(raw)
    assert values is None
    assert fault in words
    assert len(words) < 300


@pytest.mark.parametrize(
    ("raw", "values", "note"),
    [
        ("{}", {}, ""),
        (' {"b": 1, "a": "x"} ', {"a": "x", "b": 1}, ""),
        ('"{\\"a\\": 1}"', {"a": 1}, "encoded twice"),
        ('{"a": 1} I will wait for it.', {"a": 1}, "followed by text"),
        ('{"a": 1}}', {"a": 1}, "followed by text"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "fenced"),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, ""),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}, ""),
        ('{"a":' * 31 + "{}" + "}" * 31, json.loads('{"a":' * 31 + "{}" + "}" * 31), ""),
    ],
)
def test_what_is_readable_without_guessing_is_read_and_noted(
    raw: str, values: Any, note: str
) -> None:
    parsed = call_arguments.parse(raw)
    assert parsed.values == values
    assert parsed.fault == ""
    assert note in parsed.note
    assert bool(note) == bool(parsed.note)


@pytest.mark.parametrize(
    ("given", "fitted"),
    [
        ({"name": "x", "tail": "5"}, {"name": "x", "tail": 5}),
        ({"name": "x", "tail": 5.0}, {"name": "x", "tail": 5}),
        ({"name": 5}, {"name": "5"}),
        ({"name": True}, {"name": "true"}),
        ({"name": "x", "previous": "True"}, {"name": "x", "previous": True}),
        ({"name": "x", "previous": "false"}, {"name": "x", "previous": False}),
        ({"name": "x", "ratio": "0.5"}, {"name": "x", "ratio": 0.5}),
        ({"name": "x", "ratio": None, "tail": None}, {"name": "x"}),
        ({"name": "x", "ports": '["80", 443]'}, {"name": "x", "ports": [80, 443]}),
        ({"name": "x", "labels": {"app": 5}}, {"name": "x", "labels": {"app": "5"}}),
        ({"name": "x", "labels": '{"app": "y"}'}, {"name": "x", "labels": {"app": "y"}}),
        ({"name": "5"}, {"name": "5"}),
    ],
)
def test_lossless_coercion(given: dict[str, Any], fitted: dict[str, Any]) -> None:
    values, fault = call_arguments.validate(given, SCHEMA)
    assert fault == ""
    assert values == fitted
    assert [type(value) for value in values.values()] == [type(value) for value in fitted.values()]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "parameter 'name' is required"),
        ({"name": None}, "'name'"),
        (
            {"nam": "x"},
            "unknown parameter 'nam' (meant 'name'?); the tool's parameters are: labels, name",
        ),
        ({"name": "x", "tail": "abc"}, "parameter 'tail': 'abc' is not of type 'integer'"),
        ({"name": "x", "tail": "05"}, "parameter 'tail'"),
        ({"name": "x", "tail": "5.5"}, "parameter 'tail'"),
        ({"name": "x", "tail": 5.5}, "parameter 'tail'"),
        ({"name": "x", "tail": True}, "parameter 'tail'"),
        ({"name": "x", "tail": 0}, "parameter 'tail': 0 is less than the minimum of 1"),
        ({"name": "x", "tail": 1e300}, "parameter 'tail'"),
        ({"name": 1.5}, "parameter 'name'"),
        ({"name": "x", "previous": "yes"}, "parameter 'previous'"),
        ({"name": "x", "previous": 1}, "parameter 'previous'"),
        ({"name": "x", "ports": [80, "http"]}, "parameter 'ports[1]'"),
        ({"name": "x", "labels": {"app": ["y"]}}, "parameter 'labels.app'"),
        ({"name": ["x" * 5000]}, "parameter 'name'"),
    ],
)
def test_a_misfit_names_its_parameter(given: dict[str, Any], named: str) -> None:
    values, fault = call_arguments.validate(given, SCHEMA)
    assert values is None
    assert named in fault
    assert len(fault) < 500


def test_a_nested_required_field_is_named_by_its_path() -> None:
    inner = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    schema = {"type": "object", "properties": {"subject": inner}}
    assert (
        call_arguments.validate({"subject": {}}, schema)[1]
        == "parameter 'subject.kind' is required"
    )
    values, fault = call_arguments.validate({"subject": {"kind": "Pod", "uid": None}}, schema)
    assert (values, fault) == ({"subject": {"kind": "Pod"}}, "")


def test_more_names_pass_only_where_the_schema_allows_them() -> None:
    assert call_arguments.validate({"x": 1}, {"type": "object"})[0] is None
    open_schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert call_arguments.validate({"x": "1"}, open_schema) == ({"x": 1}, "")


@pytest.mark.parametrize(
    "field",
    [
        {"$ref": "http://127.0.0.1:9/schema"},
        {"type": "nonsense"},
        {"type": "string", "pattern": "["},
    ],
)
def test_an_unusable_schema_is_a_fault_not_a_crash(field: dict[str, Any]) -> None:
    values, fault = call_arguments.validate(
        {"x": "1"}, {"type": "object", "properties": {"x": field}}
    )
    assert values is None
    assert "schema is unusable" in fault


@hypothesis.given(st.text(max_size=200))
def test_any_text_gives_values_or_a_fault(raw: str) -> None:
    values, fault = call_arguments.read(raw)
    assert (values is None) == bool(fault)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@hypothesis.given(st.dictionaries(st.text(max_size=5), _JSON, max_size=4))
def test_reading_is_idempotent(values: Any) -> None:
    raw = json.dumps(values)
    read, fault = call_arguments.read(raw)
    if read is None:
        assert "NUL" in fault or "surrogate" in fault
    else:
        assert read == values
        assert call_arguments.read(json.dumps(read)) == (read, "")


@hypothesis.given(
    st.dictionaries(st.sampled_from([*SCHEMA["properties"], "odd"]), _JSON, max_size=5)
)
def test_fitted_values_fit_again_unchanged(values: Any) -> None:
    fitted, fault = call_arguments.validate(values, SCHEMA)
    assert (fitted is None) == bool(fault)
    if fitted is not None:
        assert call_arguments.validate(fitted, SCHEMA) == (fitted, "")
