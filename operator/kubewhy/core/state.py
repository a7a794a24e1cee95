"""Everything a run knows about itself, folded from its journal. Only `loop.apply` makes new ones."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator

from kubewhy.core import conclusion, events, messages, tools

_NO_TIME = datetime.timedelta()
_NO_USAGE = messages.Usage()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """One call and how far it is: due (no result, not in flight), in flight, or answered."""

    call: tools.ToolCall
    attempt: int = 0
    in_flight: bool = False
    started_at: datetime.datetime | None = None
    result: tools.ToolResult | None = None

    @property
    def executed(self) -> bool:
        """Whether the tool was ever started; calls refused beforehand were not."""
        return self.attempt > 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepState:
    """One model request, its reply and the calls in it.

    `answer` is the conclusion read from the reply, `fault` why the reply can't be used, `error` why none came;
    `faults` counts the unusable replies to this step, which is asked again once.
    """

    number: int
    final: bool = False
    limit: str = ""
    in_flight: bool = True
    replied: bool = False
    text: str = ""
    usage: messages.Usage = _NO_USAGE
    calls: tuple[CallState, ...] = ()
    answer: conclusion.Conclusion | None = None
    fault: str = ""
    faults: int = 0
    error: events.ModelFailed | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The whole run. `waited` is the time that did not count as working time; `waiting_since` is set while it grows."""

    opened: events.Opened | None = None
    epoch: int = 0
    holder: str = ""
    claims_without_progress: int = 0
    steps: tuple[StepState, ...] = ()
    usage: messages.Usage = _NO_USAGE
    unaccounted_calls: int = 0
    suspended: bool = False
    waiting_since: datetime.datetime | None = None
    waited: datetime.timedelta = _NO_TIME
    time_short: bool = False
    deadline_reached: bool = False
    cancel_requested: bool = False
    alerts_resolved_at: datetime.datetime | None = None
    concluded: events.Concluded | None = None
    event_count: int = 0
    last_at: datetime.datetime | None = None

    @property
    def input(self) -> events.Opened:
        """The run's frozen input.

        Raises:
            ValueError: the run has not been opened.
        """
        if self.opened is None:
            raise ValueError("the run has not been opened")
        return self.opened

    @property
    def step(self) -> StepState | None:
        """The newest step."""
        return self.steps[-1] if self.steps else None

    def calls(self) -> Iterator[CallState]:
        """All calls of all steps, oldest first."""
        for step in self.steps:
            yield from step.calls

    @property
    def executed_calls(self) -> int:
        """Calls that were started: what `limits.toolCalls` counts."""
        return sum(call.executed for call in self.calls())

    def outputs(self) -> dict[str, str]:
        """Stored text of each answered call that really ran, by call id: what evidence may quote."""
        return {
            call.call.id: call.result.text
            for call in self.calls()
            if call.executed and call.result is not None
        }
