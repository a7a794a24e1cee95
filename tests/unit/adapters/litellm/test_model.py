"""Attempts, pauses, fallbacks and the time limit, in virtual time.

LiteLLM is a stand-in whose completions are scripted per model; the runtime runs it on the test's own loop, so
that its clock is the only one. The real thread and the real library are tested in tests/component/models.
"""

import asyncio
import datetime
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import keys, model, runtime
from kubewhy.core import messages, model_list
from virtual_time import in_virtual_time

NOW = datetime.datetime(2026, 3, 1, 12, 0, 0, tzinfo=datetime.UTC)
KEY = "sk-CANARY-0123456789"
HANG = object()
REQUEST = messages.ModelRequest(
    messages=(messages.Message(role=messages.Role.USER, text="why?"),), tools=(), timeout_seconds=60
)


class Failure(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"failure {status} {KEY}")
        self.status_code = status
        self.response = SimpleNamespace(headers={"date": "today"} | headers)


class StandIn:
    """`acompletion` plays the outcomes of each model in order and repeats the last."""

    def __init__(self, **outcomes: list[Any]) -> None:
        self.outcomes = outcomes
        self.asked: list[tuple[str, float, dict[str, Any]]] = []
        self.cancelled = 0

    async def acompletion(self, **arguments: Any) -> Any:
        name = arguments["model"]
        at = asyncio.get_running_loop().time()
        count = sum(model == name for model, _, _ in self.asked)
        self.asked.append((name, at, arguments))
        outcomes = self.outcomes[name]
        outcome = outcomes[min(count, len(outcomes) - 1)]
        if outcome is HANG:
            try:
                await asyncio.sleep(10_000)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if isinstance(outcome, Exception):
            raise outcome
        return completion(outcome)

    def completion_cost(self, **_: Any) -> float:
        return 0.0


class Inline:
    """A runtime on the caller's loop."""

    def __init__(self, litellm: StandIn) -> None:
        self.litellm = litellm

    async def ready(self) -> Any:
        return self.litellm

    async def call(self, work: Callable[[Any], Any]) -> Any:
        return await work(self.litellm)


def completion(text: str) -> Any:
    message = SimpleNamespace(content=text, tool_calls=None)
    usage = SimpleNamespace(prompt_tokens=9, completion_tokens=1)
    return SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=usage
    )


def entry(name: str = "main", **fields: Any) -> model_list.LiteLLMEntry:
    given: dict[str, Any] = {
        "name": name,
        "provider": "litellm",
        "model": name,
        "key": model_list.Key(env="KEY"),
    }
    return model_list.LiteLLMEntry(**given | fields)


def make(
    litellm: StandIn, main: model_list.LiteLLMEntry | None = None, *others: model_list.LiteLLMEntry
) -> model.LiteLLMModel:
    return model.LiteLLMModel(
        main or entry(),
        cast("runtime.Runtime", Inline(litellm)),
        keys.KeyRing({"KEY": KEY}),
        fallbacks=others,
        now=lambda: NOW,
        jitter=lambda: 0.0,
    )


def times(litellm: StandIn) -> list[float]:
    first = litellm.asked[0][1]
    return [round(at - first, 2) for _, at, _ in litellm.asked]


@in_virtual_time
async def test_a_good_reply_takes_one_request_without_retries_below() -> None:
    litellm = StandIn(main=["hi"])
    assert (await make(litellm).ask(REQUEST)).text == "hi"
    ((_, _, arguments),) = litellm.asked
    assert arguments["num_retries"] == 0
    assert arguments["max_retries"] == 0
    assert arguments["api_key"] == KEY


@pytest.mark.parametrize("status", [429, 500, 502, 529])
@in_virtual_time
async def test_the_last_configured_attempt_may_succeed(status: int) -> None:
    """faults.md 51."""
    litellm = StandIn(main=[Failure(status), Failure(status), "hi"])
    assert (await make(litellm).ask(REQUEST)).text == "hi"
    assert times(litellm) == [0, 0.25, 0.75]


@pytest.mark.parametrize("attempts", [1, 2, 3, 5])
@in_virtual_time
async def test_attempts_are_what_is_configured_and_no_more(attempts: int) -> None:
    """faults.md 50, 51."""
    litellm = StandIn(main=[Failure(500)])
    with pytest.raises(errors.ModelUnavailable, match=f"attempt {attempts} of {attempts}"):
        await make(litellm, entry(attempts=attempts)).ask(REQUEST)
    assert len(litellm.asked) == attempts


@pytest.mark.parametrize(
    ("headers", "pause"),
    [({"Retry-After": "7"}, 7), ({"Retry-After": "Sun, 01 Mar 2026 12:00:09 GMT"}, 9), ({}, 0.25)],
)
@in_virtual_time
async def test_retry_after_is_waited_for(headers: dict[str, str], pause: float) -> None:
    """faults.md 50."""
    litellm = StandIn(main=[Failure(429, **headers), "hi"])
    await make(litellm).ask(REQUEST)
    assert times(litellm) == [0, pause]


@in_virtual_time
async def test_a_pause_beyond_the_limit_is_not_begun_and_told_to_the_caller() -> None:
    litellm = StandIn(main=[Failure(429, **{"Retry-After": "61"})])
    started = asyncio.get_running_loop().time()
    with pytest.raises(errors.ModelRateLimited) as caught:
        await make(litellm).ask(REQUEST)
    assert caught.value.retry_after == 61
    assert asyncio.get_running_loop().time() - started < 1
    assert len(litellm.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.ModelProtocolError),
        (401, errors.ModelAuthFailed),
        (403, errors.ModelAuthFailed),
        (404, errors.ModelNotFound),
        (413, errors.ModelContextExceeded),
    ],
)
@in_virtual_time
async def test_what_no_repeat_can_help_is_asked_once(
    status: int, kind: type[errors.ModelError]
) -> None:
    """faults.md 54, 55."""
    litellm = StandIn(main=[Failure(status)])
    with pytest.raises(kind) as caught:
        await make(litellm).ask(REQUEST)
    assert len(litellm.asked) == 1
    assert "CANARY" not in f"{caught.value!r} {caught.value.__context__!r}"


@pytest.mark.parametrize(("request_seconds", "entry_seconds"), [(5, 120), (60, 5)])
@in_virtual_time
async def test_a_hanging_provider_is_cancelled_at_the_shorter_limit(
    request_seconds: float, entry_seconds: int
) -> None:
    """faults.md 52."""
    litellm = StandIn(main=[HANG])
    request = messages.ModelRequest(
        messages=REQUEST.messages, tools=(), timeout_seconds=request_seconds
    )
    started = asyncio.get_running_loop().time()
    with pytest.raises(errors.ModelUnavailable, match="no reply within"):
        await make(litellm, entry(timeoutSeconds=entry_seconds)).ask(request)
    assert asyncio.get_running_loop().time() - started == pytest.approx(5, abs=0.1)
    assert litellm.cancelled == len(litellm.asked) == 1


@in_virtual_time
async def test_retries_share_the_one_limit() -> None:
    litellm = StandIn(main=[Failure(500), Failure(500), HANG])
    started = asyncio.get_running_loop().time()
    with pytest.raises(errors.ModelUnavailable):
        await make(litellm, entry(attempts=10)).ask(REQUEST)
    assert asyncio.get_running_loop().time() - started == pytest.approx(60, abs=0.1)


@in_virtual_time
async def test_cancelling_the_caller_cancels_the_request() -> None:
    litellm = StandIn(main=[HANG])
    task = asyncio.ensure_future(make(litellm).ask(REQUEST))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert litellm.cancelled == 1


@pytest.mark.parametrize("status", [401, 404, 429, 500])
@in_virtual_time
async def test_a_fallback_answers_and_that_is_logged(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    litellm = StandIn(main=[Failure(status)], other=["from the other"])
    with caplog.at_level(logging.DEBUG):
        reply = await make(litellm, entry(attempts=1), entry("other")).ask(REQUEST)
    assert reply.text == "from the other"
    assert "asking other instead" in caplog.text
    assert "CANARY" not in caplog.text


@in_virtual_time
async def test_a_hanging_model_leaves_its_fallback_an_equal_share() -> None:
    litellm = StandIn(main=[HANG], other=["hi"])
    assert (await make(litellm, entry(), entry("other")).ask(REQUEST)).text == "hi"
    assert times(litellm) == [0, 30]


@pytest.mark.parametrize("status", [400, 413])
@in_virtual_time
async def test_a_wrong_request_is_not_sent_to_the_fallback(status: int) -> None:
    litellm = StandIn(main=[Failure(status)], other=["hi"])
    with pytest.raises(errors.ModelError):
        await make(litellm, entry(), entry("other")).ask(REQUEST)
    assert len(litellm.asked) == 1


@in_virtual_time
async def test_a_missing_key_is_an_auth_failure_before_any_request() -> None:
    litellm = StandIn(main=["hi"])
    with pytest.raises(errors.ModelAuthFailed, match="variable ABSENT holds no key"):
        await make(litellm, entry(key=model_list.Key(env="ABSENT"))).ask(REQUEST)
    assert litellm.asked == []


@in_virtual_time
async def test_listed_prices_go_before_the_map() -> None:
    prices = model_list.Prices(input=1_000_000, output=5_000_000)
    reply = await make(StandIn(main=["hi"]), entry(prices=prices)).ask(REQUEST)
    assert reply.usage == messages.Usage(input_tokens=9, output_tokens=1, cost_micro_usd=14)


def test_the_smallest_window_counts() -> None:
    small = entry("other", contextTokens=2048)
    assert make(StandIn(), entry(contextTokens=9000), small).context_tokens == 2048
    assert make(StandIn(), entry()).name == "main"
