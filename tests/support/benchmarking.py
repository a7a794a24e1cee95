"""What every measurement prints beside its figures, and the cluster it runs on (benchmarks.md §1 of the reference)."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiers import cluster

ROOT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024


class NotMeasuredError(Exception):
    """The measurement could not be made; the text says why."""


def header(what: str) -> str:
    """The circumstances: what is measured, commit, machine, load."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / MIB / 1024
    machine = (
        f"{os.cpu_count()} x {_processor()}, {memory:.1f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}"
    )
    return f"{what}\n  commit   {commit()}\n  machine  {machine}\n  load1    {load1():.2f}"


def load1() -> float:
    """The load average of the last minute; above 0.5 figures are worth little."""
    return os.getloadavg()[0]


def commit() -> str:
    """The commit that is measured, marked where the checkout differs from it."""
    named = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    return f"{named}, with changes" if _git("status", "--porcelain") else named


def row(name: str, values: Sequence[float], unit: str) -> str:
    """One line of figures: n, median, 95th percentile, greatest value."""
    return (
        f"  {name:<42} n {len(values):>3}   p50 {percentile(values, 50):8.3f}   "
        f"p95 {percentile(values, 95):8.3f}   max {max(values):8.3f} {unit}"
    )


def goal(name: str, value: float, limit: float, unit: str) -> str:
    """Whether a figure keeps to its goal, in words. Nothing fails on it."""
    verdict = "met" if value <= limit else "MISSED"
    return f"  goal: {name} <= {limit:g} {unit}: {verdict} ({value:.3f} {unit})"


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent of all values don't exceed (nearest rank)."""
    if not values:
        raise NotMeasuredError("there is not a single value")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


@contextlib.contextmanager
def local_cluster(*, node: bool) -> Iterator[Path]:
    """A cluster of this checkout's own, by its kubeconfig, which KUBECONFIG names meanwhile; removed in the end.

    Raises:
        NotMeasuredError: it did not come up, or has no node although one is asked for.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # in order: what was started is ended
    ours = cluster.Cluster(root=ROOT, name=f"bench-{cluster.Cluster.of(ROOT).name[-6:]}")
    before = os.environ.get("KUBECONFIG")
    try:
        started = ours.start(no_node="" if node else "not needed")
        if started.no_cluster or (node and started.no_node):
            raise NotMeasuredError(started.no_cluster or started.no_node)
        os.environ["KUBECONFIG"] = started.kubeconfig
        yield Path(started.kubeconfig)
    finally:
        if before is None:
            os.environ.pop("KUBECONFIG", None)
        else:
            os.environ["KUBECONFIG"] = before
        complaint = ours.down()
        if complaint:
            sys.stderr.write(f"{complaint}\n")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder for logs and tokens, gone in the end."""
    with tempfile.TemporaryDirectory(prefix="kubewhy-bench-") as found:
        yield Path(found)


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
