"""Loading a journal: what interrupts it half-way must not change what it tells."""

from __future__ import annotations

import pytest

import crash_world as world_
from kubewhy import errors
from kubewhy.core import ports
from kubewhy.engine import ledger


class Flaky(world_.World):
    """Fails the first time that a large output is read back."""

    def __init__(self) -> None:
        super().__init__(
            (
                world_.reply("x" * 5000),
                world_.reply("y" * 5000),
                world_.conclude("1-0", "the decisive line"),
            )
        )
        self.failing = 1

    async def fetch(self, key: ports.RunKey, digest: str) -> str:
        if self.failing:
            self.failing -= 1
            raise errors.JournalUnavailable("no answer in time")
        return await super().fetch(key, digest)


def test_a_load_that_failed_half_way_starts_over() -> None:
    world = Flaky()
    final = world_.live(world)
    assert world.outputs, "the script must make outputs that are stored apart"
    book = ledger.Ledger(world_.KEY, world, world.clock)
    with pytest.raises(errors.JournalUnavailable):
        world_.run(book.load())
    world_.run(book.load())
    assert book.state == final
    assert book.batches == len(world.batches)
