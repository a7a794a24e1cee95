"""Kubernetes Events as the API server takes them."""

from __future__ import annotations

from typing import Any, cast

import pytest

import crash_world as world_
from kubewhy.adapters.kube import client, kube_events


class Taking:
    """An API server that keeps what is posted."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def request(self, *_: Any, body: dict[str, Any], **__: Any) -> Any:
        self.bodies.append(body)
        return {}


@pytest.mark.parametrize("message", ["x" * 5000, "ü" * 5000, "x" + "原因" * 1000, "ü" * 512])
async def test_a_note_fits_its_bound_in_bytes(message: str) -> None:
    """The API server counts bytes: a note of 1,024 umlauts is refused, and the Event would be lost."""
    server = Taking()
    poster = kube_events.KubeEventPoster(
        cast("client.KubeClient", server), world_.Clock(), holder="me"
    )
    await poster.post(world_.KEY, kind="Normal", reason="RootCauseFound", message=message)
    note = server.bodies[0]["note"]
    assert message.startswith(note)
    assert min(1021, len(message.encode())) <= len(note.encode()) <= kube_events.NOTE_BYTES
