"""Pauses and Retry-After. Nothing is mocked; time and chance are arguments."""

import datetime

import hypothesis
import hypothesis.strategies as st
import pytest

from kubewhy.adapters.litellm_model import retry

NOW = datetime.datetime(2026, 3, 1, 12, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"RETRY-AFTER": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 13:00:30 +0100"}, 30.0),
        ({"Retry-After": "Sunday, 01-Mar-26 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "9e99"}, retry.MOST_TOLD_SECONDS),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
    ],
)
def test_told_pauses(headers: dict[str, str], seconds: float) -> None:
    assert retry.told(headers, NOW) == seconds


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "Sun, 99 Foo", "0x10", "1 2", "-"])
def test_unreadable_pauses_count_as_none(text: str) -> None:
    assert retry.told({"Retry-After": text}, NOW) is None


@hypothesis.given(st.text(max_size=40))
def test_any_header_is_read_without_an_error(text: str) -> None:
    seconds = retry.told({"Retry-After": text}, NOW)
    assert seconds is None or 0 <= seconds <= retry.MOST_TOLD_SECONDS


def test_a_told_pause_is_never_shortened() -> None:
    assert retry.pause(1, 7.0, 0.0) == 7.0
    assert 7.0 < retry.pause(5, 7.0, 1.0) < 7.5


def test_untold_pauses_grow_to_a_bound_and_differ() -> None:
    full = [retry.pause(attempt, None, 1.0) for attempt in range(1, 10)]
    assert full[:3] == [0.5, 1.0, 2.0]
    assert full[-1] == retry.LONGEST_SECONDS
    assert [retry.pause(attempt, None, 0.0) for attempt in (1, 2)] == [0.25, 0.5]
