"""The port `Model` on LiteLLM: attempts, pauses, fallbacks and one wall-clock limit around all of them."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.adapters.litellm_model import convert, faults, keys, metering, retry
from kubewhy.adapters.litellm_model import runtime as runtimes
from kubewhy.core import messages, model_list

_LOG = logging.getLogger(__name__)
_REPEATABLE = (errors.ModelRateLimited, errors.ModelUnavailable)
_REPLACEABLE = (*_REPEATABLE, errors.ModelAuthFailed, errors.ModelNotFound)


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """One HTTP request: what is sent, with which key, and for how long it may take."""

    entry: model_list.LiteLLMEntry
    request: messages.ModelRequest
    seconds: float


class LiteLLMModel:
    """One entry of the model list, with the entries that stand in for it.

    The time limit of a request is the shorter of its own and the entry's, and covers attempts, pauses and
    fallbacks; each entry gets an equal share of what is left, so that a hanging one leaves time for the next.
    Only the first request of a process takes longer, by the import of LiteLLM; `prepare` takes that away.
    """

    def __init__(
        self,
        entry: model_list.LiteLLMEntry,
        runtime: runtimes.Runtime,
        keyring: keys.KeyRing,
        *,
        fallbacks: Sequence[model_list.LiteLLMEntry] = (),
        now: Callable[[], datetime.datetime] = _utc_now,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._entry = entry
        self._runtime = runtime
        self._keyring = keyring
        self._fallbacks = tuple(fallbacks)
        self._now = now
        self._jitter = jitter
        self._unpriced: set[str] = set()

    @property
    def name(self) -> str:
        """The entry's name."""
        return self._entry.name

    @property
    def context_tokens(self) -> int:
        """The entry's context window; the smallest one where there are fallbacks."""
        return min(entry.context_tokens for entry in (self._entry, *self._fallbacks))

    def prepare(self) -> None:
        """Begin to load LiteLLM in the background."""
        self._runtime.start()

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        """One request, one reply, as `core.ports.Model` says.

        Raises:
            errors.ModelError: of the last entry that was asked.
        """
        await self._runtime.ready()
        limit = min(request.timeout_seconds, float(self._entry.timeout_seconds))
        end = asyncio.get_running_loop().time() + limit
        routes = (self._entry, *self._fallbacks)
        for index, entry in enumerate(routes):
            try:
                reply = await self._ask_entry(entry, request, end=_share(end, len(routes) - index))
            except _REPLACEABLE as error:
                if index + 1 == len(routes):
                    raise
                _LOG.warning(
                    "model %s: asking %s instead: %s", entry.name, routes[index + 1].name, error
                )
            else:
                return reply
        raise AssertionError("unreachable: the last entry returns or raises")

    async def _ask_entry(
        self, entry: model_list.LiteLLMEntry, request: messages.ModelRequest, *, end: float
    ) -> messages.ModelReply:
        """All attempts on one entry, until `end` on the loop's clock."""
        clock = asyncio.get_running_loop().time
        for attempt in range(1, entry.attempts + 1):
            try:
                return await self._once(_Try(entry=entry, request=request, seconds=end - clock()))
            except _REPEATABLE as error:
                pause = retry.pause(attempt, error.retry_after, self._jitter())
                if attempt == entry.attempts or clock() + pause >= end:
                    text = f"{error} (attempt {attempt} of {entry.attempts})"
                    raise type(error)(text, retry_after=error.retry_after) from None
                _LOG.info(
                    "attempt %d of %d: %s; next in %.1f s", attempt, entry.attempts, error, pause
                )
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _once(self, attempt: _Try) -> messages.ModelReply:
        """One request, given up at its wall-clock limit: a read time-out alone never ends a dripping reply."""
        try:
            async with asyncio.timeout(attempt.seconds):
                return await self._runtime.call(lambda litellm: self._complete(litellm, attempt))
        except TimeoutError:
            raise errors.ModelUnavailable(
                f"model {attempt.entry.name!r}: no reply within {attempt.seconds:.1f} s"
            ) from None

    async def _complete(self, litellm: Any, attempt: _Try) -> messages.ModelReply:
        """In LiteLLM's thread: nothing of LiteLLM's passes out of here, neither value nor exception."""
        entry = attempt.entry
        key = self._keyring.read(entry)
        payload = convert.payload(entry, attempt.request)
        fault: errors.ModelError
        try:
            response = await litellm.acompletion(
                **payload,
                api_key=key,
                timeout=max(attempt.seconds, 1.0),
                num_retries=0,
                max_retries=0,
            )
        except Exception as error:  # noqa: BLE001 - the edge to a library with many exceptions of its own
            fault = faults.mapped(error, name=entry.name, key=key, now=self._now())
        else:
            return convert.reply(response, self._usage(litellm, entry, payload, response))
        # Raised out here so that the library's exception, which may hold the key, is not its context.
        raise fault

    def _usage(
        self, litellm: Any, entry: model_list.LiteLLMEntry, payload: dict[str, Any], response: Any
    ) -> messages.Usage:
        sent = len(
            json.dumps([payload["messages"], payload.get("tools")], ensure_ascii=False).encode(
                errors="replace"
            )
        )
        counted = metering.count(
            getattr(response, "usage", None),
            sent_bytes=sent,
            written_bytes=convert.written(response),
        )
        if entry.prices:
            return metering.usage(counted, metering.listed_cost(counted, entry.prices))
        cost = metering.mapped_cost(litellm, entry.model, response, counted)
        if cost is None and entry.name not in self._unpriced:
            self._unpriced.add(entry.name)
            _LOG.warning(
                "model %s: no price is known for %s, so limits.costMicroUSD can't end its runs; "
                "give it `prices` in the model list",
                entry.name,
                entry.model,
            )
        return metering.usage(counted, cost or 0)


def _share(end: float, routes: int) -> float:
    now = asyncio.get_running_loop().time()
    return now + (end - now) / routes
