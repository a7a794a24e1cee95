"""An OpenAI-compatible chat server that plays a script, in its own process.

    python tests/support/scripted_openai.py --script FILE [--port 0] [--log FILE]

prints its base URL as the first line. The script's form is `kubewhy.testing.script`. Every request is
appended to the log as one JSON line (the key only as its sha256), `GET /stats` counts requests per
turn. The reply leaves in one write on a socket without Nagle's delay: headers and body written apart
would add 40 ms per call (Nagle meets delayed acknowledgement), which tests would measure as ours.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import hashlib
import json
import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from kubewhy.testing import script

NEVER = 3600.0
"""Seconds that a silent fault stays silent."""

CONTENT_TYPES = {"{": "application/json", "<": "text/html"}


class Server:
    """Plays one script to any number of clients."""

    def __init__(self, played: script.Script, log: Path | None = None) -> None:
        self._script = played
        self._log = log
        self._requests = 0
        self._unexpected = 0
        self._by_turn: collections.Counter[int] = collections.Counter()
        self._keys: set[str] = set()

    def application(self) -> web.Application:
        """The aiohttp application with all routes."""
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.router.add_post("/v1/chat/completions", self._complete)
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/stats", self._stats)
        return application

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        started = time.perf_counter()
        body = await request.json()
        self._requests += 1
        said = sum(message.get("role") == "assistant" for message in body["messages"])
        number = said if self._script.by == "step" else self._requests - 1
        turn = _obey(body) if self._script.obedient else self._script.turn(number)
        earlier, self._by_turn[number] = self._by_turn[number], self._by_turn[number] + 1
        self._record(request, body, number, started)
        if turn is None:
            self._unexpected += 1
            return _error(400, f"the script has no turn {number}")
        fault = turn.fault(earlier)
        if fault:
            return await _fail(request, fault, turn)
        await asyncio.sleep(turn.delay)
        return _json(
            turn.raw if turn.raw is not None else _completion(turn.filled(_outputs(body)), body)
        )

    async def _models(self, _: web.Request) -> web.Response:
        return _json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    async def _stats(self, _: web.Request) -> web.Response:
        return _json(
            {
                "requests": self._requests,
                "unexpected": self._unexpected,
                "turns": {str(number): count for number, count in sorted(self._by_turn.items())},
                "keys": sorted(self._keys),
            }
        )

    def _record(self, request: web.Request, body: Any, number: int, started: float) -> None:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        digest = hashlib.sha256(key.encode()).hexdigest() if key else ""
        self._keys.add(digest)
        if self._log is None:
            return
        headers = {
            name: value for name, value in request.headers.items() if name != "Authorization"
        }
        entry = {
            "number": self._requests - 1,
            "turn": number,
            "at": time.time(),
            "serviceMicroseconds": round((time.perf_counter() - started) * 1_000_000),
            "key": digest,
            "headers": headers,
            "body": body,
        }
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(entry) + "\n")


async def _fail(request: web.Request, fault: script.Fault, turn: script.Turn) -> web.StreamResponse:
    await asyncio.sleep(NEVER if fault.silent else fault.delay)
    if fault.reset:
        _reset(request)
    text = fault.body or _fault_body(fault, turn, await request.json())
    if fault.drip or fault.cut >= 0:
        return await _partly(request, fault, text.encode())
    return _response(fault.status, text, fault.headers)


async def _partly(request: web.Request, fault: script.Fault, body: bytes) -> web.StreamResponse:
    """The headers promise the whole body; it comes byte by byte, or stops short."""
    response = web.StreamResponse(status=fault.status, headers=fault.headers)
    response.content_type = "application/json"
    response.content_length = len(body)
    await response.prepare(request)
    if fault.cut >= 0:
        await response.write(body[: fault.cut])
        if request.transport:
            request.transport.close()
        return response
    for position in range(len(body)):
        await response.write(body[position : position + 1])
        await asyncio.sleep(fault.drip)
    return response


def _reset(request: web.Request) -> None:
    connection = request.transport.get_extra_info("socket") if request.transport else None
    if connection is not None:
        # Lingering for no time turns the close into a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if request.transport:
        request.transport.abort()


def _fault_body(fault: script.Fault, turn: script.Turn, body: Any) -> str:
    if fault.status == web.HTTPOk.status_code:
        return json.dumps(_completion(turn.filled(_outputs(body)), body))
    return json.dumps({"error": {"message": f"scripted fault {fault.status}", "type": "scripted"}})


def _completion(turn: script.Turn, body: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [_call(index, call) for index, call in enumerate(turn.calls)]
    finish = turn.finish or ("tool_calls" if turn.calls else "stop")
    completion: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    if turn.usage:
        completion["usage"] = {
            "prompt_tokens": turn.usage.input,
            "completion_tokens": turn.usage.output,
            "total_tokens": turn.usage.input + turn.usage.output,
            "prompt_tokens_details": {"cached_tokens": turn.usage.cached},
        }
    return completion


def _call(index: int, call: script.Call) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    identity = f"call_{index}" if call.id is None else call.id
    function = {"name": call.tool, "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def _outputs(body: Mapping[str, Any]) -> list[str]:
    return [
        str(message.get("content")) for message in body["messages"] if message["role"] == "tool"
    ]


def _obey(body: Mapping[str, Any]) -> script.Turn:
    offered = {
        tool["function"]["name"]: tool["function"].get("parameters", {})
        for tool in body.get("tools", ())
    }
    called = [
        call["function"]["name"]
        for message in body["messages"]
        for call in message.get("tool_calls") or ()
    ]
    told = [
        str(message.get("content"))
        for message in body["messages"]
        if message["role"] in ("user", "tool")
    ]
    return script.obey(offered, called, "\n".join(told))


def _json(value: Any) -> web.Response:
    return _response(200, json.dumps(value), {})


def _error(status: int, message: str) -> web.Response:
    return _response(status, json.dumps({"error": {"message": message, "type": "scripted"}}), {})


def _response(status: int, text: str, headers: Mapping[str, str]) -> web.Response:
    content_type = CONTENT_TYPES.get(text[:1], "text/plain")
    named = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    return web.Response(status=status, text=text, headers=named, content_type=content_type)


async def serve(played: script.Script, port: int, log: Path | None) -> None:
    """Serve on loopback until the process ends or its parent does; prints the base URL first."""
    runner = web.AppRunner(Server(played, log).application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    host, actual = runner.addresses[0][:2]
    print(f"http://{host}:{actual}/v1", flush=True)  # noqa: T201 - the first line is the interface
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells of a parent that died
        await asyncio.sleep(1)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--script", type=Path, required=True, help="YAML or JSON file")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--log", type=Path, help="JSON lines of all requests")
    arguments = parser.parse_args()
    played = script.Script.read(arguments.script.read_text(encoding="utf-8"))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(played, arguments.port, arguments.log))


if __name__ == "__main__":
    main()
