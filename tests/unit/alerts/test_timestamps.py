import contextlib
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewhy.core import timestamps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-01T09:30:00Z", "2026-08-01T09:30:00Z"),
        ("2026-08-01t09:30:00z", "2026-08-01T09:30:00Z"),
        ("2026-08-01T09:30:00.999999999Z", "2026-08-01T09:30:00Z"),
        ("2026-08-01T09:30:00.1+02:00", "2026-08-01T07:30:00Z"),
        ("2025-12-31T23:30:00-05:30", "2026-01-01T05:00:00Z"),
        ("2026-08-01T00:00:00+23:59", "2026-07-31T00:01:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("0002-01-01T00:00:00+01:00", "0001-12-31T23:00:00Z"),
    ],
)
def test_normalises_to_utc(text: str, expected: str) -> None:
    moment = timestamps.read(text)
    assert moment is not None
    assert timestamps.seconds(moment) == expected


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00-08:00"]
)
def test_the_zero_time_is_no_time(text: str) -> None:
    assert timestamps.read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-08-01",
        "2026-08-01T09:30:00",
        "2026-13-01T09:30:00Z",
        "2026-02-30T09:30:00Z",
        "2026-08-01T25:30:00Z",
        "2026-08-01T09:30:00+24:00",
        "2026-08-01T09:30:00+02:60",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "2026-08-01T09:30:00Z\n",
        "٢٠٢٦-08-01T09:30:00Z",
    ],
)
def test_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        timestamps.read(text)


@given(
    st.datetimes(
        min_value=datetime.datetime(2, 1, 3),  # noqa: DTZ001 - bounds are naive
        max_value=datetime.datetime(9999, 12, 29),  # noqa: DTZ001
        timezones=st.integers(-1439, 1439).map(
            lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
        ),
    )
)
def test_reads_every_zone(moment: datetime.datetime) -> None:
    assert timestamps.read(moment.isoformat()) == moment


@given(st.text(max_size=40))
def test_raises_nothing_but_value_errors(text: str) -> None:
    with contextlib.suppress(ValueError):
        timestamps.read(text)
