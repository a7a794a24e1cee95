"""Arguments, and the order in which a run goes."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from tiers import cluster, machine, plan, processes, pytests, report

_ROOT = Path(__file__).resolve().parents[3]
_CHECK_SECONDS = 600


def main(arguments: Sequence[str]) -> int:
    """Run what `arguments` ask for; return 0 if all of it passed, 128 + n after signal n."""
    wanted = _parse(arguments)
    rows: list[report.Row] = []
    code = 0
    try:
        with processes.interruptible(), contextlib.closing(_Run(wanted).rows()) as made:
            for row in made:
                rows.append(row)
                _say(report.summary(row))
    except processes.InterruptedRunError as interrupt:
        code = 128 + interrupt.number
        rows.append(report.Row(tier="(end)", counts=report.Counts(failed=1), note=str(interrupt)))
    counts = report.total(rows)
    print(f"\n{report.table(rows)}\n\n{report.closing_line(counts)}", flush=True)
    return code or int(counts.failed > 0 or not counts.passed)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tiers", description=__doc__)
    parser.add_argument("--tier", action="append", default=[], metavar="NAME", help="only this one")
    parser.add_argument("-k", dest="keyword", default="", help="pytest's -k, for every tier")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="of the order")
    parser.add_argument("--strict-tiers", action="store_true", help="a left-out tier is a failure")
    wanted = parser.parse_args(arguments)
    try:
        wanted.tiers = plan.wanted(wanted.tier)
    except ValueError as error:
        parser.error(str(error))
    return wanted


class _Run:
    """One run: its options, and the rows it makes one after the other."""

    def __init__(self, wanted: argparse.Namespace) -> None:
        self._tiers: tuple[plan.Tier, ...] = wanted.tiers
        self._with_check = not wanted.tier and not wanted.keyword
        self._options = pytests.Options(root=_ROOT, keyword=wanted.keyword, seed=wanted.seed)
        self._machine = machine.look()
        self._cluster = cluster.Cluster.of(_ROOT)
        self._fails = plan.left_out_fails(
            self._machine, strict=wanted.strict_tiers, in_ci=bool(os.environ.get("CI"))
        )

    def rows(self) -> Generator[report.Row, None, None]:
        """Run everything, one row for each tier, the shared cluster up only in the middle."""
        print(f"order and random numbers by --seed {self._options.seed}", flush=True)
        if self._with_check:
            yield _check()
        for tier in self._needing(plan.Need.NOTHING):
            yield self._one(tier)
        yield from self._on_shared_cluster()
        for tier in self._needing(plan.Need.FREE_NODE):
            why = plan.why_no_node(self._machine)
            yield self._left_out(tier, why) if why else self._one(tier)

    def _needing(self, *needs: plan.Need) -> list[plan.Tier]:
        return [tier for tier in self._tiers if tier.need in needs]

    def _on_shared_cluster(self) -> Iterator[report.Row]:
        tiers = self._needing(plan.Need.CLUSTER, plan.Need.NODE)
        if not tiers:
            return
        try:
            with cluster.only_one(self._cluster):
                yield from self._with_cluster(tiers)
        except cluster.ClusterUnavailableError as error:
            yield from (self._left_out(tier, str(error)) for tier in tiers)

    def _with_cluster(self, tiers: Sequence[plan.Tier]) -> Iterator[report.Row]:
        """Start the cluster, run `tiers` on it, and remove it whatever happens."""
        _say(f"local cluster {self._cluster.name}")
        try:
            started = self._cluster.start(no_node=self._no_node(tiers))
            for tier in tiers:
                lacking = started.lacking(tier.need)
                yield (
                    self._left_out(tier, lacking)
                    if lacking
                    else self._one(tier, started.kubeconfig)
                )
        finally:
            leftover = self._cluster.down()
        if leftover:
            yield report.Row(tier="cluster-down", counts=report.Counts(failed=1), note=leftover)

    def _no_node(self, tiers: Sequence[plan.Tier]) -> str:
        if all(tier.need is not plan.Need.NODE for tier in tiers):
            return "no chosen tier needs a node"
        return plan.why_no_node(self._machine)

    def _one(self, tier: plan.Tier, kubeconfig: str = "") -> report.Row:
        _say(f"tier {tier.name}")
        return pytests.run(tier, self._options, kubeconfig=kubeconfig)

    def _left_out(self, tier: plan.Tier, why: str) -> report.Row:
        return report.left_out(tier.name, why, fails=self._fails)


def _check() -> report.Row:
    _say("check")
    started = time.monotonic()
    ended = processes.run(
        ["make", "check"], cwd=_ROOT, environment=os.environ, seconds=_CHECK_SECONDS
    )
    failed = int(ended.code != 0)
    counts = report.Counts(passed=1 - failed, failed=failed)
    return report.Row(tier="check", counts=counts, seconds=time.monotonic() - started)


def _say(what: str) -> None:
    print(f"\n=== {what}", flush=True)
