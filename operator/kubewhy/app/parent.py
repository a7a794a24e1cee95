"""Ends a process of `kubewhy run` when the command itself is gone: killed with -9 it can't end its two processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping

VARIABLE = "KUBEWHY_PARENT_PID"
"""Set by `kubewhy run` for its processes; nobody else sets it."""

PERIOD_SECONDS = 1.0


def end_with_parent(environment: Mapping[str, str]) -> None:
    """Watch the parent that the environment names, if it names one, and end as by SIGTERM once it is gone."""
    parent = environment.get(VARIABLE, "")
    if parent.isdecimal():
        threading.Thread(target=_watch, args=(int(parent),), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PERIOD_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
