import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from kubewhy.api import base, bounds, investigation, names, record, status
from kubewhy.core import conclusion


@pytest.mark.parametrize(
    ("python", "manifest"),
    [
        ("tool_calls", "toolCalls"),
        ("cost_micro_usd", "costMicroUSD"),
        ("generator_url", "generatorURL"),
        ("investigation_uid", "investigationUID"),
        ("uid", "uid"),
        ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"),
    ],
)
def test_manifest_names(python: str, manifest: str) -> None:
    assert base.manifest_name(python) == manifest


def test_a_spec_is_written_without_what_was_left_empty() -> None:
    written = investigation.InvestigationSpec(question="Why?").manifest()
    assert written == {
        "question": "Why?",
        "model": "default",
        "mode": "ReadOnly",
        "limits": {
            "steps": 30,
            "toolCalls": 100,
            "tokens": 400_000,
            "costMicroUSD": 2_000_000,
            "seconds": 600,
            "approvalSeconds": 3600,
        },
        "suspend": False,
        "cancel": False,
        "ttlSecondsAfterFinished": 604_800,
    }


def test_a_status_writes_empty_lists_so_that_a_merge_patch_empties_them() -> None:
    written = status.InvestigationStatus().manifest()
    assert written["pendingApprovals"] == []
    assert "summary" not in written
    assert not [key for key, value in written.items() if value != []]


def test_a_manifest_is_plain_json_and_yaml() -> None:
    spec = investigation.InvestigationSpec.model_validate(
        {"alerts": [{"labels": {"alertname": "A"}, "startsAt": "2026-08-03T09:41:17Z"}]}
    )
    written = investigation.Investigation(spec=spec).manifest()
    assert json.loads(json.dumps(written)) == yaml.safe_load(yaml.safe_dump(written)) == written
    assert investigation.Investigation.model_validate(written).spec == spec


def test_unknown_fields_of_a_newer_version_are_ignored() -> None:
    read = investigation.Investigation.model_validate(
        {
            "apiVersion": names.API_VERSION,
            "kind": "Investigation",
            "metadata": {"name": "a", "managedFields": [{}]},
            "spec": {"question": "Why?", "novel": 1},
            "status": {"finished": True, "novel": {"deep": []}},
        }
    )
    assert read.status is not None
    assert read.status.finished is True


def test_models_are_frozen() -> None:
    spec = investigation.InvestigationSpec(question="Why?")
    with pytest.raises(ValidationError, match="frozen"):
        spec.question = "What?"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("2026-08-03T09:41:17Z", "2026-08-03T09:41:17Z"),
        ("2026-08-03T09:41:17.5Z", "2026-08-03T09:41:17.500Z"),
        ("2026-08-03T09:41:17.482913555+02:00", "2026-08-03T07:41:17.482913Z"),
        ("2026-08-03T23:30:00-05:30", "2026-08-04T05:00:00Z"),
    ],
)
def test_times_are_kept_in_utc(given: str, written: str) -> None:
    alert = investigation.Alert.model_validate({"labels": {"a": "b"}, "startsAt": given})
    assert alert.manifest()["startsAt"] == written


def test_alertmanagers_year_one_means_no_end() -> None:
    alert = investigation.Alert.model_validate(
        {"labels": {"a": "b"}, "endsAt": "0001-01-01T00:00:00Z"}
    )
    assert alert.ends_at is None
    assert "endsAt" not in alert.manifest()


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        datetime(2026, 1, 1),  # noqa: DTZ001 - the point: a moment without a zone
        "yesterday",
        "1785750077",
        1785750077,
    ],
)
def test_a_time_that_is_no_moment_is_refused(moment: object) -> None:
    with pytest.raises(ValidationError):
        investigation.Alert.model_validate({"labels": {"a": "b"}, "startsAt": moment})


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(ValidationError, match="unicode"):
        investigation.InvestigationSpec(question="\ud800")


def test_record_names_fit_below_the_longest_investigation_name() -> None:
    longest = "n" * bounds.INVESTIGATION_NAME + "-12345678-o-" + "f" * 32
    assert len(longest) <= bounds.NAME
    assert len("n" * bounds.INVESTIGATION_NAME + f"-12345678-{bounds.RECORD_NUMBER}") <= bounds.NAME


def test_a_record_of_one_mebibyte_that_does_not_compress_fits() -> None:
    compressed = 1024 * 1024 + 5 * 65 + 6 + 1024  # zlib's worst case: 5 bytes per 16 KiB block
    assert (compressed + 2) // 3 * 4 <= bounds.RECORD_DATA
    assert bounds.RECORD_DATA + 64 * 1024 < 3 * 512 * 1024  # etcd's limit on a request


def test_a_conclusion_of_the_core_fits_the_status() -> None:
    """What the core keeps of a model's answer is within the bounds of the status."""
    assert conclusion.STATEMENT_LENGTH <= bounds.STATEMENT
    assert conclusion.QUOTE_LENGTH <= bounds.QUOTE
    lists = (bounds.FINDINGS, bounds.RULED_OUT, bounds.ACTIONS, bounds.EVIDENCE, bounds.BLIND_SPOTS)
    assert all(length >= conclusion.LIST_LENGTH for length in lists)


def test_only_generate_reads_and_writes_files() -> None:
    folder = Path(record.__file__).parent
    using = {
        path.name
        for path in folder.glob("*.py")
        if "pathlib" in path.read_text(encoding="utf-8") or "open(" in path.read_text("utf-8")
    }
    assert using == {"generate.py"}


def test_now_is_never_read() -> None:
    folder = Path(record.__file__).parent
    assert not [p.name for p in folder.glob("*.py") if ".now(" in p.read_text(encoding="utf-8")]
