"""Answers POST /webhooks/alertmanager, with the codes that make Alertmanager do the right thing.

A 2xx is final for Alertmanager and a 4xx is given up; only 5xx is tried again soon. So 200 means that every alert is
stored, 503 that it may come again, and 4xx is for what can never succeed (alertmanager.md §2 of the reference).
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
from collections.abc import Callable
from http import HTTPStatus

import aiohttp
from aiohttp import web

from kubewhy import errors
from kubewhy.app.webhook import bodies, gate, intake, metrics, peers, settings, tokens
from kubewhy.core.alerting import alert_plan, alertmanager

PATH = "/webhooks/alertmanager"

_LOG = logging.getLogger(__name__)
_CONTINUE = "100-continue"
_RETRY_SECONDS = "5"
_LARGE_BODY = 64 * 1024
_BROKEN = (aiohttp.ClientPayloadError, aiohttp.http.HttpProcessingError, ConnectionError)


class Receiver:
    """One endpoint. Holds nothing of a request once it is answered."""

    def __init__(
        self,
        policy: alert_plan.Policy,
        limits: settings.Limits,
        *,
        valid: tokens.Tokens,
        intake_: intake.Intake,
        measured: metrics.Metrics,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._policy = policy
        self._limits = limits
        self._valid = valid
        self._intake = intake_
        self._measured = measured
        self._now = now
        self._peers = peers.Peers()
        self._bodies = bodies.Bodies(
            body_bytes=limits.body_bytes,
            buffered_bytes=limits.buffered_bytes,
            body_seconds=limits.body_seconds,
        )
        self._turns = asyncio.Semaphore(limits.requests)
        self._parsing = asyncio.Lock()

    async def answer(self, request: web.Request) -> web.Response:
        """The handler of the route."""
        began = time.monotonic()
        with self._measured.in_flight.track_inprogress():
            response = await self._safely(request)
        self._measured.seconds.observe(time.monotonic() - began)
        return response

    async def expect(self, request: web.Request) -> web.Response | None:
        """The handler of the header Expect: the body is asked for only if it may come at all."""
        if request.headers.get("Expect", "").lower() != _CONTINUE:
            return _refuse(HTTPStatus.EXPECTATION_FAILED, "unknown expectation")
        if request.version >= aiohttp.HttpVersion11 and self._rejection(request) is None:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # the final answer is still to come
        return None

    async def _safely(self, request: web.Request) -> web.Response:
        try:
            return await self._answer(request)
        except errors.PayloadError as error:
            _LOG.warning("message refused: %s", error)
            return _refuse(HTTPStatus.BAD_REQUEST, str(error))
        except bodies.BodyTooLarge:
            return _reject(gate.too_large(self._limits.body_bytes))
        except _BROKEN:
            return _refuse(HTTPStatus.BAD_REQUEST, "the body broke off or is badly framed")
        except (bodies.BodyTooSlow, bodies.NoRoom, TimeoutError) as error:
            return _retry(str(error) or f"not stored within {self._limits.answer_seconds:.0f} s")
        except Exception:  # noqa: BLE001 - the outer edge: Alertmanager must never see a 500
            _LOG.exception("message not stored because of a fault in kubewhy")
            return _retry("a fault in kubewhy; its log says more")

    async def _answer(self, request: web.Request) -> web.Response:
        rejection = self._rejection(request)
        if rejection is not None:
            await self._slow_down(request, rejection)
            return _reject(rejection)
        body = await self._bodies.read(request)
        try:
            async with asyncio.timeout(self._limits.answer_seconds), self._turns:
                message, plan, at = await self._understand(body)
                tally = await self._intake.carry_out(plan, message.problems, at=at)
        finally:
            self._bodies.release(len(body))
        self._report(message, plan, tally)
        if tally.unavailable:
            return _retry("the API server can't take alerts now")
        return web.json_response(tally.totals())

    def _rejection(self, request: web.Request) -> gate.Rejection | None:
        return gate.check(request.headers, valid=self._valid, body_bytes=self._limits.body_bytes)

    async def _slow_down(self, request: web.Request, rejection: gate.Rejection) -> None:
        peer, delay = request.remote or "", 0.0
        if rejection.status is HTTPStatus.UNAUTHORIZED:
            delay = self._peers.failed(peer)
        if delay:  # and no log line either: the peer has had some
            await asyncio.sleep(delay)
        else:
            _LOG.warning("request refused: %s", rejection.reason, extra={"peer": peer})

    async def _understand(
        self, body: bytes
    ) -> tuple[alertmanager.Message, alert_plan.Plan, datetime.datetime]:
        at = self._now()

        def work() -> tuple[alertmanager.Message, alert_plan.Plan]:
            message = alertmanager.read(body)
            return message, alert_plan.plan(message, self._policy, at=at)

        if len(body) < _LARGE_BODY:
            return *work(), at
        async with self._parsing:  # a large message takes many times its size while it is read
            return *await asyncio.to_thread(work), at

    def _report(
        self, message: alertmanager.Message, plan: alert_plan.Plan, tally: intake.Tally
    ) -> None:
        self._measured.count(tally)
        self._measured.cut_alerts.inc(plan.truncated)
        self._measured.missing_alerts.inc(message.truncated_alerts)
        if message.version != alertmanager.KNOWN_VERSION:
            self._measured.unknown_versions.inc()
        detail = {"alerts": tally.totals(), "group": message.group, "version": message.version}
        if message.truncated_alerts:
            _LOG.warning("Alertmanager left out %d alerts", message.truncated_alerts, extra=detail)
        if message.problems:
            faults = sorted({problem.fault.value for problem in message.problems})
            _LOG.warning(
                "%d alerts are invalid: %s", len(message.problems), ", ".join(faults), extra=detail
            )
        if tally.unavailable:
            _LOG.error("message not stored: %s", tally.unavailable, extra=detail)
        else:
            _LOG.info("message stored", extra=detail)


def _reject(rejection: gate.Rejection) -> web.Response:
    return _refuse(rejection.status, rejection.reason)


def _refuse(status: HTTPStatus, reason: str) -> web.Response:
    """A final answer. The connection is closed, because the body may be unread."""
    response = web.Response(status=status, text=f"{reason}\n")
    if status is HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    response.force_close()
    return response


def _retry(reason: str) -> web.Response:
    response = web.Response(
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        text=f"{reason}\n",
        headers={"Retry-After": _RETRY_SECONDS},
    )
    response.force_close()
    return response
