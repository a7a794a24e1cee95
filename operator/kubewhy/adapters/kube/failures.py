"""Maps what the API server answered, or why it did not, to `kubewhy.errors`.

The table is kubernetes-api.md §2.3 of the reference. Size faults come as 413, 422 and 500 alike, so they are told by
their message: repeating them as if they were ordinary 5xx would never end.
"""

from __future__ import annotations

import dataclasses
import datetime
import email.utils
import json
import re
from collections.abc import Mapping
from typing import Any

from kubewhy import errors

MESSAGE_LENGTH = 512
"""Most characters of an error's text."""

NO_CONNECTION = "NoConnection"
"""`reason` of ApiUnavailable: nothing was sent, so a write did not happen."""

NO_ANSWER = "NoAnswer"
"""`reason` of ApiUnavailable: the request may have been carried out; read again before repeating a write."""

_SIZE = re.compile(
    r"request is too large|request entity too large|limit is \d+|ResourceExhausted|message larger than max|"
    r"\bToo (?:long|many)\b|too large to|can have at most \d+",
    re.IGNORECASE,
)
_SIZE_STATUS = frozenset({413, 422, 500})
_BY_STATUS: Mapping[int, type[errors.ApiError]] = {
    400: errors.ApiInvalid,
    401: errors.ApiUnauthorized,
    403: errors.ApiForbidden,
    404: errors.ApiNotFound,
    405: errors.ApiInvalid,
    406: errors.ApiInvalid,
    409: errors.ApiConflict,
    410: errors.ApiGone,
    413: errors.ApiTooLarge,
    415: errors.ApiInvalid,
    422: errors.ApiInvalid,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What an error's text names: the verb in capitals and the path without query."""

    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def from_reply(
    request: Request,
    *,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime.datetime,
) -> errors.ApiError:
    """The error for a reply with a status of 300 or more."""
    parsed = _status_object(body)
    reason = str(parsed.get("reason") or "")
    message = str(parsed.get("message") or "") or _plain(body) or f"HTTP status {status}"
    return _kind(status, reason, message)(
        bounded(f"{request}: {message}"),
        status=status,
        reason=reason,
        retry_after=_retry_after(headers.get("Retry-After", ""), parsed, now),
    )


def unreachable(request: Request, cause: BaseException, *, sent: bool) -> errors.ApiUnavailable:
    """The error where no complete reply came; `sent` says that the request may have been carried out."""
    what = "no answer in time" if isinstance(cause, TimeoutError) else _cause(cause)
    text = bounded(f"{request}: {what}")
    return errors.ApiUnavailable(text, reason=NO_ANSWER if sent else NO_CONNECTION)


def too_large(request: Request, limit_bytes: int) -> errors.ApiTooLarge:
    """The error for a reply that is longer than the reader takes."""
    text = f"{request}: the reply is longer than {limit_bytes} bytes; ask for less (name, selector, limit)"
    return errors.ApiTooLarge(bounded(text), reason="ReplyTooLarge")


def bounded(text: str) -> str:
    """One line of at most `MESSAGE_LENGTH` characters."""
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_LENGTH else line[: MESSAGE_LENGTH - 1] + "…"


def _kind(status: int, reason: str, message: str) -> type[errors.ApiError]:
    if status in _SIZE_STATUS and _SIZE.search(message):
        return errors.ApiTooLarge
    if status == 409 and reason == "AlreadyExists":  # noqa: PLR2004 - the HTTP status
        return errors.ApiAlreadyExists
    return _BY_STATUS.get(status, errors.ApiUnavailable)


def _status_object(body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) and parsed.get("kind") == "Status" else {}


def _plain(body: bytes) -> str:
    return bounded(body[:MESSAGE_LENGTH].decode("utf-8", "replace"))


def _retry_after(header: str, status: Mapping[str, Any], now: datetime.datetime) -> float | None:
    details = status.get("details")
    told = header or (details.get("retryAfterSeconds") if isinstance(details, dict) else None)
    if not told:
        return None
    try:
        return max(0.0, float(told))
    except (TypeError, ValueError):
        return _seconds_until(str(told), now)


def _seconds_until(date: str, now: datetime.datetime) -> float | None:
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(date) - now).total_seconds())
    except (TypeError, ValueError):
        return None


def _cause(cause: BaseException) -> str:
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
