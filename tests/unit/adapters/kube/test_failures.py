from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.kube import failures

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
ASKED = failures.Request("PATCH", "/apis/x/v1/y/z/status")


def made(
    code: int, message: str = "", reason: str = "", *, headers: Any = None, **details: Any
) -> errors.ApiError:
    body = {"kind": "Status", "message": message, "reason": reason, "details": details}
    return failures.from_reply(
        ASKED, status=code, headers=headers or {}, body=json.dumps(body).encode(), now=NOW
    )


@pytest.mark.parametrize(
    ("code", "reason", "message", "kind"),
    [
        (400, "BadRequest", "bad", errors.ApiInvalid),
        (401, "Unauthorized", "no", errors.ApiUnauthorized),
        (403, "Forbidden", "no", errors.ApiForbidden),
        (404, "NotFound", 'pods "a" not found', errors.ApiNotFound),
        (405, "MethodNotAllowed", "no", errors.ApiInvalid),
        (406, "NotAcceptable", "no", errors.ApiInvalid),
        (409, "Conflict", "the object has been modified", errors.ApiConflict),
        (409, "AlreadyExists", "exists", errors.ApiAlreadyExists),
        (410, "Expired", "too old resource version", errors.ApiGone),
        (413, "RequestEntityTooLarge", "limit is 3145728", errors.ApiTooLarge),
        (415, "UnsupportedMediaType", "no", errors.ApiInvalid),
        (422, "Invalid", 'spec.mode: Unsupported value: "x"', errors.ApiInvalid),
        (422, "Invalid", "metadata.annotations: Too long: must have at most 262144 bytes", errors.ApiTooLarge),
        (422, "Invalid", "status.trace: Too many: 600: must have at most 500 items", errors.ApiTooLarge),
        (422, "Invalid", 'note: Invalid value: "": can have at most 1024 characters', errors.ApiTooLarge),
        (429, "TooManyRequests", "slow down", errors.ApiUnavailable),
        (500, "", "etcdserver: request is too large", errors.ApiTooLarge),
        (500, "", "code = ResourceExhausted desc = trying to send message larger than max", errors.ApiTooLarge),
        (500, "", "etcdserver: mvcc: database space exceeded", errors.ApiUnavailable),
        (500, "InternalError", "boom", errors.ApiUnavailable),
        (502, "", "bad gateway", errors.ApiUnavailable),
        (503, "ServiceUnavailable", "away", errors.ApiUnavailable),
        (504, "Timeout", "request timed out", errors.ApiUnavailable),
        (302, "", "elsewhere", errors.ApiUnavailable),
    ],
)  # fmt: skip
def test_each_answer_has_its_error(
    code: int, reason: str, message: str, kind: type[errors.ApiError]
) -> None:
    error = made(code, message, reason)
    assert type(error) is kind
    assert (error.status, error.reason) == (code, reason)
    assert str(error) == f"PATCH /apis/x/v1/y/z/status: {message}"


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("5", {}, 5.0),
        ("", {"retryAfterSeconds": 3}, 3.0),
        ("Mon, 30 Nov 2026 12:01:30 GMT", {}, 90.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", {}, 0.0),
        ("-4", {}, 0.0),
        ("soon", {}, None),
        ("", {}, None),
    ],
)
def test_the_told_pause_is_kept(header: str, details: Any, seconds: float | None) -> None:
    error = made(503, "away", headers={"Retry-After": header} if header else {}, **details)
    assert error.retry_after == seconds


def test_texts_are_one_bounded_line() -> None:
    error = made(400, "a\n  b\t" + "x" * 10_000)
    assert len(str(error)) == failures.MESSAGE_LENGTH
    assert ": a b xxx" in str(error)


@pytest.mark.parametrize("body", [b"<html>502</html>", b"\xff\xff", b"[" * 100_000, b"", b"[1]"])
def test_bodies_that_are_no_status_are_quoted_or_named_by_their_code(body: bytes) -> None:
    error = failures.from_reply(ASKED, status=502, headers={}, body=body, now=NOW)
    assert type(error) is errors.ApiUnavailable
    assert str(error).startswith("PATCH /apis/x/v1/y/z/status: ")
    assert len(str(error)) <= failures.MESSAGE_LENGTH
