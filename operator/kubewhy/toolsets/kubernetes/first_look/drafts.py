"""The Snapshot while it is being read: what the steps of one gathering share."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from kubewhy.toolsets.kubernetes.first_look import reads, snapshot


class Draft:
    """A Snapshot that grows, and the reads that feed it.

    `events_complete` says that all KubeEvents of the namespace are known.
    """

    def __init__(self, source: reads.Reads, namespace: str, now: datetime.datetime) -> None:
        self.reads = source
        self.shot = snapshot.Snapshot(now=now, namespace=namespace, subject={})
        self.events_complete = True

    def put(self, **changes: Any) -> None:
        """Replace fields of the Snapshot."""
        self.shot = dataclasses.replace(self.shot, **changes)
