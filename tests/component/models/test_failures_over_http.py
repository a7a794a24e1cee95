"""What goes wrong on the way, through the real client stack (faults.md 50 to 52, 54, 55, 59)."""

import asyncio
import hashlib
import logging
import os
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import keys


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        ("no key", errors.ModelAuthFailed),
        ("no right", errors.ModelAuthFailed),
        ("no model", errors.ModelNotFound),
        ("wrong request", errors.ModelProtocolError),
        ("unprocessable", errors.ModelProtocolError),
        ("too long", errors.ModelContextExceeded),
        ("policy", errors.ModelRefused),
    ],
)
async def test_what_no_repeat_can_help_takes_one_request(
    asker: Any,
    turn: str,
    kind: type[errors.ModelError],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """faults.md 54, 55: and the key is in no message, log line or output."""
    with caplog.at_level(logging.DEBUG), pytest.raises(kind) as caught:
        await asker.ask(turn)
    assert asker.count(turn) == 1
    output = "".join(capfd.readouterr())
    shown = f"{caught.value!r} {caught.value.__context__!r} {caplog.text} {output}"
    assert "CANARY" not in shown


async def test_the_server_gets_the_key_of_the_entry_or_none(asker: Any) -> None:
    """And never the one of the environment, which belongs to another provider."""
    await asker.ask("answer")
    assert asker.server.requests()[-1]["key"] == hashlib.sha256(asker.key.encode()).hexdigest()
    await asker.ask("answer", key=None)
    assert asker.server.requests()[-1]["key"] == hashlib.sha256(keys.NO_KEY.encode()).hexdigest()


@pytest.mark.parametrize("turn", ["limited", "down twice", "cut once", "reset once"])
async def test_passing_trouble_is_sat_out(asker: Any, turn: str) -> None:
    """faults.md 50, 51."""
    reply = await asker.ask(turn)
    assert reply.text == "good after all"
    assert asker.count(turn) == (3 if turn == "down twice" else 2)


async def test_retry_after_is_waited_for(asker: Any, timed: Any) -> None:
    """faults.md 50."""
    async with timed() as seconds:
        reply = await asker.ask("limited for 1 s")
    assert reply.text == "good after all"
    assert seconds[0] >= 1
    first, second = asker.times("limited for 1 s")
    assert second - first >= 1


async def test_a_pause_beyond_the_limit_ends_the_request_and_is_told(
    asker: Any, timed: Any
) -> None:
    async with timed() as seconds:
        with pytest.raises(errors.ModelRateLimited) as caught:
            await asker.ask("limited for 100 s")
    assert caught.value.retry_after == 100
    assert seconds[0] < 5
    assert asker.count("limited for 100 s") == 1


@pytest.mark.parametrize(
    ("turn", "kind"),
    [("limited for ever", errors.ModelRateLimited), ("down for ever", errors.ModelUnavailable)],
)
async def test_attempts_are_ours_alone(
    asker: Any, turn: str, kind: type[errors.ModelError]
) -> None:
    """faults.md 50, 51: as configured, not the client's retries times ours."""
    with pytest.raises(kind, match="attempt 3 of 3"):
        await asker.ask(turn, attempts=3)
    assert asker.count(turn) == 3


@pytest.mark.parametrize("turn", ["silent", "dripping"])
async def test_a_hanging_provider_is_given_up_at_the_limit(
    asker: Any, timed: Any, turn: str
) -> None:
    """faults.md 52: a read time-out alone would never end a reply that drips."""
    async with timed() as seconds:
        with pytest.raises(errors.ModelUnavailable):
            await asker.ask(turn, timeoutSeconds=1)
    assert 0.9 <= seconds[0] <= 2


async def test_one_hanging_request_does_not_hold_up_others(asker: Any, timed: Any) -> None:
    hanging = asyncio.ensure_future(asker.ask("silent", timeoutSeconds=15))
    async with timed() as seconds:
        await asker.ask("answer")
    assert not hanging.done()
    assert seconds[0] < 5
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging


async def test_an_unreachable_server_is_unavailable(asker: Any) -> None:
    with pytest.raises(errors.ModelUnavailable, match="can't be reached"):
        await asker.ask("answer", baseURL="http://127.0.0.1:9/v1", attempts=2)


async def test_a_fallback_answers(asker: Any) -> None:
    dead = {"name": "dead", "baseURL": "http://127.0.0.1:9/v1", "attempts": 1}
    reply = await asker.ask("answer", fallbacks=[asker.entry(name="spare")], **dead)
    assert reply.text.startswith("{")


async def test_a_model_without_its_provider_is_named(asker: Any) -> None:
    with pytest.raises(errors.ModelNotFound, match="provider/model"):
        await asker.ask("answer", model="my-own-model")


def test_loading_uses_no_network_and_tells_nobody(loading: Any) -> None:
    """faults.md 59: the price list comes with the package, and there is neither telemetry nor a callback."""
    assert not loading.was_there_before
    assert loading.network_uses == ()
    assert len(loading.module.model_cost) > 500
    assert loading.module.telemetry is False
    assert [*loading.module.callbacks, *loading.module.success_callback] == []
    assert os.environ["LITELLM_MODE"] == "PRODUCTION"  # any other mode reads a file .env


def test_litellm_is_silent(loading: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert loading.module.suppress_debug_info
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).critical("a secret of the library")
    assert capfd.readouterr() == ("", "")
