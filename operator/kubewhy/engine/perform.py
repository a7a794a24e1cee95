"""One effect in, one event out: the only place where a model is asked or a tool runs.

Everything that comes in from outside passes the redaction here, before it is stored, shown or sent on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from kubewhy import errors
from kubewhy.core import (
    admission,
    call_arguments,
    conclusion,
    conversation,
    effects,
    events,
    loop,
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
"""Most bytes of output text that one run stores (design.md §6); later outputs keep what a model is shown."""

READ_CHARACTERS = 4 * tools.STORED_TEXT_BYTES
"""A longer output is cut to this before it is redacted, which takes time by length. What that cut splits is far from
the head and the tail that are kept, so no half credential is stored."""

REPLY_CHARACTERS = 256 * 1024
"""Most characters of a model's text that are kept."""

ARGUMENTS_CHARACTERS = 512 * 1024
"""Most characters of arguments in one reply; the calls beyond are as if they had not been asked."""

ERROR_LENGTH = 1024

MOST_USED = 10**12
"""Most tokens or micro-USD that one reply is believed to have used; thousands of such sums still fit a status."""

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
            text=self._readable(reply.text, REPLY_CHARACTERS),
            calls=tuple(self._calls(reply.calls[: admission.CALLS_STORED])),
            usage=_believable(reply.usage),
            finish=untrusted.clean_line(reply.finish[:64]),
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
        refused = tools.ToolStatus.REFUSED
        if tool is None:
            return self._ended(refused, f"the tool {call.tool} is not available any more")
        if tool.spec.effect is tools.ToolEffect.WRITE:
            return self._ended(refused, f"{call.tool} changes things and has no approval")
        limit = tool.spec.timeout_seconds
        try:
            async with asyncio.timeout(limit + GRACE_SECONDS):
                output = await tool.run(self.context, call.values)
            return _checked(call, output)
        except Exception as error:  # noqa: BLE001 - outer edge: one broken tool must not end the run
            return self._ended(*_failure(call, error, limit))

    def _ended(self, status: tools.ToolStatus, text: str) -> tools.ToolOutput:
        """A result in the engine's words."""
        return tools.ToolOutput(text=self._readable(text, ERROR_LENGTH), status=status)

    def _result(
        self, output: tools.ToolOutput, current: state.State, duration_ms: int
    ) -> tools.ToolResult:
        read = transcript.excerpt(output.text, READ_CHARACTERS)
        text = self._readable(read, len(read))
        kept = _within(text, _share(current), before=len(output.text) - len(read))
        total = output.total_bytes
        return tools.ToolResult(
            status=output.status,
            text=kept,
            total_bytes=_size(output.text) if total is None else total,
            truncated=output.truncated or read != output.text or kept != text,
            duration_ms=duration_ms,
        )

    def _calls(
        self, requested: Iterable[messages.RequestedCall]
    ) -> Iterator[messages.RequestedCall]:
        """The calls as they may be stored, up to `ARGUMENTS_CHARACTERS` in all."""
        room = ARGUMENTS_CHARACTERS
        for call in requested:
            arguments = self._readable(call.arguments, call_arguments.LONGEST + 1)
            room -= len(arguments)
            if room < 0:
                return
            tool = untrusted.clean_line(call.tool[:256])
            yield messages.RequestedCall(tool=tool, arguments=arguments)

    def _readable(self, text: str, limit: int) -> str:
        """Text from outside as it may be stored: nothing invisible in it, credentials masked, at most `limit` long.

        It is cut after the redaction, since half a credential has no shape; far more than that is not even read.
        """
        return self.redact(untrusted.clean(text[: 2 * limit]))[:limit]

    def _failed(self, effect: effects.AskModel, error: errors.ModelError) -> events.ModelFailed:
        return events.ModelFailed(
            at=self.clock.now(),
            step=effect.step,
            error=type(error).__name__,
            message=self._readable(str(error), ERROR_LENGTH),
            usage=_believable(error.usage),
        )


def _believable(told: object) -> messages.Usage:
    """What a model says it used, without numbers that can't be; nothing where it says nothing."""
    if not isinstance(told, messages.Usage):
        return messages.Usage()
    numbers = dataclasses.asdict(told)
    return messages.Usage(**{name: min(max(0, n), MOST_USED) for name, n in numbers.items()})


def _request(
    effect: effects.AskModel, current: state.State, seconds: float
) -> messages.ModelRequest:
    return messages.ModelRequest(
        messages=conversation.messages(current),
        tools=() if effect.final else (*current.input.tools, conclusion.CONCLUDE),
        final=effect.final,
        timeout_seconds=seconds,
    )


def _failure(call: tools.ToolCall, error: Exception, limit: int) -> tuple[tools.ToolStatus, str]:
    """Status and words for what a tool raised."""
    if isinstance(error, TimeoutError):
        return tools.ToolStatus.TIMED_OUT, f"{call.tool} gave no result within {limit} s"
    if isinstance(error, errors.ToolFailure) and error.status in set(tools.ToolStatus):
        return tools.ToolStatus(error.status), str(error)
    if isinstance(error, errors.ApiError):
        return _status(error), str(error)
    return tools.ToolStatus.ERROR, f"{call.tool} failed: {type(error).__name__}: {error}"


def _status(error: errors.ApiError) -> tools.ToolStatus:
    return next(
        (status for kind, status in _FAILURES if isinstance(error, kind)), tools.ToolStatus.ERROR
    )


def _checked(call: tools.ToolCall, output: object) -> tools.ToolOutput:
    if isinstance(output, tools.ToolOutput):
        return output
    raise TypeError(f"{call.tool} gave a {type(output).__name__} instead of a ToolOutput")


def _share(current: state.State) -> int:
    """Bytes that one of the calls at work now may store: an equal part of what the run has left."""
    left = OUTPUT_BUDGET - sum(_size(text) for text in current.outputs().values())
    part = left // max(1, len(loop.in_flight(current)))
    return max(conversation.SHOWN_CHARACTERS, min(tools.STORED_TEXT_BYTES, part))


def _within(text: str, limit: int, *, before: int) -> str:
    """Head and tail of the text, at most `limit` bytes; `before` characters were left out of it already."""
    kept, characters = text, limit
    while _size(kept) > limit:
        kept = transcript.excerpt(text, characters - _NOTE, before=before)
        characters = min(characters - 1, characters * limit // _size(kept))
    return kept


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_NOTE = 128
"""Room for the words about what is left out."""
