"""What programs print, and the recorded message. Goes in: their own text. Observed: what the demo reads in it."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

import alerting
import local
import product
import recorded
import waiting
import workload
from kubewhy.core.alerting import alert_names, alert_subjects, alertmanager
from terminal import DemoError

LOG = """\
ts=2026-08-11T09:20:37.528Z caller=tls_config.go:232 level=info msg="Listening on" address=127.0.0.1:1
ts=2026-08-11T09:20:53.490Z caller=dispatch.go:163 level=debug component=dispatcher msg="Received alert"
ts=2026-08-11T09:20:54.491Z caller=d.go:5 level=debug component=dispatcher aggrGroup="{}:{}" msg=flushing alerts=[a]
ts=2026-08-11T09:20:54.493Z caller=notify.go:743 level=debug component=dispatcher msg="Notify success" attempts=1
ts=2026-08-11T09:21:04.491Z caller=d.go:5 level=debug component=dispatcher aggrGroup="{}:{}" msg=flushing alerts=[a]
"""
START = datetime.datetime(2026, 8, 11, 9, 12, tzinfo=datetime.UTC)


def test_the_post_is_the_first_flush() -> None:
    assert alerting.first_flush(LOG) == datetime.datetime(
        2026, 8, 11, 9, 20, 54, 491000, tzinfo=datetime.UTC
    )
    assert alerting.first_flush(LOG.partition("ts=2026-08-11T09:20:54")[0]) is None


def test_states_are_those_of_our_rule() -> None:
    answer = {
        "data": {
            "alerts": [
                {"labels": {"alertname": "KubePodCrashLooping", "pod": "a"}, "state": "pending"},
                {"labels": {"alertname": "Other", "pod": "b"}, "state": "firing"},
            ]
        }
    }
    assert alerting.alert_states(answer) == {"a": "pending"}
    assert alerting.alert_states(None) == {}


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DemoError, match=r"^prometheus is not installed: install .*\.$"):
        alerting.require_programs()


PRINTED = """\
webhook: http://127.0.0.1:40123/webhooks/alertmanager
header:  Authorization: Bearer s3cr-_t
health:  operator http://127.0.0.1:1 webhook http://127.0.0.1:2
ready
"""


def test_webhook_and_token_are_read() -> None:
    assert product.address(PRINTED) == (
        "http://127.0.0.1:40123/webhooks/alertmanager",
        "s3cr-_t",
    )


@pytest.mark.parametrize("line", ["webhook:", "header:"])
def test_a_missing_line_is_an_error(line: str) -> None:
    kept = "\n".join(text for text in PRINTED.splitlines() if not text.startswith(line))
    with pytest.raises(DemoError, match="URL and header"):
        product.address(kept)


def test_settings_of_the_person_choose_no_other_model() -> None:
    kubectl = local.Kubectl(program="/opt/kubectl", kubeconfig=Path("/state/kubeconfig"))
    found = product.environment(
        {"PATH": "/bin", "KUBEWHY_MODELS_FILE": "mine.yaml", "KUBECONFIG": "mine"}, kubectl, ""
    )
    assert found == {"PATH": "/bin", "KUBECONFIG": "/state/kubeconfig", "KUBECTL": "/opt/kubectl"}
    found = product.environment({}, kubectl, "http://127.0.0.1:9")
    assert found["KUBEWHY_PROMETHEUS_URL"] == "http://127.0.0.1:9"


def test_only_times_of_the_recorded_message_are_replaced() -> None:
    original = json.loads(recorded.FIXTURE.read_text(encoding="utf-8"))
    found = recorded.message(START)
    assert found["alerts"][0]["startsAt"] == "2026-08-11T09:12:00+00:00"
    found["alerts"][0]["startsAt"] = original["alerts"][0]["startsAt"]
    assert found == original


def test_its_end_is_resolved_and_has_the_same_episode() -> None:
    names = set()
    for ended in (None, START + datetime.timedelta(minutes=1)):
        read = alertmanager.read(json.dumps(recorded.message(START, ended=ended)).encode())
        assert not read.problems
        (received,) = read.received
        names.add(alert_names.investigation("", received.alert.fingerprint, received.starts_at))
        assert received.alert.firing is (ended is None)
    assert len(names) == 1


def test_the_recorded_message_is_about_the_pod_that_is_deployed() -> None:
    (alert,) = recorded.message(START)["alerts"]
    target = alert_subjects.find(alert["labels"], alert["annotations"])
    stateful = next(one for one in workload.stateful_shop() if one["kind"] == "StatefulSet")
    assert target.subject is not None
    assert (target.subject.kind, target.namespace) == ("Pod", stateful["metadata"]["namespace"])
    assert target.subject.name == f"{stateful['metadata']['name']}-0"
    assert alert_names.fingerprint(alert["labels"]) == alert["fingerprint"]


def test_the_crash_is_in_no_manifest_of_a_pod() -> None:
    """The root cause is to be found in the log, not in the text of the command."""
    workloads = [one for one in workload.shop() if one["kind"] == "Deployment"]
    assert len(workloads) == 2
    assert workload.MESSAGE not in json.dumps(workloads)
    assert workload.SETTING not in json.dumps(workloads)


def test_the_crash_loop_is_found_among_the_containers() -> None:
    looping = {"name": "b", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    well = [{"name": "a", "state": {"running": {}}}, {"name": "c", "state": {"waiting": {}}}]
    assert waiting.crash_loop({"status": {"containerStatuses": [*well, looping]}}) == looping
    assert waiting.crash_loop({"status": {"containerStatuses": well}}) is None
    assert waiting.crash_loop({}) is None


def test_the_repair_adds_what_the_crash_names() -> None:
    lacking = next(
        one["data"] for one in workload.shop() if one["metadata"]["name"] == workload.SETTINGS
    )
    assert workload.SETTING not in lacking
    assert json.loads(workload.repair())["data"].keys() == {workload.SETTING}
