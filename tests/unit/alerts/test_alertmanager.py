import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alert_messages import START, alert, body, encode, message, recorded
from kubewhy import errors
from kubewhy.core.alerting import alert_names, alert_text, alertmanager


def read_one(**changes: Any) -> alertmanager.Received:
    read = alertmanager.read(body(alert(**changes)))
    assert read.problems == ()
    return read.received[0]


def faults(*alerts: Any) -> list[tuple[int, str]]:
    read = alertmanager.read(body(*alerts))
    assert len(read.received) + len(read.problems) == len(alerts)
    return [(problem.index, problem.fault.value) for problem in read.problems]


@pytest.mark.parametrize(
    "value",
    [None, 5, "x", [], {}, {"alerts": None}, {"alerts": {}}, {"text": "custom"}, [{"alerts": []}]],
)
def test_refuses_what_has_no_list_of_alerts(value: object) -> None:
    with pytest.raises(errors.PayloadError, match="no object with a list of alerts"):
        alertmanager.read(encode(value))


def test_reads_the_recorded_message() -> None:
    read = alertmanager.read(encode(recorded("crash-firing")))
    found = read.received[0].alert
    assert (read.version, read.truncated_alerts, read.problems) == ("4", 0, ())
    assert found.name == "KubePodCrashLooping"
    assert found.firing
    assert found.starts_at == "2026-08-11T09:12:34Z"
    assert found.ends_at == ""
    assert not found.truncated
    assert dict(found.labels) == recorded("crash-firing")["alerts"][0]["labels"]
    assert dict(found.annotations) == recorded("crash-firing")["alerts"][0]["annotations"]
    assert found.fingerprint == recorded("crash-firing")["alerts"][0]["fingerprint"]


def test_reads_the_end_only_of_a_resolved_alert() -> None:
    resolved = alertmanager.read(encode(recorded("crash-resolved"))).received[0].alert
    assert not resolved.firing
    assert resolved.ends_at == "2026-08-11T09:31:04Z"
    assert read_one(endsAt="2026-08-01T10:00:00Z").alert.ends_at == ""
    assert read_one(status="resolved", endsAt="0001-01-01T00:00:00Z").ends_at is None
    assert read_one(status="resolved", endsAt="nonsense").ends_at is None


def test_one_bad_alert_never_fails_the_others() -> None:
    good = alert()
    assert faults(
        good,
        5,
        None,
        "x",
        alert(labels=None),
        alert(labels={}),
        alert(labels=["a"]),
        alert(labels={"a": None, "b": {}}),
        alert(labels={"\u200b": "x"}),
        alert(status=None),
        alert(status="suppressed"),
        alert(status=["firing"]),
        alert(startsAt=None),
        alert(startsAt=""),
        alert(startsAt=1785000000),
        alert(startsAt="0001-01-01T00:00:00Z"),
        alert(startsAt="yesterday"),
        good,
    ) == [
        (1, "NoObject"),
        (2, "NoObject"),
        (3, "NoObject"),
        (4, "NoLabels"),
        (5, "NoLabels"),
        (6, "NoLabels"),
        (7, "NoLabels"),
        (8, "NoLabels"),
        (9, "BadStatus"),
        (10, "BadStatus"),
        (11, "BadStatus"),
        (12, "BadStart"),
        (13, "BadStart"),
        (14, "BadStart"),
        (15, "BadStart"),
        (16, "BadStart"),
    ]


@pytest.mark.parametrize(
    "told", [None, "", "xyz", "7BB30ED0928D503B", "7bb30ed0928d503b\n", 5, ["a"]]
)
def test_computes_a_fingerprint_that_is_missing_or_none(told: Any) -> None:
    labels = {"name": "garland, briggs", "fear": "love is not enough"}
    assert (
        read_one(labels=labels, fingerprint=told).alert.fingerprint == f"{5799056148416392346:016x}"
    )


def test_the_fingerprint_counts_labels_that_were_cut_off() -> None:
    labels = {"alertname": "x"} | {f"label{number:04}": "v" for number in range(200)}
    changed = labels | {"label0199": "w"}
    one, other = read_one(labels=labels).alert, read_one(labels=changed).alert
    assert one.labels == other.labels
    assert one.fingerprint != other.fingerprint


def test_cuts_labels_to_their_bounds_and_says_so() -> None:
    labels = {f"a{number:04}": "v" for number in range(2000)} | {
        "alertname": "x",
        "namespace": "shop",
    }
    found = read_one(labels=labels).alert
    assert found.truncated
    assert len(found.labels) == 64
    assert found.labels["alertname"] == "x"
    assert found.labels["namespace"] == "shop"

    long = read_one(labels={"alertname": "x", "value": "é" * 4000, "n" * 1025: "v"}).alert
    assert long.truncated
    assert long.labels == {"alertname": "x", "value": "é" * 2048}


def test_bounds_all_labels_and_all_annotations_together() -> None:
    values = {f"a{number:02}": "v" * 4000 for number in range(16)}
    found = read_one(labels=values, annotations=values | {"summary": "s"}).alert
    assert found.truncated
    for pairs in (found.labels, found.annotations):
        size = sum(len(name) + len(value) for name, value in pairs.items())
        assert 16_000 < size <= 16_384
    assert found.annotations["summary"] == "s"


def test_takes_odd_names_as_they_are() -> None:
    labels = {"alertname": "x", "a/b.c": "1", "-x": "2", "größe": "3", "": "no name"}
    found = read_one(labels=labels).alert
    assert found.labels == {"alertname": "x", "a/b.c": "1", "-x": "2", "größe": "3"}


def test_removes_invisible_text_everywhere() -> None:
    found = read_one(
        labels={"alertname": "a\u202eb\nc", "x\u200by": "z\x00"},
        annotations={"summary": "one\r\ntwo\u2066"},
        generatorURL="http://x/\u202e\n1",
    ).alert
    assert found.labels == {"alertname": "ab c", "xy": "z"}
    assert found.annotations == {"summary": "one\ntwo"}
    assert found.generator_url == "http://x/ 1"
    assert not found.truncated


def test_masks_credentials_in_all_texts_before_it_cuts_them() -> None:
    secret = "CANARY-h4rd-t0-guess"
    found = read_one(
        labels={
            "alertname": "x",
            "dsn": f"postgres://app:{secret}@db/shop",
            "copy": f"saw {secret}",
        },
        annotations={
            "description": f"login failed\npassword={secret}",
            "long": "x" * 4080 + f" password={secret}",
        },
        generatorURL=f"http://u:{secret}@prometheus/graph",
    ).alert
    assert "CANARY" not in repr(found)
    assert found.labels["dsn"].startswith("postgres://app:")
    assert "login failed\npassword=" in found.annotations["description"]


def test_masking_changes_neither_the_series_nor_the_names_of_objects() -> None:
    labels = {"alertname": "x", "secret": "shop-db-credentials", "dsn": "postgres://a:pass1word@db"}
    found = read_one(labels=labels).alert
    assert found.fingerprint == alert_names.fingerprint(labels)
    assert found.labels["secret"] == "shop-db-credentials"


def test_a_credential_over_several_texts_hurts_none_of_them() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----"
    found = read_one(
        labels={"alertname": "x", "a": key, "b": "in between it all", "c": "-----END RSA"}
    ).alert
    assert set(found.labels) == {"alertname", "a", "b", "c"}


def test_keeps_numbers_and_truth_values_as_text() -> None:
    found = read_one(
        labels={"alertname": "x", "code": 500, "ok": True, "ratio": 0.5, "list": [1]}
    ).alert
    assert found.labels == {"alertname": "x", "code": "500", "ok": "true", "ratio": "0.5"}


def test_reads_leniently_what_describes_the_message() -> None:
    read = alertmanager.read(body(version="5", truncatedAlerts=37, unknown={"x": [1]}))
    assert (read.version, read.truncated_alerts) == ("5", 37)
    odd = alertmanager.read(body(version=4, truncatedAlerts="many", groupKey=["x"], receiver=None))
    assert (odd.version, odd.truncated_alerts) == ("", 0)
    assert alertmanager.read(body(truncatedAlerts=-5)).truncated_alerts == 0


def test_the_group_is_a_hash_of_key_and_receiver() -> None:
    one = alertmanager.read(body()).group
    assert one == alert_names.group(message()["groupKey"], "kubewhy")
    assert one != alertmanager.read(body(receiver="other")).group
    assert one != alertmanager.read(body(groupKey="{}:{}")).group


def test_the_time_of_an_episode_is_kept_in_utc() -> None:
    assert read_one(startsAt="2026-08-01T11:30:00.5+02:00").alert.starts_at == START


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(), max_size=8)
    | st.sampled_from(
        ["firing", "resolved", START, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
TEXTS = st.dictionaries(st.text(max_size=6), st.text(max_size=10), max_size=4)
ALERTS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["firing", "resolved"]) | ODD,
        "labels": TEXTS | ODD,
        "annotations": TEXTS | ODD,
        "startsAt": st.sampled_from([START, "0001-01-01T00:00:00Z"]) | ODD,
        "endsAt": st.sampled_from([START, "0001-01-01T00:00:00Z"]) | ODD,
        "generatorURL": ODD,
        "fingerprint": st.just("7bb30ed0928d503b") | ODD,
    },
)
MESSAGES = st.fixed_dictionaries(
    {"alerts": st.lists(ALERTS | ODD, max_size=4)},
    optional={"version": ODD, "groupKey": ODD, "receiver": ODD, "truncatedAlerts": ODD},
)


@given(MESSAGES | ODD)
def test_raises_nothing_but_its_declared_error(value: Any) -> None:
    with contextlib.suppress(errors.PayloadError):
        read = alertmanager.read(json.dumps(value).encode())
        assert len(read.received) + len(read.problems) == len(value["alerts"])
        for received in read.received:
            assert 0 < len(received.alert.labels) <= alert_text.PAIRS
