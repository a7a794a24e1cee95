"""kopf as trigger, and nothing else: each watch event becomes a look at the object it names.

kopf runs in a thread and loop of its own, so that its shutdown touches none of our tasks. Only `on.event`, `on.startup`
and `on.login` handlers are registered; kopf writes nothing: no finalizer, no annotation, no status.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import kopf

from kubewhy.adapters.kube import config, credentials
from kubewhy.api import names

log = logging.getLogger(__name__)

LOGIN_SECONDS = 5.0
"""Pause before credentials that can't be had are tried again; kopf's own is a minute."""

OnObject = Callable[[str, Mapping[str, Any]], None]
"""Called in kopf's thread with the event's type ("" for the initial list) and the raw object; must return at once."""


class Watch:
    """Runs kopf in a thread. `alive` turns false when kopf ends, for whatever reason."""

    def __init__(self, access: config.Access, on_object: OnObject) -> None:
        self._access = access
        self._on_object = on_object
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._logged_in = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether kopf is running."""
        return self._thread.is_alive()

    @property
    def ready(self) -> bool:
        """Whether kopf has started and has credentials; its first request follows at once."""
        return self._ready.is_set() and self._logged_in.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask kopf to end; it is not waited for longer than a moment."""
        self._stop.set()
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        try:
            asyncio.run(self._operate())
        except Exception:  # outer edge of the thread: the process ends when `alive` is false
            log.exception("the watch ended with an error")

    async def _operate(self) -> None:
        await kopf.operator(
            registry=registry(self._access, self._on_object, on_login=self._logged_in.set),
            settings=settings(),
            clusterwide=True,
            standalone=True,
            stop_flag=self._stop,
            ready_flag=self._ready,
        )


def settings() -> kopf.OperatorSettings:
    """kopf's settings, each with its reason in kopf.md §3 of the reference."""
    found = kopf.OperatorSettings()
    found.peering.standalone = True
    found.posting.enabled = False
    found.watching.server_timeout = 300
    found.watching.connect_timeout = 10
    found.watching.chunk_size = 500
    unfinished = "status.finished!=true"
    found.watching.field_selectors[names.GROUP, names.INVESTIGATION.plural] = unfinished
    found.networking.request_timeout = 30
    found.networking.connect_timeout = 10
    found.networking.error_backoffs = (0.2, 0.5, 1, 2, 3)
    found.scanning.disabled = True
    found.process.ultimate_exiting_timeout = 5
    found.persistence.finalizer = f"{names.GROUP}/unused"
    found.persistence.progress_storage = kopf.AnnotationsProgressStorage(
        v1=False, prefix=names.GROUP
    )
    found.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
        v1=False, prefix=names.GROUP
    )
    found.background.cancellation_polling = 5
    found.admission.server = None
    return found


def registry(
    access: config.Access, on_object: OnObject, *, on_login: Callable[[], None] = lambda: None
) -> kopf.OperatorRegistry:
    """The handlers: one for credentials, one for events."""
    found = kopf.OperatorRegistry()

    async def login(**_: Any) -> kopf.ConnectionInfo:
        connection = await _connection(access)
        on_login()
        return connection

    async def look(event: kopf.RawEvent, **_: Any) -> None:
        on_object(event["type"] or "", event["object"])

    kopf.on.login(registry=found, id="login", backoff=LOGIN_SECONDS)(login)
    kopf.on.event(
        names.GROUP, names.VERSION, names.INVESTIGATION.plural, registry=found, id="look"
    )(look)
    return found


async def _connection(access: config.Access) -> kopf.ConnectionInfo:
    loaded = (await credentials.load(access)).configuration
    scheme, _, token = loaded.api_key.get("BearerToken", "").partition(" ")
    return kopf.ConnectionInfo(
        server=loaded.host,
        ca_path=loaded.ssl_ca_cert,
        insecure=not loaded.verify_ssl,
        scheme=scheme or None,
        token=token or None,
        certificate_path=loaded.cert_file,
        private_key_path=loaded.key_file,
    )
