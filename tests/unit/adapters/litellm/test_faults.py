"""Exceptions shaped like LiteLLM's to ours. That the real ones have this shape is tested in tests/component/models."""

import datetime
import json
from types import SimpleNamespace
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import faults

NOW = datetime.datetime(2026, 3, 1, 12, 0, 0, tzinfo=datetime.UTC)
KEY = "sk-CANARY-0123456789"


class LiteLLMError(Exception):
    """Status, response and text, as all of LiteLLM's exceptions have them."""

    def __init__(self, text: str, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status_code = status
        self.response = SimpleNamespace(headers=headers or {})


class ContextWindowExceededError(LiteLLMError):
    """By name only."""


class ContentPolicyViolationError(LiteLLMError):
    """By name only."""


class Timeout(LiteLLMError):
    """By name only."""


def answered(status: int, text: str = "words", **headers: str) -> LiteLLMError:
    return LiteLLMError(text, status, {"date": "today"} | headers)


def mapped(error: Exception) -> errors.ModelError:
    return faults.mapped(error, name="gpt", key=KEY, now=NOW)


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answered(401), errors.ModelAuthFailed),
        (answered(402), errors.ModelAuthFailed),
        (answered(403), errors.ModelAuthFailed),
        (answered(404), errors.ModelNotFound),
        (answered(413), errors.ModelContextExceeded),
        (answered(429), errors.ModelRateLimited),
        (answered(408), errors.ModelUnavailable),
        (answered(500), errors.ModelUnavailable),
        (answered(502), errors.ModelUnavailable),
        (answered(503), errors.ModelUnavailable),
        (answered(529), errors.ModelUnavailable),
        (answered(400), errors.ModelProtocolError),
        (answered(422), errors.ModelProtocolError),
        (
            answered(400, "This model's maximum context length is 128 tokens"),
            errors.ModelContextExceeded,
        ),
        (
            answered(400, "the request exceeds the available context size"),
            errors.ModelContextExceeded,
        ),
        (answered(400, "prompt is too long: 300000 tokens"), errors.ModelContextExceeded),
        (answered(400, "max_tokens is too large: 9999"), errors.ModelProtocolError),
        (answered(400, "filtered due to content management policy"), errors.ModelRefused),
        (
            LiteLLMError("LLM Provider NOT provided. You passed model=foo", 400),
            errors.ModelNotFound,
        ),
        (ContextWindowExceededError("x", 400), errors.ModelContextExceeded),
        (ContentPolicyViolationError("x", 400), errors.ModelRefused),
        (Timeout("x", 408), errors.ModelUnavailable),
        (caused(LiteLLMError("x", 500), ConnectionResetError()), errors.ModelUnavailable),
        (caused(LiteLLMError("x", 500), TimeoutError()), errors.ModelUnavailable),
        (
            caused(LiteLLMError("x", 500), json.JSONDecodeError("x", "y", 0)),
            errors.ModelProtocolError,
        ),
        (LiteLLMError("Empty or invalid response", 500), errors.ModelProtocolError),
        (KeyError("choices"), errors.ModelProtocolError),
        (caused(LiteLLMError("x", 500), ImportError("boto3")), errors.ModelNotFound),
    ],
)
def test_the_kind_tells_whether_a_repeat_can_help(
    error: Exception, kind: type[errors.ModelError]
) -> None:
    found = mapped(error)
    assert type(found) is kind
    assert str(found).startswith("model 'gpt': ")
    assert len(str(found)) < 600


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("litellm.InternalServerError: InternalServerError: OpenAIException - hot\nmore", "hot"),
        ("litellm.Timeout: Timeout Error: OpenAIException - slow", "slow"),
        ('litellm.APIError: AnthropicError - {"error": {"type": "x", "message": "full"}}', "full"),
        ("GeminiException InternalServerError - <html>", "<html>"),
        ("litellm.X: gone. Handle with `litellm.InternalServerError`.", "litellm.X: gone"),
    ],
)
def test_an_answers_status_and_words_are_shown_and_no_more(text: str, shown: str) -> None:
    found = mapped(answered(500, text))
    assert str(found) == f"model 'gpt': the provider fails (HTTP 500): {shown}"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_the_key_is_in_no_message(status: int) -> None:
    """faults.md 55."""
    text = f"Incorrect API key provided: {KEY}, starts with {KEY[:10]}"
    found = mapped(answered(status, text))
    shown = f"{found} {found!r} {found.__cause__!r} {found.__context__!r}"
    assert "CANARY" not in shown
    assert KEY[:8] not in shown


def test_a_traceback_in_the_text_is_not_passed_on() -> None:
    error: Any = LiteLLMError('Invalid response object Traceback\n  File "/secret/place"', 500)
    assert "Traceback" not in str(mapped(error))


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_passed_on(status: int) -> None:
    assert mapped(answered(status, **{"retry-after": "7"})).retry_after == 7.0
    date = "Sun, 01 Mar 2026 12:00:09 GMT"
    assert mapped(answered(status, **{"Retry-After": date})).retry_after == 9.0
    assert mapped(answered(status)).retry_after is None


def test_retry_after_is_found_where_litellm_keeps_headers() -> None:
    error = LiteLLMError("x", 429)
    error.litellm_response_headers = {"retry-after": "3"}  # type: ignore[attr-defined]
    assert mapped(error).retry_after == 3.0
