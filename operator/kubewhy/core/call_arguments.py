"""Arguments of a tool call: from the raw text of a model to values that fit the tool's schema.

Malformed arguments become a fault that is sent back to the model. They are never run as `{}` and
never repaired by guessing (design.md §7, faults.md 45).
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema
import referencing.exceptions

from kubewhy.core import jsontext, tools

LONGEST = 64 * 1024
"""Bytes of raw arguments that are read; longer ones are a fault."""

_REPORTED = 3
_SHOWN = 150
_EXACT = 2**53
"""Up to here a float holds every whole number."""
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n(?P<body>.*?)\n?\s*```\s*$", re.DOTALL)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][-+]?[0-9]{1,2})?")
_UNUSABLE = (
    jsonschema.exceptions.SchemaError,
    jsonschema.exceptions.UnknownType,
    referencing.exceptions.Unresolvable,
    re.error,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Either `values` (with perhaps a `note` on how they were read) or a `fault`, never both."""

    values: dict[str, Any] | None = None
    fault: str = ""
    note: str = ""


def parse(raw: str) -> Parsed:
    """Read raw arguments; JSON encoded twice, fenced or followed by prose is read and noted."""
    if len(raw.encode(errors="surrogatepass")) > LONGEST:
        return Parsed(fault=f"the arguments are longer than {LONGEST} bytes")
    if not raw.strip():
        return Parsed(
            fault="the arguments are empty; send a JSON object, {} where a tool needs none"
        )
    try:
        value, note = _value(raw)
    except ValueError as error:
        return Parsed(fault=f"the arguments can't be read: {error}")
    if not isinstance(value, dict):
        return Parsed(fault=f"the arguments must be a JSON object, not {_kind(value)}")
    return Parsed(values=json.loads(tools.canonical(value)), note=note)


def read(raw: str) -> tuple[dict[str, Any] | None, str]:
    """The arguments as a dict with sorted names, or `None` and the fault in words for the model."""
    parsed = parse(raw)
    return parsed.values, parsed.fault


def validate(
    values: Mapping[str, Any], schema: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, str]:
    """Fit values to a tool's JSON schema.

    Nulls of optional parameters are dropped and values coerced where nothing is lost ("5" → 5,
    "true" → true, 5 → "5"). Unknown names are refused unless the schema allows more.

    Returns:
        The fitted values and "", or `None` and a fault that names each wrong parameter.
    """
    strange = _unknown(values, schema)
    if strange:
        return None, strange
    fitted: dict[str, Any] = _fit(dict(values), schema)
    try:
        faults = _faults(fitted, schema)
    except _UNUSABLE as error:
        return None, f"the tool's own parameter schema is unusable: {_first_line(error)}"
    return (None, "; ".join(faults)) if faults else (fitted, "")


def _value(raw: str) -> tuple[Any, str]:
    fenced = _FENCE.match(raw)
    notes = ["fenced"] if fenced else []
    value, rest = jsontext.decode(fenced["body"] if fenced else raw)
    if rest.lstrip(" \t\r\n,").startswith(("{", "[")):
        raise ValueError("more than one JSON value")
    if rest.strip():
        notes.append("followed by text, which was ignored")
    if isinstance(value, str) and value.strip():
        notes.append("encoded twice")
        value, rest = jsontext.decode(value)
        if rest.strip():
            raise ValueError("text after the JSON inside a string")
    return value, f"arguments were {' and '.join(notes)}" if notes else ""


def _kind(value: object) -> str:
    names = {type(None): "null", bool: "a boolean", str: "text", list: "a list"}
    return names.get(type(value), "a number")


def _unknown(values: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    known = schema.get("properties", {})
    if schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        return ""
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name[:64], known, n=1)
            hint = f" (meant {near[0]!r}?)" if near else ""
            names = ", ".join(sorted(known)[:40]) or "none"
            return f"unknown parameter {name[:64]!r}{hint}; the tool's parameters are: {names}"
    return ""


def _faults(values: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    # An own, empty registry: the default one would fetch a remote $ref over the network.
    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    errors = sorted(validator.iter_errors(values), key=lambda error: error.json_path)
    return [_fault(error) for error in errors[:_REPORTED]]


def _fault(error: jsonschema.exceptions.ValidationError) -> str:
    place = error.json_path.removeprefix("$").removeprefix(".")
    if error.validator == "required":
        return f"parameter {_missing(error)!r} is required"
    text = error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]} …"
    return f"parameter {place!r}: {text}" if place else text


def _missing(error: jsonschema.exceptions.ValidationError) -> str:
    place = error.json_path.removeprefix("$").removeprefix(".")
    required: Any = error.validator_value
    given: Any = error.instance
    absent = next(name for name in required if name not in given)
    return f"{place}.{absent}" if place else str(absent)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _fit(value: Any, schema: Any) -> Any:
    """`value` with nulls dropped and lossless coercions made, as deep as the schema tells types."""
    if not isinstance(schema, Mapping):
        return value
    value = _coerce(value, _types(schema))
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            name: _fit(item, known.get(name, others))
            for name, item in value.items()
            if item is not None or name in schema.get("required", ())
        }
    if isinstance(value, list):
        return [_fit(item, schema.get("items")) for item in value]
    return value


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_declared(schema)))


def _declared(schema: Mapping[str, Any]) -> Iterator[str]:
    declared = schema.get("type", ())
    yield from (declared,) if isinstance(declared, str) else declared
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if isinstance(branch, Mapping):
            yield from _declared(branch)


def _coerce(value: Any, types: tuple[str, ...]) -> Any:
    for name in types:
        if name in _FITS and _FITS[name](value):
            return _whole(value) if name == "integer" else value
    for name in types:
        coerced = _COERCIONS[name](value) if name in _COERCIONS else None
        if coerced is not None:
            return coerced
    return value


def _whole(value: Any) -> Any:
    return int(value) if abs(value) < _EXACT else value


def _to_integer(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else None


def _to_number(value: Any) -> float | None:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    whole = _to_integer(value)
    return float(value) if whole is None else whole


def _to_boolean(value: Any) -> bool | None:
    words = {"true": True, "True": True, "false": False, "False": False}
    return words.get(value) if isinstance(value, str) else None


def _to_string(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _to_container(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        try:
            inner, rest = jsontext.decode(value) if isinstance(value, str) else (None, "")
        except ValueError:
            return None
        return inner if isinstance(inner, kind) and not rest.strip() else None

    return convert


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
_COERCIONS: Mapping[str, Callable[[Any], Any]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "string": _to_string,
    "array": _to_container(list),
    "object": _to_container(dict),
}
