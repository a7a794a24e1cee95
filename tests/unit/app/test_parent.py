"""A process of `kubewhy run` ends with it, also when it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

CHILD = """
import os, sys, time
from kubewhy.app import parent
parent.PERIOD_SECONDS = 0.05
parent.end_with_parent(os.environ)
print(os.getpid(), flush=True)
time.sleep(60)
"""
PARENT = """
import os, subprocess, sys
environment = dict(os.environ) | {"KUBEWHY_PARENT_PID": str(os.getpid())}
subprocess.run([sys.executable, "-c", sys.argv[1]], env=environment)
"""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123 - procfs
        return file.read().rpartition(")")[2].split()[0] != "Z"


def test_a_process_ends_when_its_killed_parent_is_gone() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _alive(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=10)
        deadline = time.monotonic() + 10
        while _alive(child):
            assert time.monotonic() < deadline, "the child lives on"
            time.sleep(0.05)
