"""Named places at which a test can kill the process (faults.md §2.1). Without the variable nothing happens here.

`KUBEWHY_CRASHPOINT=<name>[:<n>]` ends the process, as by kill -9, when that place is passed for the n-th time.
"""

from __future__ import annotations

import collections
import os

VARIABLE = "KUBEWHY_CRASHPOINT"
"""The environment variable that names the place."""

_passed: collections.Counter[str] = collections.Counter()


def passing(name: str) -> None:
    """Mark the place `name` in the code as passed."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    place, _, count = wanted.partition(":")
    if place != name:
        return
    _passed[name] += 1
    if _passed[name] == int(count or "1"):
        os._exit(137)
