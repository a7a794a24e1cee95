"""Real LiteLLM against the scripted server in its own process.

Goes in: one script whose turns are named; `ask(name)` sends as many assistant messages as lead to that turn.
Observed: the reply or error, and what the server counted and recorded. Not mocked: the library, its HTTP client,
the thread, the sockets. LiteLLM is loaded once for the whole session, because that takes seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import model_turns
import scripted_process
from kubewhy.adapters.litellm_model import keys, model, runtime
from kubewhy.core import messages, model_list, tools

KEY = "sk-CANARY-0123456789"
LOADING_SECONDS = 400
"""For the first test of a session, which loads LiteLLM on a machine that may be busy."""

_NETWORK_EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")

SPEC = tools.ToolSpec(
    name="look",
    description="looks",
    toolset="test",
    parameters={"type": "object", "properties": {"at": {"type": "string"}}},
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder time to load LiteLLM, and pass over the warnings it causes."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.timeout(LOADING_SECONDS))
            # LiteLLM validates odd replies into its own types, imports deprecated names, leaves transports open.
            for category in ("UserWarning", "DeprecationWarning", "ResourceWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loading:
    """The runtime with LiteLLM loaded, and what was seen while it loaded with the network blocked."""

    runtime: runtime.Runtime
    module: Any
    was_there_before: bool
    network_uses: tuple[str, ...]


@pytest.fixture(scope="session")
def loading() -> Iterator[Loading]:
    """Load LiteLLM; each use of the network on the way is noted and refused."""
    uses: list[str] = []
    blocked = [True]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if blocked[0] and event in _NETWORK_EVENTS:
            uses.append(f"{event} {args}")
            raise OSError("refused while LiteLLM is loaded")

    before = "litellm" in sys.modules
    sys.addaudithook(hook)
    loaded = runtime.Runtime()
    try:
        module = asyncio.run(_load(loaded))
    finally:
        blocked[0] = False
    yield Loading(runtime=loaded, module=module, was_there_before=before, network_uses=tuple(uses))
    asyncio.run(loaded.stop())


async def _load(loaded: runtime.Runtime) -> Any:
    return await loaded.ready()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[scripted_process.ScriptedServer]:
    """The scripted server; it counts by turn, so tests that count ask for a turn of their own."""
    folder = tmp_path_factory.mktemp("server")
    script = {"turns": list(model_turns.TURNS.values())}
    with scripted_process.running(script, folder) as running:
        yield running


class Asker:
    """Asks the server for a named turn through a model entry that can be varied."""

    key = KEY

    def __init__(self, loaded: runtime.Runtime, server: scripted_process.ScriptedServer) -> None:
        self.loaded = loaded
        self.server = server

    def entry(self, **fields: Any) -> model_list.LiteLLMEntry:
        """A model entry on the server."""
        given: dict[str, Any] = {
            "name": "scripted",
            "provider": "litellm",
            "model": "openai/gpt-4o",
            "baseURL": self.server.url,
            "key": model_list.Key(env="MODEL_KEY"),
            "timeoutSeconds": 20,
        }
        return model_list.LiteLLMEntry(**given | fields)

    async def ask(
        self,
        turn: str,
        *,
        final: bool = False,
        fallbacks: Sequence[model_list.LiteLLMEntry] = (),
        **fields: Any,
    ) -> messages.ModelReply:
        """The reply to the named turn, from an entry with these fields; pauses have no jitter."""
        made = model.LiteLLMModel(
            self.entry(**fields),
            self.loaded,
            keys.KeyRing({"MODEL_KEY": self.key}),
            fallbacks=fallbacks,
            jitter=lambda: 0.0,
        )
        return await made.ask(_request(turn, final=final))

    def times(self, turn: str) -> list[float]:
        """When the server received each request of the named turn, in seconds."""
        number = model_turns.number(turn)
        return [each["at"] for each in self.server.requests() if each["turn"] == number]

    def count(self, turn: str) -> int:
        """How many requests of the named turn the server received."""
        counts: dict[str, int] = self.server.stats()["turns"]
        return counts.get(str(model_turns.number(turn)), 0)

    def body(self, turn: str) -> dict[str, Any]:
        """The newest recorded request of the named turn."""
        number = model_turns.number(turn)
        found = [each["body"] for each in self.server.requests() if each["turn"] == number]
        newest: dict[str, Any] = found[-1]
        return newest


def _request(turn: str, *, final: bool = False) -> messages.ModelRequest:
    """A conversation that has come to the named turn: each earlier step called a tool."""
    history = [
        messages.Message(role=messages.Role.SYSTEM, text="rules"),
        messages.Message(role=messages.Role.USER, text="why?"),
    ]
    for step in range(1, model_turns.number(turn) + 1):
        call = tools.ToolCall(id=f"{step}-0", tool="look", arguments="{}")
        history += [
            messages.Message(role=messages.Role.ASSISTANT, text="", calls=(call,)),
            messages.Message(role=messages.Role.TOOL, text=f"seen {step}", call_id=call.id),
        ]
    return messages.ModelRequest(
        messages=tuple(history), tools=() if final else (SPEC,), final=final, timeout_seconds=20
    )


@pytest.fixture
def asker(loading: Loading, server: scripted_process.ScriptedServer) -> Asker:
    """What most tests of this folder need."""
    return Asker(loading.runtime, server)


@pytest.fixture
def timed() -> Callable[[], contextlib.AbstractAsyncContextManager[list[float]]]:
    """Measures the seconds of a block: `async with timed() as seconds`."""
    return _timed


@contextlib.asynccontextmanager
async def _timed() -> AsyncIterator[list[float]]:
    clock = asyncio.get_running_loop().time
    started, seconds = clock(), list[float]()
    yield seconds
    seconds.append(clock() - started)
