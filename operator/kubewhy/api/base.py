"""The common base of all models, and the field helpers that carry bounds into the schema.

Python names are snake_case, manifest names camelCase with the acronyms Kubernetes writes in capitals
(`investigation_uid` is `investigationUID`). Unknown fields are ignored: an object written by a newer
version must stay readable.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo

from kubewhy.api import bounds

ACRONYMS: Final = frozenset({"uid", "url", "usd"})

ListType = Literal["atomic", "set", "map"]


def manifest_name(name: str) -> str:
    """The manifest's name of a Python attribute, e.g. `cost_micro_usd` → `costMicroUSD`."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.upper() if word in ACRONYMS else word.capitalize() for word in rest)


class ApiModel(BaseModel):
    """A frozen part of a manifest."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=manifest_name,
        populate_by_name=True,
        use_attribute_docstrings=True,
        extra="ignore",
    )

    def manifest(self) -> dict[str, Any]:
        """The JSON form: camelCase keys, plain strings for enums and times, absent for None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def _field(**arguments: Any) -> FieldInfo:
    return cast("FieldInfo", Field(**arguments))


def text(
    max_length: int, *, min_length: int | None = None, pattern: str | None = None
) -> FieldInfo:
    """Bounds of a string, in characters; `pattern` is read by RE2 and must be anchored."""
    return _field(max_length=max_length, min_length=min_length, pattern=pattern)


def integer(minimum: int = 0, maximum: int = bounds.INT_MAX) -> FieldInfo:
    """Bounds of an integer, both inclusive."""
    return _field(ge=minimum, le=maximum)


def items(
    max_items: int,
    *,
    min_items: int | None = None,
    kind: ListType = "atomic",
    keys: Sequence[str] = (),
) -> FieldInfo:
    """Bounds of a list. `kind` is its Kubernetes list type, `keys` the keys of a `map` list.

    `atomic` is the rule: one writer owns each list, and keyed lists cost a multiple of their size in
    managedFields.
    """
    extra: dict[str, Any] = {"x-kubernetes-list-type": kind}
    if keys:
        extra["x-kubernetes-list-map-keys"] = list(keys)
    return _field(max_length=max_items, min_length=min_items, json_schema_extra=extra)


def pairs(max_pairs: int, *, min_pairs: int | None = None, total: int) -> FieldInfo:
    """Bounds of a map of strings: its size, and the sum of the lengths of its keys and values."""
    extra: dict[str, Any] = {
        "x-kubernetes-validations": [
            {
                "rule": f"self.map(k, size(k) + size(self[k])).sum() <= {total}",
                "message": f"keys and values together must have at most {total} characters",
            }
        ]
    }
    return _field(max_length=max_pairs, min_length=min_pairs, json_schema_extra=extra)


def at_most_total(total: int) -> AfterValidator:
    """The model's half of `pairs(total=…)`."""

    def check(value: dict[str, str]) -> dict[str, str]:
        if sum(len(key) + len(text_) for key, text_ in value.items()) > total:
            msg = f"keys and values together must have at most {total} characters"
            raise ValueError(msg)
        return value

    return AfterValidator(check)


def unique(key: Callable[[Any], str] = str) -> AfterValidator:
    """The model's half of the list types `set` and `map`: no two items with the same key."""

    def check(value: tuple[Any, ...]) -> tuple[Any, ...]:
        seen = [key(item) for item in value]
        if len(set(seen)) != len(seen):
            msg = f"duplicate value among {', '.join(sorted(seen))[:200]}"
            raise ValueError(msg)
        return value

    return AfterValidator(check)


def _only_moments(value: object) -> object:
    """Numbers are no times, though pydantic reads them as seconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and "T" in value.upper()):
        return value
    msg = "a time is written as RFC 3339, such as 2026-08-03T09:41:17Z"
    raise ValueError(msg)


def _to_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        msg = "time is outside the years 1 to 9999 in UTC"
        raise ValueError(msg) from error


def rfc3339(value: datetime) -> str:
    """RFC 3339 in UTC, with as many digits of a second as it has: 0, 3 or 6."""
    spec = "seconds"
    if value.microsecond:
        spec = "microseconds" if value.microsecond % 1000 else "milliseconds"
    return value.isoformat(timespec=spec).replace("+00:00", "Z")


Time = Annotated[
    AwareDatetime,
    BeforeValidator(_only_moments),
    AfterValidator(_to_utc),
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": bounds.TIME}),
]
"""A moment with a zone, kept in UTC."""

NAME_PATTERN: Final = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
CATALOGUE_PATTERN: Final = r"^[A-Za-z0-9]([-A-Za-z0-9._/:]*[A-Za-z0-9])?$"
TOOL_PATTERN: Final = r"^[A-Za-z_][-A-Za-z0-9_]*$"
CALL_ID_PATTERN: Final = r"^[0-9]+-[0-9]+$"
REQUEST_ID_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SHA256_PATTERN: Final = r"^[0-9a-f]{64}$"
DIGEST_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"
CAMEL_PATTERN: Final = r"^[A-Z][A-Za-z0-9]*$"
KIND_PATTERN: Final = r"^[A-Za-z][-A-Za-z0-9]*$"
API_VERSION_PATTERN: Final = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$"
OBJECT_NAME_PATTERN: Final = r"^[^/%]+$"

Name = Annotated[str, text(bounds.NAME, min_length=1, pattern=NAME_PATTERN)]
CatalogueName = Annotated[str, text(bounds.CATALOGUE_NAME, min_length=1, pattern=CATALOGUE_PATTERN)]
ToolName = Annotated[str, text(bounds.TOOL_NAME, min_length=1, pattern=TOOL_PATTERN)]
CallId = Annotated[str, text(bounds.CALL_ID, min_length=3, pattern=CALL_ID_PATTERN)]
RequestId = Annotated[str, text(bounds.REQUEST_ID, min_length=1, pattern=REQUEST_ID_PATTERN)]
Sha256 = Annotated[str, text(bounds.SHA256_HEX, min_length=64, pattern=SHA256_PATTERN)]
Digest = Annotated[str, text(bounds.DIGEST, min_length=71, pattern=DIGEST_PATTERN)]
KindName = Annotated[str, text(bounds.KIND, min_length=1, pattern=KIND_PATTERN)]
ApiVersion = Annotated[str, text(bounds.API_VERSION, min_length=2, pattern=API_VERSION_PATTERN)]
ObjectName = Annotated[str, text(bounds.NAME, min_length=1, pattern=OBJECT_NAME_PATTERN)]
Count = Annotated[int, integer()]
