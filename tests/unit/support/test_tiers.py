"""The pure parts of the tier runner: what is left out, what counts as a failure, what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiers import cluster, plan, processes, pytests, report

_TIER = plan.TIERS[0]
_NODE_TIER = next(tier for tier in plan.TIERS if tier.need is plan.Need.NODE)


def _machine(
    *, linux: bool = True, root: bool = True, debian: bool = True, missing: tuple[str, ...] = ()
) -> plan.Machine:
    return plan.Machine(linux=linux, root=root, debian_12=debian, missing=missing)


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (_machine(), ""),
        (_machine(linux=False), "a node needs Linux"),
        (_machine(root=False), "a node needs root"),
        (_machine(missing=("runc",)), "a node needs runc, which is not installed"),
    ],
)
def test_why_there_is_no_node(machine: plan.Machine, reason: str) -> None:
    assert plan.why_no_node(machine) == reason


@pytest.mark.parametrize(
    ("machine", "strict", "in_ci", "fails"),
    [
        (_machine(), False, True, True),
        (_machine(), False, False, False),
        (_machine(root=False), False, True, False),
        (_machine(debian=False), False, True, False),
        (_machine(root=False), True, False, True),
    ],
)
def test_when_a_left_out_tier_is_a_failure(
    machine: plan.Machine, strict: bool, in_ci: bool, fails: bool
) -> None:
    assert plan.left_out_fails(machine, strict=strict, in_ci=in_ci) is fails


def test_tiers_run_in_their_order_whatever_the_order_of_the_names() -> None:
    assert [tier.name for tier in plan.wanted(["incidents", "unit"])] == ["unit", "incidents"]
    assert plan.wanted([]) == plan.TIERS


def test_an_unknown_tier_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no tier 'units': take one of unit, contract"):
        plan.wanted(["units"])


def test_the_own_clusters_run_after_the_shared_one_is_gone() -> None:
    needs = [tier.need for tier in plan.TIERS]
    assert needs.index(plan.Need.FREE_NODE) > max(
        index for index, need in enumerate(needs) if need in {plan.Need.CLUSTER, plan.Need.NODE}
    )


@pytest.mark.parametrize(
    ("counts", "code", "timed_out", "selected", "failed", "note"),
    [
        (report.Counts(passed=3), 0, False, False, 0, ""),
        (report.Counts(passed=3, failed=2), 1, False, False, 2, ""),
        (report.Counts(passed=3), 3, False, False, 1, "pytest exited with 3"),
        (None, -9, False, False, 1, "pytest exited with -9"),
        (report.Counts(), 5, False, False, 1, "has no test"),
        (report.Counts(), 5, False, True, 0, ""),
        (report.Counts(skipped=4), 0, False, False, 1, "no test passed"),
        (report.Counts(skipped=4), 0, False, True, 0, ""),
        (None, -2, True, False, 1, f"not finished within {_TIER.seconds} s"),
    ],
)
def test_every_fault_of_a_tier_counts(
    counts: report.Counts | None,
    code: int,
    timed_out: bool,
    selected: bool,
    failed: int,
    note: str,
) -> None:
    ended = processes.Ended(code=code, timed_out=timed_out)
    judged, said = pytests.judge(counts, ended, tier=_TIER, selected=selected)
    assert (judged.failed, said) == (failed, note)


def test_counts_come_from_the_report(tmp_path: Path) -> None:
    xml = tmp_path / "report.xml"
    xml.write_text(
        '<testsuites><testsuite tests="9" failures="2" errors="1" skipped="3"/></testsuites>'
    )
    assert pytests.read_counts(xml) == report.Counts(passed=3, failed=3, skipped=3)


@pytest.mark.parametrize("text", ["", "<testsuites", '<testsuite tests="many"/>'])
def test_a_damaged_report_has_no_counts(tmp_path: Path, text: str) -> None:
    xml = tmp_path / "report.xml"
    xml.write_text(text)
    assert pytests.read_counts(xml) is None


def test_only_a_cluster_tier_sees_a_kubeconfig() -> None:
    base = {"KUBECONFIG": "mine", "PYTHONPATH": "tests/support", "HOME": "~"}
    assert pytests.environment(base, "") == {"HOME": "~"}
    assert pytests.environment(base, "/t") == {"HOME": "~", "KUBECONFIG": "/t"}


def test_a_node_tier_lacks_what_its_cluster_lacks() -> None:
    without_node = cluster.Started(kubeconfig="/t", no_node="a node needs root")
    assert without_node.lacking(plan.Need.CLUSTER) == ""
    assert without_node.lacking(_NODE_TIER.need) == "a node needs root"
    nothing = cluster.Started(no_cluster="Go is missing", no_node="a node needs root")
    assert nothing.lacking(_NODE_TIER.need) == "Go is missing"


def test_table_and_closing_line() -> None:
    rows = [
        report.Row(tier="unit", counts=report.Counts(passed=12, failed=1, skipped=2), seconds=3.21),
        report.left_out("node", "a node needs root", fails=True),
    ]
    assert report.table(rows).splitlines() == [
        "tier  passed  failed  skipped  seconds",
        "unit      12       1        2      3.2",
        "node       -       -        -        -  left out: a node needs root",
    ]
    assert report.closing_line(report.total(rows)) == "12 passed, 2 failed, 2 skipped"
