"""Puts the webhook together, starts it, and ends it without losing an open request."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import resource
import signal
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import cast

from aiohttp import web

from kubewhy import errors
from kubewhy.adapters.kube import client, investigations
from kubewhy.app.webhook import guard, health, intake, metrics, receiver, settings, tokens
from kubewhy.core.alerting import alert_store

_LOG = logging.getLogger(__name__)
_BACKLOG = 1024
_LINGER_SECONDS = 2.0
_HEADER_LINE = 8190

Now = Callable[[], datetime.datetime]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Webhook:
    """One running webhook: `start`, then `stop`. Tests hand in a store of their own."""

    def __init__(
        self,
        wanted: settings.Settings,
        store: alert_store.InvestigationStore,
        *,
        now: Now = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        """Check tokens and TLS files.

        Raises:
            errors.ConfigError: a token file or TLS file can't be used.
        """
        self._wanted = wanted
        self._limits = wanted.limits
        self.metrics = metrics.Metrics()
        self._tls = _tls(wanted.tls) if wanted.tls else None
        self._readiness = health.Readiness(store, wanted.policy.fallback_namespace)
        self._guard = guard.Guard(
            connections=self._limits.connections,
            header_seconds=self._limits.header_seconds,
            measured=self.metrics,
        )
        self._receiver = receiver.Receiver(
            wanted.policy,
            self._limits,
            valid=tokens.Tokens(wanted.tokens, wanted.token_files),
            intake_=intake.Intake(store, writes=self._limits.writes),
            measured=self.metrics,
            now=now,
        )
        self._runners: list[web.AppRunner] = []
        self._listener: asyncio.Server | None = None
        self._open_requests = 0
        self._no_requests = asyncio.Event()
        self._no_requests.set()
        self.port = 0
        self.health_port = 0
        self.metrics_port = 0

    async def start(self) -> None:
        """Listen on all ports; afterwards `port`, `health_port` and `metrics_port` say on which (0: not at all).

        Raises:
            errors.ConfigError: a port can't be listened on.
        """
        try:
            self.port = await self._listen()
            if self._wanted.health_port is not None:
                self.health_port = await self._side(
                    health.probes(self._readiness), self._wanted.health_port
                )
            if self._wanted.metrics_port is not None:
                self.metrics_port = await self._side(
                    health.exposition(self.metrics), self._wanted.metrics_port
                )
        except OSError as error:
            await self.stop()
            raise errors.ConfigError(
                f"the webhook can't listen on {self._wanted.address}: {error.strerror or error}"
            ) from error
        _LOG.info("webhook listens", extra={"port": self.port, "health_port": self.health_port})

    async def stop(self) -> None:
        """Stop listening, let open requests end (`shutdown_seconds` at most), close everything."""
        self._readiness.stopping = True
        if self._listener is not None:
            self._listener.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.shutdown_seconds):
                await self._no_requests.wait()
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()

    async def _listen(self) -> int:
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            logger=_http_log(),
            keepalive_timeout=self._limits.keepalive_seconds,
            auto_decompress=False,
            lingering_time=_LINGER_SECONDS,
            max_line_size=_HEADER_LINE,
            max_field_size=_HEADER_LINE,
            shutdown_timeout=1.0,
        )
        self._runners.append(runner)
        await runner.setup()
        self._listener = await asyncio.get_running_loop().create_server(
            self._guard.wrap(cast("guard.Factory", runner.server)),
            self._wanted.address,
            self._wanted.port,
            ssl=self._tls,
            ssl_handshake_timeout=self._limits.header_seconds if self._tls else None,
            backlog=_BACKLOG,
        )
        return int(self._listener.sockets[0].getsockname()[1])

    async def _side(self, app: web.Application, port: int) -> int:
        runner = web.AppRunner(
            app, access_log=None, logger=_http_log(), keepalive_timeout=30.0, shutdown_timeout=1.0
        )
        self._runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, self._wanted.address, port)
        await site.start()
        return int(runner.addresses[0][1])

    def _application(self) -> web.Application:
        @web.middleware
        async def counted(request: web.Request, handler: Handler) -> web.StreamResponse:
            with self._request(request):
                try:
                    response = await handler(request)
                except web.HTTPException as answer:  # 404 and 405 of the router
                    self.metrics.requests.labels(code=str(answer.status)).inc()
                    raise
                self.metrics.requests.labels(code=str(response.status)).inc()
                return response

        app = web.Application(middlewares=[counted], client_max_size=self._limits.body_bytes)
        app.router.add_post(
            receiver.PATH, self._receiver.answer, expect_handler=self._receiver.expect
        )
        return app

    @contextlib.contextmanager
    def _request(self, request: web.Request) -> Iterator[None]:
        self._guard.request_begins(request.protocol)
        self._open_requests += 1
        self._no_requests.clear()
        try:
            yield
        finally:
            self._guard.request_ends(request.protocol)
            self._open_requests -= 1
            if not self._open_requests:
                self._no_requests.set()


async def serve(
    wanted: settings.Settings,
    *,
    stop: asyncio.Event | None = None,
    started: Callable[[Webhook], None] | None = None,
    now: Now = lambda: datetime.datetime.now(datetime.UTC),
) -> None:
    """Run until `stop` is set, or until SIGTERM or SIGINT where no event is given.

    `started` is called once all ports are listened on.

    Raises:
        errors.ConfigError: credentials, tokens, TLS files or ports can't be used.
    """
    ending = stop or _on_signals()
    api = await client.connect(wanted.access)
    try:
        webhook = Webhook(wanted, investigations.KubeInvestigationStore(api), now=now)
        await webhook.start()
        try:
            if started is not None:
                started(webhook)
            await ending.wait()
        finally:
            await webhook.stop()
    finally:
        await api.close()


def main(wanted: settings.Settings, *, started: Callable[[Webhook], None] | None = None) -> None:
    """`serve` in an event loop of its own, for a process that does nothing else."""
    _raise_file_limit(wanted.limits.connections)
    asyncio.run(serve(wanted, started=started))


def _on_signals() -> asyncio.Event:
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    return ending


def _raise_file_limit(connections: int) -> None:
    """Every connection is an open file, and many systems start with a limit of 1,024 of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        highest = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))


def _tls(files: settings.TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key)
        if files.client_ca:
            context.load_verify_locations(files.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:  # ssl.SSLError is one
        raise errors.ConfigError(
            f"TLS files {files.certificate}, {files.key} {files.client_ca}: {error}"
        ) from error
    return context


class _WithoutDetail(logging.Filter):
    """aiohttp quotes broken headers in its errors, and a header may hold a token."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        record.msg, record.args = f"HTTP error {kind}".strip(), ()
        record.exc_info, record.exc_text = None, None
        return True


def _http_log() -> logging.Logger:
    log = logging.getLogger(f"{__name__}.http")
    if not log.filters:
        log.addFilter(_WithoutDetail())
    return log
