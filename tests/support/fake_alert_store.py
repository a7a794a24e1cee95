"""An in-memory `InvestigationStore` that can refuse, fail and be slow."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.core import timestamps
from kubewhy.core.alerting import alert_store

Judge = Callable[[str, str], Exception | None]


class FakeAlertStore:
    """`judge(namespace, name)` may hand back the error that a write to there gets."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.seen: list[tuple[str, str]] = []
        self.resolved: dict[tuple[str, str], str] = {}
        self.checked: list[str] = []
        self.judge: Judge = lambda _namespace, _name: None
        self.seconds = 0.0
        self.running = 0
        self.most_running = 0
        self.released = asyncio.Event()
        self.released.set()

    @property
    def names(self) -> list[str]:
        """The names of all objects, in order of creation."""
        return [name for _, name in self.objects]

    async def create(self, manifest: Mapping[str, Any]) -> alert_store.Stored:
        metadata = manifest["metadata"]
        key = (metadata["namespace"], metadata["name"])
        await self._take_time()
        self._judge(key)
        if key in self.objects:
            return alert_store.Stored.DUPLICATE
        self.objects[key] = manifest
        return alert_store.Stored.CREATED

    async def note_seen(self, namespace: str, name: str, *, at: datetime.datetime) -> None:
        assert at.tzinfo is not None
        self._judge((namespace, name))
        self.seen.append((namespace, name))

    async def note_resolved(self, namespace: str, name: str, *, at: str) -> bool:
        self._judge((namespace, name))
        if (namespace, name) not in self.objects:
            return False
        self.resolved[namespace, name] = at
        return True

    async def unresolved(self, namespace: str, series: str) -> Sequence[alert_store.Episode]:
        self._judge((namespace, ""))
        found = []
        for (where, name), manifest in self.objects.items():
            labels = manifest["metadata"]["labels"]
            if where == namespace and labels.get("alert.kubewhy.internal/series") == series:
                starts_at = timestamps.read(manifest["spec"]["alerts"][0]["startsAt"])
                if starts_at and (where, name) not in self.resolved:
                    found.append(alert_store.Episode(name=name, starts_at=starts_at))
        return found

    async def check(self, namespace: str) -> None:
        self.checked.append(namespace)
        await self._take_time()
        self._judge((namespace, ""))

    async def _take_time(self) -> None:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self.released.wait()
            await asyncio.sleep(self.seconds)
        finally:
            self.running -= 1

    def _judge(self, key: tuple[str, str]) -> None:
        error = self.judge(*key)
        if error is not None:
            raise error


def unavailable(_namespace: str, _name: str) -> Exception:
    """The judge of an API server that is away."""
    return errors.ApiUnavailable("POST /apis: connection refused", reason="NoConnection")


def refusing(*namespaces: str, error: type[errors.ApiError] = errors.ApiForbidden) -> Judge:
    """The judge that refuses writes to these namespaces."""
    return lambda namespace, _name: (
        error(f"no writes to {namespace}", status=403) if namespace in namespaces else None
    )
