"""LiteLLM's exceptions to ours. Only what a person needs of their text is kept, and never the key.

LiteLLM names the class by the HTTP status where there was one and calls everything else an
InternalServerError, so the status decides first, then the exceptions it arose from.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubewhy import errors
from kubewhy.adapters.litellm_model import keys, retry
from kubewhy.core import jsontext

_SHOWN = 300
_CHAIN = 10
_PREFIX = re.compile(
    r"^(?:litellm\.)?(?:\w*(?:Error|Exception|Timeout)|Timeout Error): ?|^\w+(?:Exception|Error)(?: \w+Error)? - "
)
_SUFFIX = re.compile(r"\.? Handle with `litellm\..*$")
_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size)|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content[ _-]?(?:policy|filter|management)|safety (?:system|settings)|responsible ai",
    re.IGNORECASE,
)
_NO_PROVIDER = "LLM Provider NOT provided"
_TRANSPORT = frozenset({"httpx", "httpcore", "aiohttp", "ssl", "socket", "botocore"})
_OPENAI_TRANSPORT = frozenset({"APIConnectionError", "APITimeoutError"})
_WRONG = frozenset(range(400, 500)) - {408, 409, 425, 429}

_Kind = tuple[type[errors.ModelError], str]

_KEY_REFUSED: _Kind = (
    errors.ModelAuthFailed,
    "the provider refuses the key or the account; check `key` in the model list",
)
_UNKNOWN: _Kind = (
    errors.ModelNotFound,
    "the provider doesn't know the model or the path; check model and baseURL",
)
_TOO_LONG: _Kind = (
    errors.ModelContextExceeded,
    "the request is longer than the model's context window",
)
_FILTERED: _Kind = (errors.ModelRefused, "the provider's content filter refuses the request")
_BY_STATUS: Mapping[int, _Kind] = {
    401: _KEY_REFUSED,
    402: _KEY_REFUSED,
    403: _KEY_REFUSED,
    404: _UNKNOWN,
    413: _TOO_LONG,
    429: (errors.ModelRateLimited, "the provider limits the rate"),
}
_BY_NAME: Mapping[str, _Kind] = {
    "ContextWindowExceededError": _TOO_LONG,
    "ContentPolicyViolationError": _FILTERED,
}


def mapped(
    error: Exception, *, name: str, key: str | None, now: datetime.datetime
) -> errors.ModelError:
    """Our error for one of LiteLLM's, or of anything below it.

    Args:
        name: the entry in the model list, for the text.
        key: what must not be in the text.
        now: aware, to read a `Retry-After` that is a date.
    """
    status = _status(error)
    kind, words = _kind(error, status)
    answered = f" (HTTP {status})" if _answered(error) else ""
    # What providers say of a key repeats parts of it; what LiteLLM says of a bad body is a traceback.
    silent = kind is errors.ModelAuthFailed or (kind is errors.ModelProtocolError and not answered)
    said = "" if silent else _excerpt(error, key)
    text = f"model {name!r}: {words}{answered}"
    return kind(f"{text}: {said}" if said else text, retry_after=retry.told(_headers(error), now))


def _kind(error: Exception, status: int) -> _Kind:
    named = _BY_NAME.get(type(error).__name__) or _BY_STATUS.get(status)
    if named:
        return named
    if status in _WRONG:
        return _by_text(str(error))
    if _answered(error):
        return errors.ModelUnavailable, "the provider fails"
    return _unanswered(error)


def _by_text(text: str) -> _Kind:
    """A request that is refused as wrong: providers tell only in words what is wrong with it."""
    if _CONTEXT.search(text):
        return _TOO_LONG
    if _FILTER.search(text):
        return _FILTERED
    if _NO_PROVIDER in text:
        return errors.ModelNotFound, "LiteLLM knows no such model; write it as provider/model"
    return errors.ModelProtocolError, "the provider refuses the request"


def _unanswered(error: Exception) -> _Kind:
    """No HTTP error came back: the way to the provider failed, or its answer could not be read."""
    causes = list(_chain(error))
    if any(isinstance(cause, ImportError) for cause in causes):
        return errors.ModelNotFound, "a Python package that this provider needs is not installed"
    if any(_is_timeout(cause) for cause in causes):
        return errors.ModelUnavailable, "the provider did not answer in time"
    if any(_is_transport(cause) for cause in causes):
        return (
            errors.ModelUnavailable,
            "the provider can't be reached, or broke the connection off",
        )
    return errors.ModelProtocolError, "the provider's answer is no chat completion"


def _is_timeout(cause: BaseException) -> bool:
    return isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__


def _is_transport(cause: BaseException) -> bool:
    root = type(cause).__module__.partition(".")[0]
    if root == "openai":
        return type(cause).__name__ in _OPENAI_TRANSPORT
    return root in _TRANSPORT or isinstance(cause, OSError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _status(error: Exception) -> int:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else 0


def _answered(error: Exception) -> bool:
    """Whether an HTTP response stands behind the error: only a real one has headers."""
    return bool(_headers(error))


def _headers(error: Exception) -> Mapping[str, str]:
    for holder in (getattr(error, "response", None), error):
        for name in ("headers", "litellm_response_headers"):
            headers: Any = getattr(holder, name, None)
            if headers:
                return {str(key): str(value) for key, value in dict(headers).items()}
    return {}


def _excerpt(error: Exception, key: str | None) -> str:
    text = keys.scrub(str(error), key).partition("\n")[0]
    while (found := _PREFIX.match(text)) and found.end():
        text = text[found.end() :]
    return (_message(text) or _SUFFIX.sub("", text)).strip()[:_SHOWN]


def _message(text: str) -> str:
    """The message of an error object, the form in which most providers answer."""
    for found in jsontext.find(text):
        inner = found.value.get("error", found.value) if isinstance(found.value, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            return str(inner["message"])
    return ""
