"""One effect in, one event out: the only place where a model is asked or a tool runs.

Everything that comes in from outside passes the redaction here, before it is stored, shown or sent on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping

from kubewhy import errors
from kubewhy.core import (
    conclusion,
    conversation,
    effects,
    events,
    messages,
    ports,
    state,
    tools,
    transcript,
    untrusted,
)

GRACE_SECONDS = 2.0
"""Added to a tool's own time-out, so that a tool that bounds itself can still hand back what it has."""

OUTPUT_BUDGET = 8 * 1024 * 1024
"""Most characters of output text that one run stores (design.md §6); later outputs keep an excerpt."""

ERROR_LENGTH = 1024

_FAILURES: tuple[tuple[type[errors.ApiError], tools.ToolStatus], ...] = (
    (errors.ApiNotFound, tools.ToolStatus.NOT_FOUND),
    (errors.ApiForbidden, tools.ToolStatus.FORBIDDEN),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Performer:
    """What performing needs: the model, the tools by name, their context, and the redaction.

    `parallel` bounds how many tools of one run are at work at once.
    """

    model: ports.Model
    toolbox: Mapping[str, ports.Tool]
    context: ports.ToolContext
    clock: ports.Clock
    redact: Callable[[str], str]
    parallel: asyncio.Semaphore

    async def ask(
        self, effect: effects.AskModel, current: state.State, seconds: float
    ) -> events.Event:
        """Send the conversation; the reply or the failure becomes the event. Takes at most `seconds`."""
        request = _request(effect, current, seconds)
        try:
            async with asyncio.timeout(seconds + GRACE_SECONDS):
                reply = await self.model.ask(request)
        except TimeoutError:
            return self._failed(effect, errors.ModelUnavailable(f"no reply within {seconds:.0f} s"))
        except errors.ModelError as error:
            return self._failed(effect, error)
        return events.ModelReplied(
            at=self.clock.now(),
            step=effect.step,
            text=self.redact(untrusted.clean(reply.text)),
            calls=tuple(self._redacted(call) for call in reply.calls),
            usage=reply.usage,
            finish=reply.finish,
        )

    async def run(self, effect: effects.RunTool, current: state.State) -> events.ToolReturned:
        """Run one call. Whatever happens, exactly one result comes back."""
        async with self.parallel:
            started = time.monotonic()
            output = await self._output(effect.call)
        return events.ToolReturned(
            at=self.clock.now(),
            call=effect.call.id,
            attempt=effect.attempt,
            result=self._result(output, current, int((time.monotonic() - started) * 1000)),
        )

    async def _output(self, call: tools.ToolCall) -> tools.ToolOutput:
        tool = self.toolbox.get(call.tool)
        if tool is None:
            return _ended(
                tools.ToolStatus.REFUSED, f"the tool {call.tool} is not available any more"
            )
        if tool.spec.effect is tools.ToolEffect.WRITE:
            return _ended(
                tools.ToolStatus.REFUSED, f"{call.tool} changes things and has no approval"
            )
        limit = tool.spec.timeout_seconds
        try:
            async with asyncio.timeout(limit + GRACE_SECONDS):
                return await tool.run(self.context, call.values)
        except Exception as error:  # noqa: BLE001 - outer edge: one broken tool must not end the run
            return _failed_output(call, error, limit)

    def _result(
        self, output: tools.ToolOutput, current: state.State, duration_ms: int
    ) -> tools.ToolResult:
        text = self.redact(untrusted.clean(output.text))
        room = OUTPUT_BUDGET - sum(len(stored) for stored in current.outputs().values())
        kept = transcript.excerpt(
            text, max(conversation.SHOWN_CHARACTERS, min(tools.STORED_TEXT_BYTES, room))
        )
        return tools.ToolResult(
            status=output.status,
            text=kept,
            total_bytes=output.total_bytes
            if output.total_bytes is not None
            else len(output.text.encode()),
            truncated=output.truncated or kept != text,
            duration_ms=duration_ms,
        )

    def _redacted(self, call: messages.RequestedCall) -> messages.RequestedCall:
        return messages.RequestedCall(
            tool=untrusted.clean(call.tool)[:256],
            arguments=self.redact(untrusted.clean(call.arguments)),
        )

    def _failed(self, effect: effects.AskModel, error: errors.ModelError) -> events.ModelFailed:
        return events.ModelFailed(
            at=self.clock.now(),
            step=effect.step,
            error=type(error).__name__,
            message=self.redact(untrusted.clean(str(error)))[:ERROR_LENGTH],
        )


def _request(
    effect: effects.AskModel, current: state.State, seconds: float
) -> messages.ModelRequest:
    return messages.ModelRequest(
        messages=conversation.messages(current),
        tools=() if effect.final else (*current.input.tools, conclusion.CONCLUDE),
        final=effect.final,
        timeout_seconds=seconds,
    )


def _ended(status: tools.ToolStatus, text: str) -> tools.ToolOutput:
    return tools.ToolOutput(text=text[:ERROR_LENGTH], status=status)


def _failed_output(call: tools.ToolCall, error: Exception, limit: int) -> tools.ToolOutput:
    if isinstance(error, TimeoutError):
        text = f"{call.tool} gave no result within {limit} s"
        return _ended(tools.ToolStatus.TIMED_OUT, text)
    if isinstance(error, errors.ToolFailure):
        return _ended(tools.ToolStatus(error.status), str(error))
    if isinstance(error, errors.ApiError):
        return _ended(_status(error), str(error))
    text = f"{call.tool} failed: {type(error).__name__}: {error}"
    return _ended(tools.ToolStatus.ERROR, text)


def _status(error: errors.ApiError) -> tools.ToolStatus:
    return next(
        (status for kind, status in _FAILURES if isinstance(error, kind)), tools.ToolStatus.ERROR
    )
