"""The operator process: engine and supervisor in the main thread's loop, kopf as trigger in a thread beside it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import functools
import logging
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.adapters.kube import client, config, journal, kube_events, leases, status_store
from kubewhy.app import clock, health, metrics, models, toolbox, watch, workbench
from kubewhy.app.settings import Settings
from kubewhy.core import ports, snapshots
from kubewhy.engine import inbox, investigate, supervisor, tend

log = logging.getLogger(__name__)

DEAF_PERIODS = 3
"""LISTs in a row that may fail before the process counts as dead."""


class Operator:
    """Everything of one operator process, from the API client to the supervisor."""

    def __init__(self, settings: Settings, access: config.Access, api: client.KubeClient) -> None:
        self.settings = settings
        self._toolbox = toolbox.Toolbox(settings)
        self._catalogue = models.load(settings.models_file, os.environ)
        self.metrics = metrics.Metrics()
        self.clock = clock.SystemClock()
        self._store = status_store.KubeInvestigations(api)
        self._leases = leases.KubeLeases(
            api,
            self.clock,
            namespace=settings.namespace,
            holder=settings.holder,
            seconds=settings.lease_seconds,
        )
        self._desk = investigate.Desk(
            holder=settings.holder,
            clock=self.clock,
            investigations=self._store,
            journal=journal.KubeJournal(api),
            holders=self._leases,
            kube_events=kube_events.KubeEventPoster(api, self.clock, holder=settings.holder),
            workbench=workbench.Workbench(
                settings,
                api,
                self.clock,
                catalogue=self._catalogue,
                toolbox=self._toolbox,
            ),
            listeners=(self.metrics.on_event,),
            on_conflict=self.metrics.conflicts.inc,
        )
        self.supervisor = supervisor.Supervisor(
            self._work, concurrent=settings.concurrent, on_wait=self._show_pending
        )
        self._loop = asyncio.get_running_loop()
        self._watch = watch.Watch(access, self._on_object)
        self._listed_at: datetime.datetime | None = None
        self._started_at = self.clock.now()
        self._lag = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; then give back every claim.

        Raises:
            RuntimeError: the watch or a background task ended by itself; only a restart helps.
        """
        async with contextlib.AsyncExitStack() as stack:
            await self._serve(stack)
            stack.push_async_callback(self._toolbox.close)
            stack.push_async_callback(self._catalogue.close)
            await self._toolbox.check()
            await self._leases.renew()
            self._watch.start()
            stack.callback(self._watch.stop)
            works = (
                self._renew(),
                self._list(),
                self._measure_lag(),
                self._toolbox.keep_checking(),
                tend.keep_tending(self._store, self.clock, self.settings.tend_seconds),
            )
            tasks = [await stack.enter_async_context(_background(work)) for work in works]
            try:
                await self._until(stop, tasks)
            finally:
                await self.supervisor.stop()
                with contextlib.suppress(errors.ApiError, TimeoutError):
                    async with asyncio.timeout(investigate.RELEASE_SECONDS):
                        await self._leases.release()

    def alive(self) -> str:
        """What is wrong with this process; "" when nothing is."""
        if not self._watch.alive:
            return "the watch has ended"
        if self._lag > health.LAG_SECONDS:
            return f"the event loop is {self._lag:.1f} s late"
        age = (self.clock.now() - (self._listed_at or self._started_at)).total_seconds()
        self.metrics.list_age.set(age)
        if age > DEAF_PERIODS * self.settings.list_seconds:
            return f"the last successful LIST is {age:.0f} s old"
        return ""

    def ready(self) -> str:
        """What is missing to work; "" when nothing is."""
        if self._listed_at is None:
            return "Investigations have not been listed yet"
        return "" if self._watch.ready else "the watch has not started yet"

    async def _serve(self, stack: contextlib.AsyncExitStack) -> None:
        runners = await health.serve(
            health=self.settings.health_address,
            metrics=self.settings.metrics_address,
            alive=self.alive,
            ready=self.ready,
            registry=self.metrics.registry,
        )
        for runner in runners:
            stack.push_async_callback(runner.cleanup)

    async def _until(self, stop: asyncio.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1.0)
            self.metrics.working.set(self.supervisor.working)
            self.metrics.known.set(self.supervisor.known)
            if not self._watch.alive and not stop.is_set():
                raise RuntimeError("the watch has ended; the process must be restarted")
            for task in tasks:
                if task.done():  # none of them ends by itself
                    raise RuntimeError("a background task has ended") from task.exception()

    async def _work(self, snapshot: snapshots.Snapshot, box: inbox.Inbox) -> None:
        await investigate.investigate(snapshot, box, self._desk)

    async def _show_pending(self, snapshot: snapshots.Snapshot) -> None:
        await investigate.show_pending(snapshot, self._desk)

    def _on_object(self, kind: str, document: Mapping[str, Any]) -> None:
        """Called in kopf's thread: hand the object over to the engine's loop."""
        with contextlib.suppress(RuntimeError):  # the loop has ended: the process stops
            self._loop.call_soon_threadsafe(self._look, kind, dict(document))

    def _look(self, kind: str, document: Mapping[str, Any]) -> None:
        try:
            snapshot = snapshots.read(document)
        except ValueError as error:
            log.warning("an object in the watch can't be read: %s", error)
            return
        if kind == "DELETED":  # perhaps it only stopped matching the field selector
            task = asyncio.ensure_future(self._look_again(snapshot.key))
            task.add_done_callback(functools.partial(_log_failure, snapshot.key))
        else:
            self.supervisor.observe(snapshot)

    async def _look_again(self, key: ports.RunKey) -> None:
        try:
            self.supervisor.observe(await self._store.read(key))
        except errors.ApiNotFound:
            self.supervisor.forget(key)

    async def _list(self) -> None:
        while True:
            try:
                found = await self._store.unfinished()
            except errors.ApiError as error:
                log.warning("Investigations can't be listed: %s", error)
            else:
                self._listed_at = self.clock.now()
                for snapshot in found:
                    self.supervisor.observe(snapshot)
                for key in self.supervisor.missing(found):
                    await self._check_missing(key)
            pause = self.settings.list_seconds if self._listed_at else 1
            await asyncio.sleep(pause)

    async def _check_missing(self, key: ports.RunKey) -> None:
        try:
            await self._look_again(key)
        except errors.ApiError as error:
            log.warning("%s can't be read: %s", key, error)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.settings.renew_seconds)
            try:
                await self._leases.renew()
            except errors.ApiError as error:
                log.warning("the Lease of this replica was not renewed: %s", error)

    async def _measure_lag(self) -> None:
        await health.watch_lag(self.metrics.loop_lag, self._set_lag)

    def _set_lag(self, seconds: float) -> None:
        self._lag = seconds


async def main(settings: Settings) -> int:
    """Run the operator until SIGTERM or SIGINT; the process's exit code."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    access = settings.access or config.choose(os.environ)
    api = await client.connect(access)
    try:
        await Operator(settings, access, api).run(stop)
    except RuntimeError:
        log.exception("the operator ends")
        return 1
    finally:
        await api.close()
    return 0


@contextlib.asynccontextmanager
async def _background(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Run work that never ends beside the body; end it with the body."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _log_failure(key: ports.RunKey, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.warning("%s was not looked at again: %s", key, task.exception())
