"""Who may work on an Investigation. The claim in status decides who may; the journal decides who did."""

from __future__ import annotations

from collections.abc import Collection

from kubewhy.core import snapshots


def may_claim(snapshot: snapshots.Snapshot, *, me: str, live: Collection[str]) -> bool:
    """Whether holder `me` may take it: nobody holds it, `me` held it before a restart, or its holder is gone."""
    return snapshot.holder in {"", me} or snapshot.holder not in live
