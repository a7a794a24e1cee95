"""Events to bytes and back; damaged and newer batches are refused in words."""

from __future__ import annotations

import json

import pytest

import crash_world as world_
from kubewhy import errors
from kubewhy.core import events, tools
from kubewhy.engine import codec

AT = world_.START


def _returned(text: str) -> events.ToolReturned:
    result = tools.ToolResult(status=tools.ToolStatus.SUCCESS, text=text, total_bytes=len(text))
    return events.ToolReturned(at=AT, call="1-0", attempt=1, result=result)


def test_a_whole_run_survives() -> None:
    world = world_.World(
        (world_.reply("a", "fail-1"), world_.conclude("1-0", "the decisive line of a"))
    )
    world_.live(world)
    stored = world.journaled()
    data, outputs = codec.encode(stored)
    assert codec.decode(data, outputs) == stored


def test_a_long_output_is_stored_apart_and_referred_to() -> None:
    event = _returned("é" * (tools.INLINE_TEXT_BYTES // 2 + 1))
    data, outputs = codec.encode([event])
    assert codec.references(data) == set(outputs) == {event.result.digest}
    assert len(data) < 1000
    assert codec.decode(data, outputs) == [event]


def test_a_missing_output_is_said() -> None:
    data, _ = codec.encode([_returned("x" * (tools.INLINE_TEXT_BYTES + 1))])
    with pytest.raises(errors.JournalLost, match="missing"):
        codec.decode(data, {})


def test_a_newer_format_is_refused_with_both_versions() -> None:
    data = json.dumps({"version": codec.VERSION + 1, "events": []}).encode()
    with pytest.raises(
        errors.JournalLost, match=f"version {codec.VERSION + 1}.*up to {codec.VERSION}"
    ):
        codec.decode(data, {})


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"version": 1}', b"\xff", b'{"version":1,"events":[{"type":"Nope"}]}'],
)
def test_a_damaged_batch_is_refused(data: bytes) -> None:
    with pytest.raises(errors.JournalLost):
        codec.decode(data, {})


def test_an_unknown_field_of_a_later_release_is_passed_over() -> None:
    data, _ = codec.encode([events.CancelRequested(at=AT)])
    document = json.loads(data)
    document["events"][0]["why"] = "later releases may say more"
    assert codec.decode(json.dumps(document).encode(), {}) == [events.CancelRequested(at=AT)]
