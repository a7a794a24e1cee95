"""Runs one tier with pytest and counts from its JUnit report."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # read: a report that our own pytest has just written

from tiers import plan, processes, report

_NO_TESTS = 5


@dataclass(frozen=True, kw_only=True)
class Options:
    """What all tiers of a run have in common.

    Attributes:
        root: the checkout.
        keyword: pytest's `-k`, "" for all tests.
        seed: the seed of the order and of the random numbers of the tests.
    """

    root: Path
    keyword: str
    seed: int


def run(tier: plan.Tier, options: Options, *, kubeconfig: str) -> report.Row:
    """Run `tier`, with `kubeconfig` as its cluster ("" for none), and return its row."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kubewhy-tests-") as folder:
        xml = Path(folder) / "report.xml"
        ended = processes.run(
            command(tier, options, xml),
            cwd=options.root,
            environment=environment(os.environ, kubeconfig),
            seconds=tier.seconds,
        )
        counts = read_counts(xml)
    counts, note = judge(counts, ended, tier=tier, selected=bool(options.keyword))
    return report.Row(tier=tier.name, counts=counts, note=note, seconds=time.monotonic() - started)


def command(tier: plan.Tier, options: Options, xml: Path) -> list[str]:
    """Return pytest's command line for `tier`."""
    workers = ["-n", str(tier.workers)] if tier.workers else ["-p", "no:xdist"]
    marks = ["-m", tier.marks] if tier.marks else []
    keyword = ["-k", options.keyword] if options.keyword else []
    return [
        sys.executable,
        "-m",
        "pytest",
        f"tests/{tier.folder}",
        "-q",
        f"--timeout={tier.test_seconds}",
        f"--randomly-seed={options.seed}",
        f"--junitxml={xml}",
        *workers,
        *marks,
        *keyword,
    ]


def environment(base: Mapping[str, str], kubeconfig: str) -> dict[str, str]:
    """Return `base` without what belongs to the runner or to another cluster."""
    mine = {name: value for name, value in base.items() if name not in {"KUBECONFIG", "PYTHONPATH"}}
    return {**mine, "KUBECONFIG": kubeconfig} if kubeconfig else mine


def read_counts(xml: Path) -> report.Counts | None:
    """Return the counts of a JUnit report, None where there is none that can be read."""
    try:
        suites = ElementTree.parse(xml).getroot().iter("testsuite")  # noqa: S314
        numbers = [
            tuple(int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped"))
            for suite in suites
        ]
    except (OSError, ElementTree.ParseError, ValueError):
        return None
    tests, failures, errors, skipped = (sum(column) for column in zip(*numbers, strict=True))
    failed = failures + errors
    return report.Counts(passed=max(tests - failed - skipped, 0), failed=failed, skipped=skipped)


def judge(
    counts: report.Counts | None, ended: processes.Ended, *, tier: plan.Tier, selected: bool
) -> tuple[report.Counts, str]:
    """Return the counts to report and what else went wrong; every fault counts as a failure."""
    counts = counts or report.Counts()
    fault = ""
    if ended.timed_out:
        fault = f"not finished within {tier.seconds} s"
    elif ended.code == _NO_TESTS:
        fault = "" if selected else "has no test"
    elif ended.code and not counts.failed:
        fault = f"pytest exited with {ended.code}"
    elif not ended.code and not counts.passed:
        fault = "" if selected else "no test passed"
    return (counts + report.Counts(failed=1), fault) if fault else (counts, "")
