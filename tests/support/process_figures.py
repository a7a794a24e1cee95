"""CPU time and memory of a process and all its children, from procfs."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """`cpu_seconds`: user and system time, of ended children too. `peak_bytes`: the sum of the processes' VmHWM."""

    cpu_seconds: float
    peak_bytes: int
    processes: int


def of(process: int) -> Figures:
    """The figures of the process and its descendants now.

    Raises:
        ProcessLookupError: it has ended.
    """
    found = {process, *_descendants(process)}
    cpu = peak = 0.0
    for each in found:
        with (
            contextlib.suppress(ProcessLookupError) if each != process else contextlib.nullcontext()
        ):
            cpu += _cpu(each)
            peak += _peak(each)
    return Figures(cpu_seconds=cpu, peak_bytes=int(peak), processes=len(found))


def _descendants(process: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(ProcessLookupError):
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    found: set[int] = set()
    fresh = {process}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def _cpu(process: int) -> float:
    """Fields 14 to 17 of the stat file: utime, stime, and both of the children that were waited for."""
    return sum(int(field) for field in _stat(process)[11:15]) / _TICK


def _peak(process: int) -> int:
    for line in _text(process, "status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _stat(process: int) -> list[str]:
    """The fields from the third one on; the second, the name, may hold blanks and brackets."""
    return _text(process, "stat").rpartition(")")[2].split()


def _text(process: int, name: str) -> str:
    try:
        return Path(f"/proc/{process}/{name}").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise ProcessLookupError(f"process {process} has ended") from None
