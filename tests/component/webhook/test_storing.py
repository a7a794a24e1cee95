import asyncio
import logging
from typing import Any

import pytest

from alert_messages import LABELS, alert, body, distinct, encode, labelled, recorded
from fake_alert_store import refusing, unavailable
from kubewhy import errors


async def test_the_recorded_alert_is_stored_before_the_answer(running: Any) -> None:
    answer = await running.post(encode(recorded("crash-firing")))
    assert (answer.status_code, answer.json()) == (200, {"Created": 1})
    ((namespace, name), manifest) = next(iter(running.store.objects.items()))
    assert namespace == "shop"
    assert name.startswith("alert-")
    assert manifest["spec"]["subject"]["name"] == "checkout-6d5f8c7b9d-x7k2p"


async def test_a_mixed_message_is_handled_alert_by_alert(running: Any) -> None:
    await running.post(encode(recorded("crash-firing")))
    answer = await running.post(encode(recorded("mixed")))
    assert answer.json() == {"Created": 2, "Resolved": 1, "Ignored": 1}
    assert sorted(namespace for namespace, _ in running.store.objects) == [
        "alerts",
        "batch",
        "shop",
    ]
    assert list(running.store.resolved.values()) == ["2026-08-11T09:31:04Z"]


async def test_duplicates_are_stored_once_and_noted_at_most_once_a_minute(running: Any) -> None:
    answers = await asyncio.gather(*(running.post(body(alert())) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    outcomes = [next(iter(answer.json())) for answer in answers]
    assert sorted(outcomes) == ["Created"] + ["Duplicate"] * 19
    assert len(running.store.objects) == 1
    assert len(running.store.seen) == 1


async def test_a_new_start_is_a_new_episode(running: Any) -> None:
    await running.post(body(alert()))
    await running.post(body(alert(status="resolved", endsAt="2026-08-01T09:40:00Z")))
    await running.post(body(alert(startsAt="2026-08-01T09:50:00Z")))
    assert len(running.store.objects) == 2
    assert len(running.store.resolved) == 1


async def test_a_late_firing_message_does_not_undo_the_resolution(running: Any) -> None:
    await running.post(body(alert()))
    await running.post(body(alert(status="resolved", endsAt="2026-08-01T09:40:00Z")))
    late = await running.post(body(alert()))
    assert late.json() == {"Duplicate": 1}
    assert list(running.store.resolved.values()) == ["2026-08-01T09:40:00Z"]


async def test_a_resolved_alert_never_creates(running: Any) -> None:
    answer = await running.post(body(alert(status="resolved", endsAt="2026-08-01T09:40:00Z")))
    assert (answer.status_code, answer.json()) == (200, {"NothingToResolve": 1})
    assert running.store.objects == {}


async def test_a_resolution_finds_its_episode_although_the_start_has_moved(running: Any) -> None:
    """Alertmanager keeps the earliest start that it ever hears of (alertmanager.md §5)."""
    ended = {"status": "resolved", "endsAt": "2026-08-01T09:40:00Z"}
    await running.post(body(alert(startsAt="2026-08-01T09:50:00Z")))
    later = await running.post(body(alert(startsAt="2026-08-01T09:29:00Z", **ended)))
    assert later.json() == {"NothingToResolve": 1}  # the stored one began after that end
    await running.post(body(alert()))
    moved = await running.post(body(alert(startsAt="2026-08-01T09:29:00Z", **ended)))
    assert moved.json() == {"Resolved": 1}
    again = await running.post(body(alert(startsAt="2026-08-01T09:29:00Z", **ended)))
    assert again.json() == {"NothingToResolve": 1}
    ((_, name),) = running.store.resolved
    assert running.store.objects["shop", name]["spec"]["alerts"][0]["startsAt"].endswith(
        "09:30:00Z"
    )


async def test_an_episode_in_the_fallback_namespace_is_resolved_there(running: Any) -> None:
    running.store.judge = refusing("shop", error=errors.ApiNotFound)
    await running.post(body(alert()))
    running.store.judge = lambda *_: None
    answer = await running.post(body(alert(status="resolved", endsAt="2026-08-01T09:40:00Z")))
    assert answer.json() == {"Resolved": 1}
    assert [namespace for namespace, _ in running.store.resolved] == ["alerts"]


@pytest.mark.parametrize("error", [errors.ApiForbidden, errors.ApiNotFound])
async def test_a_refused_namespace_leads_to_the_fallback(running: Any, error: Any) -> None:
    running.store.judge = refusing("shop", error=error)
    answer = await running.post(body(alert()))
    assert (answer.status_code, answer.json()) == (200, {"Created": 1})
    ((namespace, _), manifest) = next(iter(running.store.objects.items()))
    assert namespace == manifest["metadata"]["namespace"] == "alerts"
    assert "subject" not in manifest["spec"]


@pytest.mark.parametrize(
    "error", [errors.ApiForbidden, errors.ApiNotFound, errors.ApiInvalid, errors.ApiTooLarge]
)
async def test_one_refused_alert_never_fails_the_others(
    running: Any, error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    running.store.judge = refusing("shop", "alerts", error=error)
    answer = await running.post(body(alert(), labelled(namespace="other", pod="web-0")))
    assert (answer.status_code, answer.json()) == (200, {"Created": 1, "Refused": 1})
    assert [namespace for namespace, _ in running.store.objects] == ["other"]
    assert running.sample("alerts_total", outcome="Refused", reason=error.__name__) == 1
    assert any("alert not stored" in record.message for record in caplog.records)


@pytest.mark.parametrize(
    "error", [errors.ApiUnavailable, errors.ApiUnauthorized, errors.ApiConflict, errors.ApiGone]
)
async def test_an_api_server_that_takes_no_alerts_means_try_again(running: Any, error: Any) -> None:
    running.store.judge = lambda *_: error("away")
    answer = await running.post(body(alert()))
    assert answer.status_code == 503
    assert running.store.objects == {}


async def test_the_repetition_after_an_outage_creates_each_once(running: Any) -> None:
    names: list[str] = []

    def fails_after_two(_namespace: str, name: str) -> Exception | None:
        names.append(name)
        return unavailable("", "") if len(names) > 2 else None

    running.store.judge = fails_after_two
    message = body(*distinct(40))
    assert (await running.post(message)).status_code == 503
    assert 2 <= len(running.store.objects) < 40
    running.store.judge = lambda *_: None
    answers = await asyncio.gather(running.post(message), running.post(message))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(running.store.objects) == 40


async def test_a_failing_note_about_a_duplicate_fails_nothing(running: Any) -> None:
    await running.post(body(alert()))

    async def note_seen(*_: Any, **__: Any) -> None:
        raise errors.ApiUnavailable("away")

    running.store.note_seen = note_seen
    answer = await running.post(body(alert()))
    assert (answer.status_code, answer.json()) == (200, {"Duplicate": 1})


async def test_a_resolution_that_can_not_be_noted_is_sent_again(running: Any) -> None:
    await running.post(body(alert()))
    running.store.judge = unavailable
    answer = await running.post(body(alert(status="resolved", endsAt="2026-08-01T09:40:00Z")))
    assert answer.status_code == 503


async def test_invalid_alerts_are_counted_and_the_others_stored(
    running: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await running.post(body(alert(startsAt=None), alert(status=None), 5, alert()))
    assert (answer.status_code, answer.json()) == (200, {"Created": 1, "Invalid": 3})
    assert running.sample("alerts_total", outcome="Invalid", reason="BadStart") == 1
    assert any("3 alerts are invalid" in record.message for record in caplog.records)


async def test_odd_messages_are_accepted_and_counted(running: Any) -> None:
    assert (await running.post(body())).json() == {}
    assert (await running.post(body(alert(), version="5", truncatedAlerts=37))).status_code == 200
    assert running.sample("unknown_versions_total") == 1
    assert running.sample("missing_alerts_total") == 37
    assert running.sample("requests_total", code="200") == 2


async def test_alerts_about_kubewhy_start_nothing(running: Any) -> None:
    own = labelled(namespace="kubewhy-system", pod="kubewhy-operator-0")
    answer = await running.post(body(own, alert(labels={"alertname": "Watchdog"})))
    assert (answer.status_code, answer.json()) == (200, {"Ignored": 2})
    assert running.store.objects == {}
    assert running.sample("alerts_total", outcome="Ignored", reason="AboutKubewhy") == 1


async def test_the_most_urgent_alert_is_written_first_and_writes_are_bounded(start: Any) -> None:
    async with start(limits={"writes": 4}) as running:
        running.store.seconds = 0.005
        urgent = alert(labels=LABELS | {"severity": "critical"})
        answer = await running.post(body(*distinct(50), urgent))
        assert answer.json() == {"Created": 51}
        first = next(iter(running.store.objects.values()))
        assert first["spec"]["severity"] == "Critical"
        assert running.store.most_running == 4


async def test_what_is_too_much_for_one_message_is_stored_with_its_count(running: Any) -> None:
    answer = await running.post(body(*distinct(1100)))
    assert (answer.status_code, answer.json()) == (200, {"Created": 1001, "Overflow": 100})
    group = running.store.objects["alerts", running.store.names[-1]]
    assert group["metadata"]["annotations"]["alert.kubewhy.internal/overflow"] == "100"


async def test_a_slow_api_server_means_try_again(start: Any) -> None:
    async with start(limits={"answer_seconds": 0.2}) as running:
        running.store.seconds = 5
        answer = await running.post(body(alert()))
        assert answer.status_code == 503
        assert running.store.objects == {}


async def test_repetitions_get_a_long_message_through_a_slow_api_server(start: Any) -> None:
    async with start(limits={"answer_seconds": 0.4, "writes": 1}) as running:
        running.store.seconds = 0.01
        message = body(*distinct(60))
        codes: list[int] = []
        while 200 not in codes and len(codes) < 30:
            codes.append((await running.post(message)).status_code)
        assert set(codes) == {200, 503}
        assert len(running.store.objects) == 60


async def test_what_was_deleted_after_its_message_was_stored_is_created_again(running: Any) -> None:
    await running.post(body(alert()))
    running.store.objects.clear()
    assert (await running.post(body(alert()))).json() == {"Created": 1}


async def test_a_fault_of_ours_is_no_500(running: Any, caplog: pytest.LogCaptureFixture) -> None:
    running.store.judge = lambda *_: RuntimeError("broken")
    answer = await running.post(body(alert()))
    assert answer.status_code == 503
    assert "broken" not in answer.text
    assert any(record.levelno == logging.ERROR for record in caplog.records)


async def test_a_storm_creates_each_episode_once_and_loses_none(running: Any) -> None:
    """Fault test 73, scaled: 1,000 deliveries of 100 episodes, every message from two replicas, API hiccups."""
    hiccups = iter(range(10_000))
    running.store.judge = lambda *_: unavailable("", "") if next(hiccups) % 97 == 0 else None
    episodes = distinct(100)

    async def deliver(index: int) -> int:
        message = body(*(episodes[(index + offset) % 100] for offset in range(10)))
        for _ in range(10):
            if (await running.post(message)).status_code == 200:
                return 200
        return 503

    codes: list[int] = []
    for batch in range(5):
        codes += await asyncio.gather(
            *(deliver(batch * 20 + index // 2 * 2) for index in range(20))
        )
    assert set(codes) == {200}
    assert len(running.store.objects) == 100
