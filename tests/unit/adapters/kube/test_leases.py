"""Which holders count as alive, whatever their clocks say."""

from __future__ import annotations

import datetime
from typing import Any, cast

import pytest

import crash_world as world_
from kubewhy.adapters.kube import client, leases


class Leases:
    """An API server with one Lease, renewed so many seconds after the reader's own time."""

    def __init__(self, seconds: float) -> None:
        self._renewed = world_.START + datetime.timedelta(seconds=seconds)

    async def request(self, *_: Any, **__: Any) -> Any:
        spec = {
            "holderIdentity": "other",
            "leaseDurationSeconds": 15,
            "renewTime": self._renewed.isoformat(),
        }
        return {"items": [{"spec": spec}]}


@pytest.mark.parametrize(("seconds", "alive"), [(-3, True), (-16, False), (3, True), (7200, False)])
async def test_a_holder_lives_by_a_lease_near_to_now(seconds: float, *, alive: bool) -> None:
    """A Lease far in the future proves nothing: waiting for it would hold the claims of a dead replica for hours."""
    found = leases.KubeLeases(
        cast("client.KubeClient", Leases(seconds)),
        world_.Clock(),
        namespace="kubewhy-system",
        holder="me",
        seconds=15,
    )
    assert await found.live() == ({"other"} if alive else frozenset())
