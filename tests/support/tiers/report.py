"""Counts, the closing table and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one tier.

    Attributes:
        tier: its name.
        counts: its tests.
        seconds: how long it took.
        note: why it was left out, or what failed beside its tests.
        left_out: none of its tests ran.
    """

    tier: str
    counts: Counts = Counts()
    seconds: float = 0.0
    note: str = ""
    left_out: bool = False


def left_out(tier: str, why: str, *, fails: bool) -> Row:
    """Return the row of a tier that could not run; a failure counts as one failed test."""
    return Row(tier=tier, counts=Counts(failed=int(fails)), note=f"left out: {why}", left_out=True)


def total(rows: Iterable[Row]) -> Counts:
    """Return the sum of all rows."""
    return sum((row.counts for row in rows), Counts())


def table(rows: Sequence[Row]) -> str:
    """Return the closing table, one line for each row."""
    head = ("tier", "passed", "failed", "skipped", "seconds", "")
    lines = [head, *(_cells(row) for row in rows)]
    width = max(len(line[0]) for line in lines)
    return "\n".join(_line(line, width).rstrip() for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    counts = row.counts
    numbers = ("-", "-", "-", "-") if row.left_out else (
        str(counts.passed), str(counts.failed), str(counts.skipped), f"{row.seconds:.1f}"
    )  # fmt: skip
    return (row.tier, *numbers, row.note)


def _line(cells: tuple[str, ...], width: int) -> str:
    tier, passed, failed, skipped, seconds, note = cells
    return f"{tier:<{width}}  {passed:>6}  {failed:>6}  {skipped:>7}  {seconds:>7}  {note}"


def summary(row: Row) -> str:
    """Return one line about one row."""
    if row.left_out:
        return f"{row.tier}: {row.note}"
    note = f" ({row.note})" if row.note else ""
    return f"{row.tier}: {closing_line(row.counts)} in {row.seconds:.1f} s{note}"


def closing_line(counts: Counts) -> str:
    """Return the last line of a run."""
    return f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
