"""What is shown and how the answer is judged. Goes in: an Investigation. Observed: text and complaints."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

import show
import workload
from kubewhy.api import names

EXPECTED = workload.Expected(
    namespace="shop", name="checkout", words=("x.NoSettingError", "DB_HOST is not set")
)

Break = Callable[[dict[str, Any]], object]


def test_the_right_answer_has_no_complaint(investigation: dict[str, Any]) -> None:
    assert show.complaints(investigation, EXPECTED) == []


def cause(investigation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = investigation["status"]["rootCause"]
    return found


WRONG: dict[str, tuple[Break, str]] = {
    "another cause": (
        lambda inv: cause(inv).update(statement="checkout ran out of memory."),
        "does not say 'DB_HOST is not set'",
    ),
    "no cause": (lambda inv: inv["status"].pop("rootCause"), "does not say"),
    "only the exception's class": (
        lambda inv: cause(inv).update(statement="checkout ends with x.NoSettingError."),
        "does not say 'DB_HOST is not set'",
    ),
    "inconclusive": (
        lambda inv: inv["status"]["conditions"][0].update(reason="Inconclusive"),
        "Succeeded is True Inconclusive",
    ),
    "failed": (
        lambda inv: inv["status"]["conditions"][0].update(status="False", reason="Failed"),
        "Succeeded is False Failed",
    ),
    "nothing written": (lambda inv: inv.update(status={}), "Succeeded is absent"),
    "quote not verified": (
        lambda inv: cause(inv)["evidence"][0].update(verified=False),
        "no verified quote",
    ),
    "quote beside the point": (
        lambda inv: cause(inv)["evidence"][0].update(quote="INFO checkout is starting"),
        "no verified quote",
    ),
    "another object": (
        lambda inv: cause(inv)["subject"].update(name="storefront"),
        "about storefront and not about checkout",
    ),
    "another namespace": (
        lambda inv: inv["metadata"].update(namespace="default"),
        "not in namespace shop",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_complained_about(investigation: dict[str, Any], name: str) -> None:
    spoil, complaint = WRONG[name]
    spoil(investigation)
    assert complaint in "; ".join(show.complaints(investigation, EXPECTED))


def test_the_answer_shows_cause_quote_and_commands(investigation: dict[str, Any]) -> None:
    text = show.answer(investigation)
    assert text.splitlines()[0] == "Root cause (confidence High)"
    assert "“x.NoSettingError: DB_HOST is not set”" in text
    assert "(call 1-0 kubernetes_first_look, verified)" in text
    assert "Next commands to try" in text
    assert (
        "    $ kubectl -n shop logs deployment/checkout --previous --tail=50" in text.splitlines()
    )


def test_a_quote_that_was_not_verified_is_called_so(investigation: dict[str, Any]) -> None:
    cause(investigation)["evidence"][0]["verified"] = False
    assert "NOT verified" in show.answer(investigation)


def test_a_long_command_stays_on_one_line(investigation: dict[str, Any]) -> None:
    command = f"kubectl -n shop logs deployment/checkout {'--previous ' * 30}".rstrip()
    investigation["status"]["actions"][0]["command"] = command
    assert f"    $ {command}" in show.answer(investigation).splitlines()


def test_without_a_root_cause_the_summary_is_shown(investigation: dict[str, Any]) -> None:
    del investigation["status"]["rootCause"]
    investigation["status"]["summary"] = "The cause was not found."
    assert "The cause was not found." in show.answer(investigation)


def test_starts_at_is_the_alerts(investigation: dict[str, Any]) -> None:
    found = show.starts_at(investigation)
    assert found == datetime.datetime(2026, 8, 11, 9, 12, 34, 567891, tzinfo=datetime.UTC)
    investigation["spec"] = {"question": "Why?"}
    assert show.starts_at(investigation) is None


def test_concluded_is_not_yet_complete(investigation: dict[str, Any]) -> None:
    assert show.complete(investigation)
    del investigation["status"]["finished"]
    assert show.concluded(investigation)
    assert not show.complete(investigation)
    investigation["status"]["conditions"][0]["status"] = "Unknown"
    assert not show.concluded(investigation)


def test_resolved_is_what_the_webhook_notes(investigation: dict[str, Any]) -> None:
    assert show.RESOLVED_AT == names.ALERT_RESOLVED_AT
    assert not show.resolved(investigation)
    investigation["metadata"]["annotations"] = {names.ALERT_RESOLVED_AT: "2026-08-11T09:30:00Z"}
    assert show.resolved(investigation)
