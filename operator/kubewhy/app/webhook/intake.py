"""Carries a plan out: creates Investigations and notes resolutions, each alert on its own.

One alert's own failure is counted and logged and hurts no other. As soon as the API server can't take alerts, nothing
more is begun: the sender repeats the whole message, and what is stored already is then a duplicate. The names that an
attempt stored before it failed are kept for a minute, so that the next one goes on where it ended: with a slow API
server a long message would otherwise never come to its end. Losing them costs requests and nothing else.
"""

from __future__ import annotations

import asyncio
import collections
import datetime
import enum
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator

from kubewhy import errors
from kubewhy.core.alerting import alert_plan, alert_store, alertmanager

_LOG = logging.getLogger(__name__)
_SEEN_SECONDS = 60.0
_PROGRESS_SECONDS = 60.0
_MAX_NAMES = 8192
_ERROR_LENGTH = 512

Job = Callable[[], Awaitable[None]]


class Outcome(enum.StrEnum):
    """What became of one alert."""

    CREATED = "Created"
    DUPLICATE = "Duplicate"
    RESOLVED = "Resolved"
    NOTHING_TO_RESOLVE = "NothingToResolve"
    IGNORED = "Ignored"
    INVALID = "Invalid"
    REFUSED = "Refused"
    OVERFLOW = "Overflow"


class Tally:
    """The counts of one message by outcome and reason.

    `unavailable` says why the sender must try again, `stored` names the Investigations that exist already.
    """

    def __init__(self) -> None:
        self.counts: collections.Counter[tuple[Outcome, str]] = collections.Counter()
        self.unavailable = ""
        self.stored: list[str] = []
        self.missing_namespaces: set[str] = set()

    def add(self, outcome: Outcome, reason: str = "", number: int = 1) -> None:
        """Count alerts."""
        if number:
            self.counts[outcome, reason] += number

    def totals(self) -> dict[str, int]:
        """The counts by outcome."""
        found: collections.Counter[str] = collections.Counter()
        for (outcome, _), number in self.counts.items():
            found[outcome.value] += number
        return dict(found)


class Intake:
    """Carries out plans against one store, with at most `writes` jobs at a time over all of them."""

    def __init__(
        self,
        store: alert_store.InvestigationStore,
        *,
        writes: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._writes = writes
        self._slots = asyncio.Semaphore(writes)
        self._seen = _Names(monotonic, seconds=_SEEN_SECONDS)
        self._progress = _Names(monotonic, seconds=_PROGRESS_SECONDS)

    async def carry_out(
        self,
        plan: alert_plan.Plan,
        problems: Iterable[alertmanager.Problem],
        *,
        at: datetime.datetime,
    ) -> Tally:
        """Write all of the plan, creations before resolutions."""
        tally = Tally()
        for problem in problems:
            tally.add(Outcome.INVALID, problem.fault.value)
        for why, number in plan.ignored.items():
            tally.add(Outcome.IGNORED, why.value, number)
        tally.add(Outcome.IGNORED, "TooManyResolved", plan.left_out)
        tally.add(Outcome.OVERFLOW, number=plan.overflow)
        try:
            await self._run(
                (functools.partial(self._create, each, tally, at) for each in plan.creations), tally
            )
            await self._run(
                (functools.partial(self._resolve, each, tally) for each in plan.resolutions), tally
            )
        except BaseException:
            self._progress.add(tally.stored)
            raise
        if tally.unavailable:
            self._progress.add(tally.stored)
        return tally

    async def _run(self, jobs: Iterator[Job], tally: Tally) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._writes):
                group.create_task(self._work(jobs, tally))

    async def _work(self, jobs: Iterator[Job], tally: Tally) -> None:
        for job in jobs:
            async with self._slots:
                if tally.unavailable:
                    return
                try:
                    await job()
                except errors.ApiError as error:
                    tally.unavailable = str(error)[:_ERROR_LENGTH]

    async def _create(
        self, entry: alert_plan.Creation, tally: Tally, at: datetime.datetime
    ) -> None:
        if self._progress.take(entry.name):
            tally.stored.append(entry.name)
            tally.add(Outcome.DUPLICATE)
            return
        try:
            stored, namespace = await self._create_somewhere(entry, tally)
        except alert_store.OWN_FAILURES as error:
            tally.add(Outcome.REFUSED, type(error).__name__)
            _LOG.warning("alert not stored: %s", error, extra=_about(entry.namespace, entry.name))
            return
        except ValueError as error:  # the manifest breaks our own schema
            tally.add(Outcome.INVALID, "Manifest")
            _LOG.warning(
                "alert not stored: %s",
                type(error).__name__,
                extra=_about(entry.namespace, entry.name),
            )
            return
        tally.stored.append(entry.name)
        tally.add(Outcome(stored.value))
        if stored is alert_store.Stored.CREATED:
            _LOG.info("investigation created", extra=_about(namespace, entry.name))
        else:
            await self._note_seen(namespace, entry.name, at)

    async def _create_somewhere(
        self, entry: alert_plan.Creation, tally: Tally
    ) -> tuple[alert_store.Stored, str]:
        if not (entry.fallback and entry.namespace in tally.missing_namespaces):
            try:
                return await self._store.create(entry.manifest(entry.namespace)), entry.namespace
            except alert_store.NAMESPACE_REFUSED as error:
                if not entry.fallback:
                    raise
                if isinstance(error, errors.ApiNotFound):
                    tally.missing_namespaces.add(entry.namespace)
                _LOG.info("fallback namespace: %s", error, extra=_about(entry.fallback, entry.name))
        return await self._store.create(entry.manifest(entry.fallback)), entry.fallback

    async def _note_seen(self, namespace: str, name: str, at: datetime.datetime) -> None:
        """Best effort: the alert is stored, whatever comes of the note."""
        if self._seen.holds(name):
            return
        self._seen.add([name])
        try:
            await self._store.note_seen(namespace, name, at=at)
        except errors.ApiError as error:
            _LOG.warning("duplicate not noted: %s", error, extra=_about(namespace, name))

    async def _resolve(self, entry: alert_plan.Resolution, tally: Tally) -> None:
        try:
            where = await self._note_resolved(entry)
        except alert_store.OWN_FAILURES as error:
            tally.add(Outcome.REFUSED, type(error).__name__)
            _LOG.warning(
                "resolution not noted: %s", error, extra=_about(entry.namespaces[0], entry.name)
            )
            return
        tally.add(Outcome.RESOLVED if where else Outcome.NOTHING_TO_RESOLVE)
        if where:
            _LOG.info("alert resolved", extra=where)

    async def _note_resolved(self, entry: alert_plan.Resolution) -> dict[str, str] | None:
        for namespace in entry.namespaces:
            if await self._store.note_resolved(namespace, entry.name, at=entry.resolved_at):
                return _about(namespace, entry.name)
        for namespace in entry.namespaces:
            moved = entry.of(await self._store.unresolved(namespace, entry.series))
            if moved is not None and await self._store.note_resolved(
                namespace, moved.name, at=entry.resolved_at
            ):
                return _about(namespace, moved.name)
        return None


class _Names:
    """Names for some seconds, a bounded number of them: only ever a way to save a request."""

    def __init__(self, monotonic: Callable[[], float], *, seconds: float) -> None:
        self._monotonic = monotonic
        self._seconds = seconds
        self._added: collections.OrderedDict[str, float] = collections.OrderedDict()

    def add(self, names: Iterable[str]) -> None:
        now = self._monotonic()
        for name in names:
            self._added[name] = now
            self._added.move_to_end(name)
        while len(self._added) > _MAX_NAMES:
            self._added.popitem(last=False)

    def holds(self, name: str) -> bool:
        return self._monotonic() - self._added.get(name, float("-inf")) < self._seconds

    def take(self, name: str) -> bool:
        held = self.holds(name)
        self._added.pop(name, None)
        return held


def _about(namespace: str, name: str) -> dict[str, str]:
    return {"investigation": f"{namespace}/{name}"}
