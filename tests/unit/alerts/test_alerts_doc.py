"""docs/alerts.md names everything that it promises to name."""

import re
from pathlib import Path

import pytest

from kubewhy.app.webhook import intake, metrics
from kubewhy.core.alerting import alert_plan, alert_rules, alert_subjects

DOC = (Path(__file__).resolve().parents[3] / "docs" / "alerts.md").read_text(encoding="utf-8")


def test_every_metric_is_named_and_no_other() -> None:
    families = {family.name for family in metrics.Metrics().registry.collect()}
    ours = {name for name in families if name.startswith("kubewhy_webhook")}
    named = {name.removesuffix("_total") for name in re.findall(r"kubewhy_webhook_\w+", DOC)}
    assert ours == named


@pytest.mark.parametrize("outcome", intake.Outcome)
def test_every_outcome_is_named(outcome: intake.Outcome) -> None:
    assert re.search(rf"\b{outcome}\b", DOC)


@pytest.mark.parametrize("label", [label for label, _ in alert_subjects._KIND_LABELS])
def test_every_label_that_names_a_kind_is_listed(label: str) -> None:
    assert f"`{label}`" in DOC


@pytest.mark.parametrize(
    "text",
    [
        alert_subjects.HINT_KIND,
        alert_subjects.HINT_NAME,
        alert_subjects.HINT_NAMESPACE,
        alert_subjects.HINT_API_VERSION,
        alert_plan.CANDIDATES,
        alert_plan.OVERFLOW,
        alert_plan.TRUNCATED_ALERTS,
        f"{alert_plan.MAX_CREATIONS:,} Investigations",
        *alert_rules.NEVER_A_PROBLEM,
    ],
)
def test_names_that_end_up_in_manifests_are_documented(text: str) -> None:
    assert text in DOC
