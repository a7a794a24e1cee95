"""Fakes of the smaller ports: clock, tool, processes, HTTP, journal."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.core import ports, tools

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""Where a `FakeClock` begins unless told otherwise."""


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime.datetime = START) -> None:
        self._now = start

    def now(self) -> datetime.datetime:
        """The time it was set to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move it; negative seconds move it back, as a corrected clock would."""
        self._now += datetime.timedelta(seconds=seconds)


Outcome = str | tools.ToolOutput | errors.KubewhyError
"""What a fake tool gives: text of a success, a whole output, or an error to raise."""


class FakeTool:
    """A tool that gives what it was told to, and remembers the arguments of each run.

    `outcome` may be a function of the arguments. `hold` makes each run wait for an event that the
    test sets; cancelled runs are counted in `cancelled`.
    """

    def __init__(
        self,
        name: str = "fake_look",
        outcome: Outcome | Callable[[Mapping[str, Any]], Outcome] = "ok",
        *,
        parameters: Mapping[str, Any] | None = None,
        effect: tools.ToolEffect = tools.ToolEffect.READ,
        timeout_seconds: int = 30,
        hold: asyncio.Event | None = None,
    ) -> None:
        self.spec = tools.ToolSpec(
            name=name,
            description=f"The fake tool {name}.",
            parameters=parameters or {"type": "object", "properties": {}},
            toolset="fake",
            effect=effect,
            timeout_seconds=timeout_seconds,
        )
        self.runs: list[Mapping[str, Any]] = []
        self.cancelled = 0
        self._outcome = outcome
        self._hold = hold

    async def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        """Record the run and give the outcome."""
        del context
        self.runs.append(dict(arguments))
        await self._held()
        outcome = self._outcome(arguments) if callable(self._outcome) else self._outcome
        if isinstance(outcome, errors.KubewhyError):
            raise outcome
        return tools.ToolOutput(text=outcome) if isinstance(outcome, str) else outcome

    async def _held(self) -> None:
        try:
            await (self._hold.wait() if self._hold else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


class FakeProcessRunner:
    """Programs by name (the first word of argv): an output text, a result, or an error to raise."""

    def __init__(
        self, programs: Mapping[str, str | ports.ProcessResult | errors.ToolFailure]
    ) -> None:
        self.programs = dict(programs)
        self.runs: list[Sequence[str]] = []

    async def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        limit_bytes: int = tools.STORED_TEXT_BYTES,
    ) -> ports.ProcessResult:
        """Record argv and give what the test put in; an unknown program can't be started."""
        del environment, timeout_seconds
        self.runs.append(tuple(argv))
        found = self.programs.get(argv[0])
        if found is None:
            raise errors.ToolFailure("Error", f"{argv[0]} can't be started: no such program")
        if isinstance(found, errors.ToolFailure):
            raise found
        return _finished(found, limit_bytes) if isinstance(found, str) else found


class FakeHttpReader:
    """Replies by URL; any other URL is answered as unreachable. `requests` holds URL and parameters."""

    def __init__(self, replies: Mapping[str, str | ports.HttpReply | errors.ToolFailure]) -> None:
        self.replies = dict(replies)
        self.requests: list[tuple[str, Mapping[str, str]]] = []

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 20.0,
        limit_bytes: int = 8 * 1024 * 1024,
    ) -> ports.HttpReply:
        """Record the request and give what the test put in."""
        del headers, timeout_seconds
        self.requests.append((url, dict(params or {})))
        found = self.replies.get(url)
        if found is None:
            raise errors.ToolFailure("Error", f"{url} can't be reached: connection refused")
        if isinstance(found, errors.ToolFailure):
            raise found
        if isinstance(found, ports.HttpReply):
            return found
        body = found.encode()
        return ports.HttpReply(
            status=200, headers={}, body=body[:limit_bytes], truncated=len(body) > limit_bytes
        )


class InMemoryJournal:
    """A journal in memory with the real one's compare-and-swap.

    While `unavailable` is set, every use fails. Batches and outputs are public, so that a test can
    damage them.
    """

    def __init__(self) -> None:
        self.batches: dict[str, list[ports.Batch]] = {}
        self.outputs: dict[tuple[str, str], str] = {}
        self.unavailable = False

    async def load(self, key: ports.RunKey) -> Sequence[ports.Batch]:
        """All batches of the run in order."""
        self._check(key)
        return tuple(self.batches.get(key.uid, ()))

    async def append(self, key: ports.RunKey, batch: ports.Batch) -> None:
        """Add the batch if it is the next one; the same bytes again are a success."""
        self._check(key)
        stored = self.batches.setdefault(key.uid, [])
        if batch.number > len(stored):
            raise errors.JournalLost(f"{key}: batch {len(stored)} is missing before {batch.number}")
        if batch.number < len(stored):
            if stored[batch.number].data != batch.data:
                raise errors.Fenced(f"{key}: another holder has written batch {batch.number}")
            return
        stored.append(batch)

    async def store(self, key: ports.RunKey, digest: str, text: str) -> None:
        """Keep an output under its digest."""
        self._check(key)
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
            raise ValueError(f"{key}: {digest[:12]} is not the sha256 of its text")
        self.outputs[key.uid, digest] = text

    async def fetch(self, key: ports.RunKey, digest: str) -> str:
        """Give an output back."""
        self._check(key)
        text = self.outputs.get((key.uid, digest))
        if text is None:
            raise errors.JournalLost(f"{key}: the output {digest[:12]} is missing")
        return text

    def _check(self, key: ports.RunKey) -> None:
        if self.unavailable:
            raise errors.JournalUnavailable(f"{key}: the journal is made unavailable by the test")


def _finished(output: str, limit_bytes: int) -> ports.ProcessResult:
    data = output.encode()
    return ports.ProcessResult(
        exit_code=0,
        output=data[:limit_bytes].decode(errors="ignore"),
        total_bytes=len(data),
        truncated=len(data) > limit_bytes,
    )
