"""The arithmetic of measurements, and the reading of a real process's figures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import benchmarking
import process_figures

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("values", "percent", "found"),
    [
        ([7.0], 50, 7.0),
        ([1.0, 2.0], 50, 1.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([float(value) for value in range(1, 21)], 50, 10.0),
        ([float(value) for value in range(1, 21)], 95, 19.0),
        ([float(value) for value in range(1, 8)], 95, 7.0),
    ],
)
def test_percentiles_are_values_that_were_measured(
    values: list[float], percent: int, found: float
) -> None:
    assert benchmarking.percentile(values, percent) == found


def test_no_value_has_no_percentile() -> None:
    with pytest.raises(benchmarking.NotMeasuredError):
        benchmarking.percentile([], 50)


@pytest.mark.parametrize(("value", "word"), [(2.0, "met"), (2.001, "MISSED")])
def test_a_goal_is_met_up_to_its_limit(value: float, word: str) -> None:
    assert f": {word} (" in benchmarking.goal("p50", value, 2.0, "s")


def test_the_header_names_commit_machine_and_load() -> None:
    text = benchmarking.header("something")
    assert text.startswith("something\n")
    for word in ("commit", "machine", f"{os.cpu_count()} x", "load1"):
        assert word in text


BUSY = """
import subprocess, sys, time
held = bytearray(50 << 20)
end = time.process_time() + 0.3
while time.process_time() < end: pass
child = subprocess.Popen([sys.executable, "-c", "x = bytearray(30 << 20); print('up', flush=True); input()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print("up", flush=True)
input()
child.communicate(b"\\n")
"""


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has used 0.3 s and holds 50 MiB, with a child that holds 30 MiB."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    yield process
    process.communicate(b"\n")


def test_a_process_is_measured_with_its_children(busy: subprocess.Popen[bytes]) -> None:
    found = process_figures.of(busy.pid)
    assert found.processes == 2
    assert 0.3 <= found.cpu_seconds < 5
    assert 80 * MIB < found.peak_bytes < 200 * MIB


def test_an_ended_process_has_no_figures() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(ProcessLookupError, match=str(process.pid)):
        process_figures.of(process.pid)


@pytest.mark.parametrize(
    "script", sorted(path.name for path in (benchmarking.ROOT / "tests" / "bench").glob("*.py"))
)
def test_each_script_tells_what_it_measures(script: str) -> None:
    folders = os.pathsep.join(
        str(benchmarking.ROOT / "tests" / name) for name in ("support", "demo")
    )
    done = subprocess.run(
        [sys.executable, str(benchmarking.ROOT / "tests" / "bench" / script), "--help"],
        env=os.environ | {"PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout
