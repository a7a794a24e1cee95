"""Deterministic names of the records that hold one run's journal (faults.md §1)."""

from __future__ import annotations


def batch_name(investigation: str, uid: str, number: int) -> str:
    """The record of batch `number`: creating it is the journal's compare-and-swap."""
    return f"{investigation}-{uid[:8]}-{number}"


def output_name(investigation: str, uid: str, digest: str) -> str:
    """The record of a large output, named by the sha256 of its text."""
    return f"{investigation}-{uid[:8]}-o-{digest[:32]}"
