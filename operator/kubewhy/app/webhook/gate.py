"""What a request must show before its body is read: a token, the media type, no encoding, a fitting length."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from http import HTTPStatus

from kubewhy.app.webhook import tokens

MEDIA_TYPE = "application/json"
_IDENTITY = "identity"


@dataclasses.dataclass(frozen=True, slots=True)
class Rejection:
    """The answer to a request that goes no further; the reason holds nothing of the request."""

    status: HTTPStatus
    reason: str


def check(headers: Mapping[str, str], *, valid: tokens.Tokens, body_bytes: int) -> Rejection | None:
    """None lets the request pass. The token is checked first, so strangers learn nothing else.

    `headers` looks names up whatever their case. No token configured means that none is asked for.
    """
    if valid and not valid.accept(headers.get("Authorization", "")):
        return Rejection(HTTPStatus.UNAUTHORIZED, "a valid bearer token is needed")
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        return Rejection(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the content type must be {MEDIA_TYPE}"
        )
    if headers.get("Content-Encoding", _IDENTITY).strip().lower() != _IDENTITY:
        return Rejection(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must not be compressed")
    length = headers.get("Content-Length", "0")
    if length.isascii() and length.isdigit() and int(length[:20]) > body_bytes:
        return too_large(body_bytes)
    return None


def too_large(body_bytes: int) -> Rejection:
    """The answer to a body over the limit."""
    return Rejection(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body may have at most {body_bytes} bytes"
    )
