"""LiteLLM in a daemon thread with its own event loop, imported when it is first needed.

Measured: `import litellm` costs 3 s of CPU and 190 MiB, so it must neither happen at start nor on the
loop that serves everything else. A loop of its own is not touched by the shutdown of kopf's, and a
provider client that blocks its loop holds up other model requests only.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import logging
import os
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kubewhy import errors

IMPORT_SECONDS = 300.0
"""Most seconds that a request waits for the import, before its own time starts to count."""

STOP_SECONDS = 5.0

_ENVIRONMENT = {
    # Without it LiteLLM fetches a price list from the network when it is imported.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_OFFLINE_MODE": "true",
    # Any other mode reads a file .env from the working directory into the environment.
    "LITELLM_MODE": "PRODUCTION",
}
_OWN_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
_CLIENT_LOGGERS = ("httpx", "httpcore", "openai")
_LOG = logging.getLogger(__name__)

Result = TypeVar("Result")


class Runtime:
    """Runs coroutines that use LiteLLM; one per process. Nothing starts before `start` or `call`."""

    def __init__(self, load: Callable[[], Any] | None = None) -> None:
        self._load = load or load_litellm
        self._loaded: concurrent.futures.Future[tuple[Any, str]] = concurrent.futures.Future()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether the thread was started."""
        return self._loop is not None

    def start(self) -> asyncio.AbstractEventLoop:
        """Begin the import in the background, once, and return the thread's loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._main, args=(self._loop,), name="litellm", daemon=True
                )
                self._thread.start()
            return self._loop

    async def ready(self) -> Any:
        """Wait for the import and return the module.

        Raises:
            errors.ModelUnavailable: it failed, or took longer than `IMPORT_SECONDS`.
        """
        self.start()
        try:
            async with asyncio.timeout(IMPORT_SECONDS):
                module, problem = await asyncio.shield(asyncio.wrap_future(self._loaded))
        except TimeoutError:
            raise errors.ModelUnavailable(
                f"LiteLLM was not loaded within {IMPORT_SECONDS:.0f} s; is the operator short of CPU?"
            ) from None
        if problem:
            raise errors.ModelUnavailable(problem)
        return module

    async def call(self, work: Callable[[Any], Awaitable[Result]]) -> Result:
        """Run `work(litellm)` in the thread's loop. Cancelling the caller cancels it.

        Raises:
            errors.ModelUnavailable: LiteLLM can't be loaded.
        """
        module = await self.ready()

        async def run() -> Result:
            return await work(module)

        loop = self.start()
        if loop.is_closed():
            raise errors.ModelUnavailable("no model is asked any more: the process is stopping")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), loop))

    async def stop(self) -> None:
        """Cancel what runs, close the clients and end the thread; for an orderly shutdown, once and for good."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        if self._loaded.done():
            await self._close(loop)
        loop.call_soon_threadsafe(loop.stop)
        if self._loaded.done():
            await asyncio.to_thread(thread.join, STOP_SECONDS)

    async def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        closing = asyncio.run_coroutine_threadsafe(_close_clients(), loop)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.wrap_future(closing)
        except TimeoutError:
            _LOG.warning("model clients did not close within %.0f s", STOP_SECONDS)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            module = self._load()
        except Exception as error:  # noqa: BLE001 - whatever an import runs into must reach the caller
            problem = f"LiteLLM can't be loaded: {type(error).__name__}: {error}"
            self._loaded.set_result((None, problem))
        else:
            self._loaded.set_result((module, ""))
        loop.run_forever()
        loop.close()


def load_litellm() -> Any:
    """Import LiteLLM without network use and without its output, retries and telemetry."""
    os.environ.update(_ENVIRONMENT)
    module: Any = importlib.import_module("litellm")
    module.suppress_debug_info = True
    module.telemetry = False
    module.num_retries = 0
    module.drop_params = False
    module.modify_params = False
    module.disable_hf_tokenizer_download = True
    _silence()
    return module


def _silence() -> None:
    """LiteLLM prints to standard error by itself, and HTTP clients log URLs, which may hold a key."""
    for name in _OWN_LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
        logger.disabled = True
    for name in _CLIENT_LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    # It validates odd replies into its own types and warns with their content.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)


async def _close_clients() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if "litellm" in sys.modules:
        cleanup = importlib.import_module("litellm.llms.custom_httpx.async_client_cleanup")
        await cleanup.close_litellm_async_clients()
