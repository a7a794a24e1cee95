"""Programs of the demo. Goes in: small real programs. Observed: their processes, and what errors say."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

import stack
from terminal import DemoError


def program(tmp_path: Path, code: str) -> stack.Program:
    return stack.Program(
        name="helper",
        argv=[sys.executable, "-c", code],
        environment={"PATH": os.environ["PATH"]},
        folder=tmp_path,
    )


def lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


CHILD = """
import signal, subprocess, sys, time
if {deaf}: signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("deaf", [False, True])
def test_nothing_is_left_of_a_stopped_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaf: bool
) -> None:
    """Neither what it started itself, nor the program that ignores the polite signal."""
    monkeypatch.setattr(stack, "STOP_SECONDS", 0.5)
    helper = program(tmp_path, CHILD.format(deaf=deaf))
    with stack.running(helper) as started:
        started.wait_until(lambda: bool(helper.out.read_text()), seconds=20, what="up")
        child = int(helper.out.read_text())
        assert lives(child)
    assert started.ended
    deadline = time.monotonic() + 5
    while lives(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lives(child)


def test_it_is_stopped_also_when_the_demo_fails(tmp_path: Path) -> None:
    helper = program(tmp_path, "import time; time.sleep(60)")
    with contextlib.suppress(DemoError), stack.running(helper) as started:
        raise DemoError("something else")
    assert started.ended


def test_a_program_that_ended_is_told_with_its_last_words(tmp_path: Path) -> None:
    helper = program(tmp_path, "import sys; sys.exit('no such port')")
    with (
        stack.running(helper) as started,
        pytest.raises(DemoError, match=r"helper has ended.*\n.*no such port"),
    ):
        started.wait_until(lambda: False, seconds=20, what="ready")


def test_waiting_has_a_bound(tmp_path: Path) -> None:
    helper = program(tmp_path, "import time; time.sleep(60)")
    with (
        stack.running(helper) as started,
        pytest.raises(DemoError, match="helper was not ready within 0 s; it said nothing"),
    ):
        started.wait_until(lambda: False, seconds=0.3, what="ready")


def test_only_one_holds_a_name() -> None:
    name = f"test-{os.getpid()}"
    with stack.only_one(name), pytest.raises(DemoError, match=f"Another {name} is running"):
        stack.only_one(name)
    stack.only_one(name).close()
