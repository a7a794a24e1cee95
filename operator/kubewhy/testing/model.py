"""The scripted model behind the port `Model`, in-process."""

from __future__ import annotations

import asyncio
import collections
import http
import json
from collections.abc import Sequence

from kubewhy import errors
from kubewhy.core import messages
from kubewhy.testing import script

_BY_STATUS: dict[int, type[errors.ModelError]] = {
    401: errors.ModelAuthFailed,
    403: errors.ModelAuthFailed,
    404: errors.ModelNotFound,
    429: errors.ModelRateLimited,
}


class ScriptedModel:
    """Plays turns back, chosen by step. A fault is raised as the error that an adapter would raise.

    `requests` holds all that it was asked. There are no retries here: each `ask` uses up one fault.
    """

    def __init__(
        self,
        turns: Sequence[script.Turn] | script.Script,
        *,
        name: str = "scripted",
        context_tokens: int = 128_000,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.requests: list[messages.ModelRequest] = []
        self._script = (
            turns if isinstance(turns, script.Script) else script.Script(turns=tuple(turns))
        )
        self._asked: collections.Counter[int] = collections.Counter()

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        """The turn of the request's step.

        Raises:
            errors.ModelError: the turn's fault, or `ModelProtocolError` where the script has no such turn.
        """
        self.requests.append(request)
        turn, fault = self._choose(request)
        await asyncio.sleep(fault.delay if fault else turn.delay)
        if fault:
            await self._fail(fault)
        return _reply(turn)

    def _choose(self, request: messages.ModelRequest) -> tuple[script.Turn, script.Fault | None]:
        said = [message for message in request.messages if message.role is messages.Role.ASSISTANT]
        if self._script.obedient:
            return _obey(request, said), None
        number = len(said) if self._script.by == "step" else len(self.requests) - 1
        turn = self._script.turn(number)
        if turn is None:
            raise errors.ModelProtocolError(
                f"the script has no turn {number}; it has {len(self._script.turns)}"
            )
        earlier, self._asked[number] = self._asked[number], self._asked[number] + 1
        return turn.filled(_outputs(request)), turn.fault(earlier)

    async def _fail(self, fault: script.Fault) -> None:
        if fault.silent or fault.drip:
            await asyncio.get_running_loop().create_future()
        status = 0 if fault.reset or fault.cut >= 0 else fault.status
        text = f"scripted fault: status {status or 'none'}"
        if status == http.HTTPStatus.OK:
            raise errors.ModelProtocolError(text)
        after = fault.headers.get("Retry-After", "")
        kind = _BY_STATUS.get(status, errors.ModelUnavailable)
        raise kind(text, retry_after=float(after) if after.isdecimal() else None)


def _outputs(request: messages.ModelRequest) -> list[str]:
    return [message.text for message in request.messages if message.role is messages.Role.TOOL]


def _obey(request: messages.ModelRequest, said: Sequence[messages.Message]) -> script.Turn:
    told = [
        message.text
        for message in request.messages
        if message.role in (messages.Role.USER, messages.Role.TOOL)
    ]
    called = [call.tool for message in said for call in message.calls]
    return script.obey(
        {spec.name: spec.parameters for spec in request.tools}, called, "\n".join(told)
    )


def _reply(turn: script.Turn) -> messages.ModelReply:
    usage = turn.usage or script.Usage(input=0, output=0)
    return messages.ModelReply(
        text=turn.text or "",
        calls=tuple(
            messages.RequestedCall(
                tool=call.tool,
                arguments=call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments),
            )
            for call in turn.calls
        ),
        usage=messages.Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cached_tokens=usage.cached,
            cost_micro_usd=usage.cost_micro_usd,
        ),
        finish=turn.finish or ("tool_calls" if turn.calls else "stop"),
    )
