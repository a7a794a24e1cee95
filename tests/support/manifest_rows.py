"""Valid and invalid manifests, derived from a CustomResourceDefinition's own schema.

For every constraint in a schema there is one row: a manifest that is valid but for this one place, the
field that the refusal must name, and the words it must use. For every bound there is also a manifest
exactly at it, which must be taken. What no rule here can violate shows up as missing (see `constraints`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]

RULES = "x-kubernetes-validations"
DESCRIPTIVE = frozenset(
    {
        "default",
        "description",
        "properties",
        "items",
        "additionalProperties",
        "x-kubernetes-list-map-keys",
    }
)
MAP_KEY = "key-0"

# For each pattern: a text of the given length that matches, and one that does not match.
PATTERNS: dict[str, tuple[Callable[[int], str], str]] = {
    r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$": (lambda n: "a" * n, "Not_A_Name"),
    r"^[A-Za-z0-9]([-A-Za-z0-9._/:]*[A-Za-z0-9])?$": (lambda n: "b" * n, "two words"),
    r"^[A-Za-z_][-A-Za-z0-9_]*$": (lambda n: "c" * n, "0starts_with_digit"),
    r"^[0-9]+-[0-9]+$": (lambda n: "1-" + "0" * (n - 2), "one"),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": (lambda n: "d" * n, "UPPER"),
    r"^[0-9a-f]{64}$": (lambda n: "e" * n, "g" * 64),
    r"^sha256:[0-9a-f]{64}$": (lambda n: "sha256:" + "f" * (n - 7), "sha512:" + "f" * 64),
    r"^[A-Z][A-Za-z0-9]*$": (lambda n: "G" * n, "lower case"),
    r"^[A-Za-z][-A-Za-z0-9]*$": (lambda n: "H" * n, "9Kind"),
    r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$": (lambda n: "v" + "1" * (n - 1), "apps/"),
    r"^[^/%]+$": (lambda n: "i" * n, "a/b"),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One manifest (or part of it), and what must come of it.

    `field` is the path that a refusal names; `says` are words of the refusal; both are empty for a
    manifest that must be taken.
    """

    path: Path
    constraint: str
    value: Any
    field: str = ""
    says: str = ""

    def __str__(self) -> str:
        return f"{dotted(self.path)} {self.constraint}"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A schema node and where it lies in a full manifest."""

    path: Path
    schema: Schema


def dotted(path: Path) -> str:
    """The path as the API server writes it: `spec.alerts[0].labels`."""
    written = ""
    for part in path:
        written += f"[{part}]" if isinstance(part, int) else f".{part}"
    return written.removeprefix(".")


def nodes(schema: Schema, path: Path) -> Iterator[Node]:
    """The schema node and all below it."""
    yield Node(path=path, schema=schema)
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, (*path, name))
    if "items" in schema:
        yield from nodes(schema["items"], (*path, 0))
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], (*path, MAP_KEY))


def constraints(schema: Schema, path: Path) -> set[tuple[str, str]]:
    """Every constraint as (path, key), read without regard to what `rows` can violate.

    Rules of the CEL language are named by their message, `required` by the field's name.
    """
    found: set[tuple[str, str]] = set()
    for node in nodes(schema, path):
        at = dotted(node.path)
        for key, value in node.schema.items():
            if key in DESCRIPTIVE or (key, value) in (
                ("format", "int64"),
                ("x-kubernetes-list-type", "atomic"),
            ):
                continue
            if key == RULES:
                found |= {(at, rule["message"]) for rule in value}
            elif key == "required":
                found |= {(at, f"required {name}") for name in value}
            else:
                found.add((at, key))
    return found


def full(schema: Schema) -> Any:
    """A valid value in which every field, list and map has something, and none its default."""
    kind = schema["type"]
    if kind == "object" and "additionalProperties" in schema:
        return {MAP_KEY: full(schema["additionalProperties"])}
    if kind == "object":
        return {name: full(child) for name, child in schema.get("properties", {}).items()}
    if kind == "array":
        return [full(schema["items"])]
    if kind == "integer":
        return schema.get("minimum", 0)
    if kind == "boolean":
        return False
    return text(schema, max(schema.get("minLength", 1), 1))


def text(schema: Schema, length: int) -> str:
    """A valid text, of that length where the schema leaves one open."""
    if "enum" in schema:
        return str(next(value for value in schema["enum"] if value != schema.get("default")))
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05Z"
    if "pattern" in schema:
        return PATTERNS[schema["pattern"]][0](length)
    return "x" * length


def put(whole: Any, path: Path, value: Any) -> Any:
    """A copy of `whole` with `value` at `path`."""
    if not path:
        return value
    changed = copy.copy(whole)
    changed[path[0]] = put(whole[path[0]], path[1:], value)
    return changed


def get(whole: Any, path: Path) -> Any:
    """What lies at `path`."""
    for part in path:
        whole = whole[part]
    return whole


def invalid(schema: Schema, path: Path) -> Iterator[Row]:
    """A row per constraint but the CEL rules, each with the whole value below `path`'s first part."""
    whole = full(schema)
    skip = len(path)
    for node in nodes(schema, path):
        here = get(whole, node.path[skip:])
        for key, bad, field, says in _violations(node, here):
            value = put(whole, node.path[skip:], bad)
            yield Row(path=node.path, constraint=key, value=value, field=field, says=says)


def at_bounds(schema: Schema, path: Path) -> Iterator[Row]:
    """A row per bound and enum value, each exactly at it."""
    whole = full(schema)
    skip = len(path)
    for node in nodes(schema, path):
        here = get(whole, node.path[skip:])
        for key, good in _limits(node.schema, here):
            value = put(whole, node.path[skip:], good)
            yield Row(path=node.path, constraint=key, value=value)


Violation = tuple[str, Any, str, str]

WRONG_TYPE: dict[str, Any] = {
    "string": 12,
    "integer": "twelve",
    "boolean": "perhaps",
    "array": "none",
    "object": "none",
}


def _violations(node: Node, here: Any) -> Iterator[Violation]:
    schema, at = node.schema, dotted(node.path)
    yield "type", WRONG_TYPE[schema["type"]], at, "must be of type"
    for key, violate in _VIOLATE.items():
        if key in schema:
            bad, says = violate(schema, here)
            yield key, bad, at, says
    for name in schema.get("required", ()):
        without = {key: value for key, value in here.items() if key != name}
        yield f"required {name}", without, f"{at}.{name}", "Required value"
    if schema.get("format") == "date-time":
        yield "format", "yesterday", at, "date-time"
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        yield "x-kubernetes-list-type", [*here, *here], f"{at}[1]", "Duplicate value"


def _long_text(schema: Schema, length: int) -> str:
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05." + "0" * (length - 21) + "Z"
    return text(schema, length)


def _many(schema: Schema, here: list[Any], count: int) -> list[Any]:
    """`count` items that differ where the list wants them to."""
    kind = schema["x-kubernetes-list-type"]
    if kind == "set":
        return [here[0] + str(number) for number in range(count)]
    if kind == "map":
        keys = schema["x-kubernetes-list-map-keys"]
        return [
            here[0] | {key: here[0][key] + str(number) for key in keys} for number in range(count)
        ]
    return [here[0]] * count


def _entries(schema: Schema, count: int) -> dict[str, Any]:
    value = full(schema["additionalProperties"])
    return {f"key-{number}": value for number in range(count)}


_VIOLATE: dict[str, Callable[[Schema, Any], tuple[Any, str]]] = {
    "minLength": lambda s, _: ("x" * (s["minLength"] - 1), "should be at least"),
    "maxLength": lambda s, _: (_long_text(s, s["maxLength"] + 1), "Too long"),
    "pattern": lambda s, _: (PATTERNS[s["pattern"]][1], "should match"),
    "enum": lambda _, __: ("Bogus", "Unsupported value"),
    "minimum": lambda s, _: (s["minimum"] - 1, "should be greater than or equal to"),
    "maximum": lambda s, _: (s["maximum"] + 1, "should be less than or equal to"),
    "maxItems": lambda s, v: (_many(s, v, s["maxItems"] + 1), "must have at most"),
    "minProperties": lambda _, __: ({}, "should have at least"),
    "maxProperties": lambda s, _: (_entries(s, s["maxProperties"] + 1), "must have at most"),
}


def _limits(schema: Schema, here: Any) -> Iterator[tuple[str, Any]]:
    for key, reach in _REACH.items():
        if key in schema:
            yield key, reach(schema, here)
    for value in schema.get("enum", ()):
        yield f"enum {value}", value


_REACH: dict[str, Callable[[Schema, Any], Any]] = {
    "minLength": lambda s, _: text(s, s["minLength"]),
    "maxLength": lambda s, _: _long_text(s, s["maxLength"]),
    "minimum": lambda s, _: s["minimum"],
    "maximum": lambda s, _: s["maximum"],
    "maxItems": lambda s, v: _many(s, v, s["maxItems"]),
    "maxProperties": lambda s, _: _entries(s, s["maxProperties"]),
}
