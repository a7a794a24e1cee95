import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alert_messages import recorded
from kubewhy.core.alerting import alert_names

START = datetime.datetime(2026, 8, 1, 9, 30, tzinfo=datetime.UTC)
PARTS = st.lists(st.text(max_size=8), max_size=4)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        # The vectors of prometheus/common's own test of LabelSet.Fingerprint.
        ({}, 14695981039346656037),
        ({"name": "garland, briggs", "fear": "love is not enough"}, 5799056148416392346),
    ],
)
def test_computes_the_fingerprint_that_alertmanager_computes(
    labels: dict[str, str], expected: int
) -> None:
    assert alert_names.fingerprint(labels) == f"{expected:016x}"


@pytest.mark.parametrize("name", ["crash-firing", "crash-resolved", "mixed"])
def test_the_recorded_fingerprints_are_right(name: str) -> None:
    for alert in recorded(name)["alerts"]:
        assert alert_names.fingerprint(alert["labels"]) == alert["fingerprint"]


def test_one_episode_has_one_name_whatever_the_zone_and_the_fraction() -> None:
    elsewhere = START.astimezone(datetime.timezone(datetime.timedelta(hours=-7)))
    name = alert_names.investigation("c1", "ab", START)
    assert name == alert_names.investigation("c1", "ab", elsewhere)
    assert name == alert_names.investigation("c1", "ab", START.replace(microsecond=999_999))
    assert re.fullmatch(r"alert-[0-9a-f]{16}", name)


def test_cluster_series_and_start_tell_episodes_apart() -> None:
    others = {
        alert_names.investigation("c2", "ab", START),
        alert_names.investigation("c1", "ac", START),
        alert_names.investigation("c1", "ab", START + datetime.timedelta(seconds=1)),
        alert_names.investigation("c1a", "b", START),
        alert_names.group_investigation("c1", "ab", START),
    }
    assert len(others | {alert_names.investigation("c1", "ab", START)}) == 6


@given(PARTS, PARTS)
def test_different_parts_give_different_digests(one: list[str], other: list[str]) -> None:
    assert (alert_names.digest(*one) == alert_names.digest(*other)) is (one == other)
