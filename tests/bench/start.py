"""How fast and how small the operator starts: from exec until /readyz answers 200.

Goes in: a local control plane without a node, the installed roles, and a token of the operator's own account. Each
start is a new process, as its image starts it, with the built-in model. Bytecode is compiled beforehand, as in the
image, by one start that isn't counted, into a folder of its own, whatever PYTHONDONTWRITEBYTECODE says. Printed are
wall time, CPU time and peak memory at that moment, and how soon a fresh Investigation is then picked up, which only
the watch can do within a minute. The floor is a bare `import kopf`. Figures are printed and nothing fails on them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import benchmarking
import kube_api
import operator_runner
import process_figures

POLL_SECONDS = 0.02
"""Between two looks at /readyz: the figures are this coarse, and polling costs the operator little."""

READY_SECONDS = 60.0
PICKUP_SECONDS = 30.0
NAMESPACE = "kubewhy-bench"


@dataclass(frozen=True, kw_only=True)
class Start:
    """One start; memory in MiB, times in seconds."""

    wall: float
    cpu: float
    peak: float
    pickup: float


def main() -> int:
    """Measure and print; 1 where that was not possible."""
    options = _options()
    print(benchmarking.header("operator start: exec to /readyz 200"), flush=True)
    try:
        with benchmarking.folder() as folder:
            starts = _measure(options.starts, folder)
            floor = [_floor(folder) for _ in range(options.starts + 1)][1:]
    except (benchmarking.NotMeasuredError, AssertionError, OSError) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 1
    _print(starts, floor)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=7, help="starts to measure (default: 7)")
    return parser.parse_args()


def _print(starts: list[Start], floor: list[tuple[float, float]]) -> None:
    cpu = [each.cpu for each in starts]
    peak = [each.peak for each in starts]
    print(benchmarking.row("wall time", [each.wall for each in starts], "s"))
    print(benchmarking.row("CPU time, user and system", cpu, "s"))
    print(benchmarking.row("peak memory (VmHWM)", peak, "MiB"))
    print(
        benchmarking.row(
            "then: Investigation created to picked up", [s.pickup for s in starts], "s"
        )
    )
    print(benchmarking.row("floor: import kopf, CPU time", [cpu for cpu, _ in floor], "s"))
    print(benchmarking.row("floor: import kopf, peak memory", [size for _, size in floor], "MiB"))
    print(benchmarking.goal("CPU time p50", benchmarking.percentile(cpu, 50), 2.5, "s"))
    print(benchmarking.goal("peak memory p50", benchmarking.percentile(peak, 50), 130, "MiB"))
    print(f"  load1 at the end {benchmarking.load1():.2f}")


def _measure(number: int, folder: Path) -> list[Start]:
    with benchmarking.local_cluster(node=False) as kubeconfig:
        operator_runner.install()
        with kube_api.connect(kubeconfig) as kube:
            kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            access = operator_runner.access(kube, folder)
            _start(kube, access, folder, "warm-up")
            return [_start(kube, access, folder, f"start-{each}") for each in range(number)]


def _start(kube: kube_api.KubeApi, access: Mapping[str, str], folder: Path, name: str) -> Start:
    health = _free_address()
    began = time.perf_counter()
    with _operator(access, folder, health) as process:
        _wait_ready(process, health, folder)
        wall = time.perf_counter() - began
        figures = process_figures.of(process.pid)
        pickup = _pickup(kube, name)
    return Start(
        wall=wall,
        cpu=figures.cpu_seconds,
        peak=figures.peak_bytes / benchmarking.MIB,
        pickup=pickup,
    )


@contextlib.contextmanager
def _operator(
    access: Mapping[str, str], folder: Path, health: str
) -> Iterator[subprocess.Popen[bytes]]:
    kept = {name: value for name, value in _warm(folder).items() if not name.startswith("KUBE")}
    ours = {
        "KUBEWHY_HOLDER": "bench",
        "KUBEWHY_HEALTH_ADDRESS": health,
        "KUBEWHY_METRICS_ADDRESS": _free_address(),
    }
    with (folder / "operator.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "kubewhy", "operator"],
            env=kept | dict(access) | ours,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(process: subprocess.Popen[bytes], health: str, folder: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not _ready(health):
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            words = (folder / "operator.log").read_text(encoding="utf-8", errors="replace")
            what = "ended" if ended else f"was not ready in {READY_SECONDS:.0f} s"
            raise benchmarking.NotMeasuredError(f"the operator {what}: {words[-1024:]}")
        time.sleep(POLL_SECONDS)


def _ready(health: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{health}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _pickup(kube: kube_api.KubeApi, name: str) -> float:
    """Seconds from the creation of a suspended Investigation until the operator has written its status."""
    began = time.perf_counter()
    kube.create(operator_runner.investigation(NAMESPACE, name, suspend=True))
    while not operator_runner.succeeded(operator_runner.read(kube, NAMESPACE, name)):
        if time.perf_counter() - began > PICKUP_SECONDS:
            raise benchmarking.NotMeasuredError(
                f"no status after {PICKUP_SECONDS:.0f} s: the watch is not there though /readyz says so"
            )
        time.sleep(POLL_SECONDS / 2)
    found = time.perf_counter() - began
    path = operator_runner.INVESTIGATIONS.format(NAMESPACE)
    kube.request("DELETE", f"{path}/{name}")
    return found


def _floor(folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MiB of a process that imports kopf and nothing else."""
    code = (
        "import kopf, resource; r = resource.getrusage(resource.RUSAGE_SELF); "
        "print(r.ru_utime + r.ru_stime, r.ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=_warm(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    cpu, kibibytes = done.stdout.split()
    return float(cpu), int(kibibytes) / 1024


def _warm(folder: Path) -> dict[str, str]:
    """Our environment, with bytecode kept in the folder."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def _free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


if __name__ == "__main__":
    sys.exit(main())
