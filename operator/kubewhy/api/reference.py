"""The tables of docs/spec/investigation.md, made from the schema and the reasons."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kubewhy.api import conditions, schema

_RANGES: Final = (
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " entries"),
    ("minimum", "maximum", ""),
)


def field_table(root: schema.Schema, *, prefix: str) -> str:
    """A Markdown table with a row per field below `prefix`, at any depth."""
    rows = [_row(path, node) for path, node in fields(root, prefix=prefix)]
    return "\n".join(("| field | type | meaning |", "|---|---|---|", *rows)) + "\n"


def fields(node: schema.Schema, *, prefix: str) -> Iterator[tuple[str, schema.Schema]]:
    """Every named field below a schema node, as (`spec.alerts[].status`, its node)."""
    for name, child in node.get("properties", {}).items():
        path = f"{prefix}.{name}"
        yield path, child
        yield from fields(child, prefix=path)
        if "items" in child:
            yield from fields(child["items"], prefix=f"{path}[]")


def reason_table(type_: conditions.ConditionType) -> str:
    """A Markdown table of one condition's reasons."""
    rows = [
        f"| `{reason.value}` | {reason.status.value} | {reason.doc} |"
        for reason in conditions.REASONS[type_]
    ]
    return "\n".join(("| reason | status | meaning |", "|---|---|---|", *rows)) + "\n"


def condition_sections() -> str:
    """A heading per condition with what True means and its reasons."""
    sections = [
        f"### {type_.value}\n\n{type_.doc}\n\n{reason_table(type_)}"
        for type_ in conditions.ConditionType
    ]
    return "\n".join(sections)


def _row(path: str, node: schema.Schema) -> str:
    meaning = " ".join(node.get("description", "").split())
    notes = "; ".join(_notes(node))
    return f"| `{path}` | {_type(node)} | {meaning}{f' ({notes})' if notes else ''} |"


def _type(node: schema.Schema) -> str:
    if node["type"] == "array":
        return f"list of {_type(node['items'])}"
    if "additionalProperties" in node:
        return f"map of {_type(node['additionalProperties'])}"
    return "time" if node.get("format") == "date-time" else str(node["type"])


def _notes(node: schema.Schema) -> Iterable[str]:
    if "enum" in node:
        yield "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    if node.get("format") != "date-time":
        for least, most, unit in _RANGES:
            if most in node:
                yield f"{node.get(least, 0)} to {node[most]}{unit}"
    if "pattern" in node:  # a bar would end the table's cell
        yield "`{}`".format(node["pattern"].replace("|", "\\|"))
    if node.get("default") not in (None, {}):
        yield f"default `{_written(node['default'])}`"


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
