"""From a pydantic model to the structural schema that a CustomResourceDefinition takes.

pydantic speaks JSON Schema 2020-12; Kubernetes takes a subset of OpenAPI 3.0 in which every node has
one type, nothing is referenced, and absent is not null.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]

_DROPPED: Final = ("title", "examples", "discriminator", "$defs", "$ref", "anyOf", "allOf", "const")
_EXCLUSIVE: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_ORDER: Final = ("description", "type", "format", "default", "enum")
_LAST: Final = ("required", "properties", "items", "additionalProperties")


class UnsupportedSchemaError(TypeError):
    """A model uses a type that a structural schema cannot express."""


def structural(model: type[BaseModel], *, defaults: bool = True) -> Schema:
    """The structural schema of a model.

    Args:
        model: the pydantic model.
        defaults: whether defaults are written; a status must have none.

    Raises:
        UnsupportedSchemaError: the model has a float, a union, or a field of any type.
    """
    source = model.model_json_schema(by_alias=True, mode="validation")
    definitions = source.get("$defs", {})
    return _node(source, definitions, path=model.__name__, defaults=defaults)


def _node(node: Mapping[str, Any], definitions: Schema, *, path: str, defaults: bool) -> Schema:
    merged = _inlined(node, definitions, path=path)

    def below(child: Mapping[str, Any], name: str) -> Schema:
        return _node(child, definitions, path=f"{path}.{name}", defaults=defaults)

    out = {key: value for key, value in merged.items() if key not in _DROPPED}
    _fix_type(out, merged, path=path)
    _fix_numbers(out)
    _fix_default(out, keep=defaults)
    _fix_children(out, below)
    if "description" in out:
        out["description"] = paragraphs(out["description"])
    return _ordered(out)


def _inlined(node: Mapping[str, Any], definitions: Schema, *, path: str) -> Schema:
    """The node with its reference, its one-element allOf and its null alternative resolved.

    What stands beside a reference wins over what is referred to: a field's description is the better one.
    """
    base: Schema = {}
    for target in _targets(node, path=path):
        name = target.get("$ref", "").removeprefix("#/$defs/")
        resolved = definitions[name] if name else target
        base |= _inlined(resolved, definitions, path=path) | _without_ref(target)
    return base | dict(node)


def _targets(node: Mapping[str, Any], *, path: str) -> list[Mapping[str, Any]]:
    if "oneOf" in node or len(node.get("allOf", ())) > 1:
        raise UnsupportedSchemaError(f"{path}: a structural schema has no unions")
    union = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    if len(union) > 1:
        raise UnsupportedSchemaError(f"{path}: only a union with None can be expressed")
    targets = [*union, *node.get("allOf", ())]
    return [{"$ref": node["$ref"]}, *targets] if "$ref" in node else targets


def _without_ref(node: Mapping[str, Any]) -> Schema:
    return {key: value for key, value in node.items() if key not in ("$ref", "anyOf", "allOf")}


def _fix_type(out: Schema, merged: Mapping[str, Any], *, path: str) -> None:
    if "const" in merged:
        out["enum"] = [merged["const"]]
    kind = out.get("type")
    if kind == "number":
        raise UnsupportedSchemaError(f"{path}: floats are not allowed, use integer micro-units")
    if kind not in ("object", "array", "string", "integer", "boolean"):
        raise UnsupportedSchemaError(f"{path}: every field needs one type, this has {kind!r}")
    if kind == "integer":
        out["format"] = "int64"


def _fix_numbers(out: Schema) -> None:
    """OpenAPI 3.0 writes an exclusive bound as a number and a flag."""
    for flag, bound in _EXCLUSIVE.items():
        if flag in out:
            out[bound], out[flag] = out[flag], True


def _fix_default(out: Schema, *, keep: bool) -> None:
    """Drop null and empty-list defaults: absent means absent, and the API server refuses null."""
    default = out.get("default")
    if not keep or default is None or default == []:
        out.pop("default", None)


def _fix_children(out: Schema, below: Callable[[Mapping[str, Any], str], Schema]) -> None:
    if out.get("additionalProperties") is False:
        del out["additionalProperties"]
    if "additionalProperties" in out:
        out["additionalProperties"] = below(out["additionalProperties"], "*")
    if "items" in out:
        out["items"] = below(out["items"], "[]")
    if "properties" in out:
        out["properties"] = {name: below(child, name) for name, child in out["properties"].items()}


def paragraphs(description: str) -> str:
    """Lines of one paragraph joined, paragraphs kept apart."""
    blocks = description.strip().split("\n\n")
    return "\n\n".join(" ".join(block.split()) for block in blocks)


def _ordered(out: Schema) -> Schema:
    middle = sorted(key for key in out if key not in (*_ORDER, *_LAST))
    return {key: out[key] for key in (*_ORDER, *middle, *_LAST) if key in out}
