"""One Investigation in the hands of this holder: its state, and the only way to change it, `append`."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Sequence

from kubewhy import errors
from kubewhy.core import events, loop, ports, state
from kubewhy.engine import codec

RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses between tries while the journal can't be written; the last one repeats."""


def pause_seconds(tries: int) -> float:
    """The pause after that many failed tries."""
    return RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)]


Listener = Callable[[ports.RunKey, events.Event, state.State], None]
"""Told of each event after it is stored and applied; must neither block nor raise."""


class Ledger:
    """Holds the state that the journal tells, and appends to it.

    The state never runs ahead of the journal: an event is applied only after its batch is stored. Nothing is
    performed on the word of an event that is not.
    """

    def __init__(
        self,
        key: ports.RunKey,
        journal: ports.Journal,
        clock: ports.Clock,
        *,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.key = key
        self.clock = clock
        self.state = state.State()
        self.batches = 0
        self.unavailable_since: datetime.datetime | None = None
        self._journal = journal
        self._listeners = listeners
        self._epoch = 0
        self._last = ""

    async def load(self) -> None:
        """Fold all stored batches, from the first one, also when a load before this one failed half-way.

        Raises:
            errors.JournalLost, errors.JournalUnavailable: see `ports.Journal.load`.
        """
        self.state, self.batches, self._last = state.State(), 0, ""
        for batch in await self._journal.load(self.key):
            self._check(batch)
            digests = codec.references(batch.data)
            outputs = {digest: await self._journal.fetch(self.key, digest) for digest in digests}
            for event in codec.decode(batch.data, outputs):
                self.state = loop.apply(self.state, event)
            self.batches, self._last = batch.number + 1, batch.digest

    async def claim(self, epoch: int, holder: str, *first: events.Event) -> None:
        """Append `Claimed` before anything else: from here on an older holder's appends fail.

        Raises:
            errors.Fenced: another holder was faster.
        """
        self._epoch = max(epoch, self.state.epoch + 1)
        claimed = events.Claimed(at=self.clock.now(), epoch=self._epoch, holder=holder)
        await self.append(claimed, *first)

    async def append(self, *batch: events.Event) -> None:
        """Store the events as the next batch, then apply them. Waits as long as the journal can't be written.

        Raises:
            errors.Fenced: another holder has appended.
        """
        if not batch:
            return
        data, outputs = codec.encode(batch)
        stored = ports.Batch(
            number=self.batches,
            first_event=self.state.event_count,
            event_count=len(batch),
            epoch=self._epoch,
            data=data,
            previous=self._last,
        )
        await self._persist(stored, outputs)
        self.batches, self._last = stored.number + 1, stored.digest
        for event in batch:
            self.state = loop.apply(self.state, event)
            for listener in self._listeners:
                listener(self.key, event, self.state)

    def _check(self, batch: ports.Batch) -> None:
        if batch.number != self.batches or batch.previous != self._last:
            raise errors.JournalLost(
                f"{self.key}: batch {self.batches} of the journal is missing or was changed; "
                "apply the Investigation again under a new name"
            )

    async def _persist(self, batch: ports.Batch, outputs: dict[str, str]) -> None:
        tries = 0
        while True:
            try:
                for digest, text in outputs.items():
                    await self._journal.store(self.key, digest, text)
                await self._journal.append(self.key, batch)
            except errors.JournalUnavailable:
                self.unavailable_since = self.unavailable_since or self.clock.now()
                await asyncio.sleep(pause_seconds(tries))
                tries += 1
            else:
                self.unavailable_since = None
                return
