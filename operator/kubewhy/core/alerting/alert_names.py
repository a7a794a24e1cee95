"""The keys of an alert: which series, which episode of it, which group it came in.

The episode's key names the Investigation. Equal alerts therefore get equal names on every replica and at every
repetition, and "already exists" means that the alert is stored.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping

from kubewhy.core import timestamps

PREFIX = "alert-"
GROUP_PREFIX = "alert-group-"

_HEX_DIGITS = 16
_FNV_OFFSET = 14695981039346656037
_FNV_PRIME = 1099511628211
_FNV_MASK = (1 << 64) - 1
_SEPARATOR = b"\xff"


def fingerprint(labels: Mapping[str, str]) -> str:
    """Alertmanager's own fingerprint of a label set: FNV-1a, 64 bits, over the sorted labels, as 16 hex digits.

    The same function as prometheus/common's `LabelSet.Fingerprint`, so that an alert whose fingerprint was lost
    on the way still belongs to its series.
    """
    value = _FNV_OFFSET
    for byte in b"".join(_separated(labels)):
        value = ((value ^ byte) * _FNV_PRIME) & _FNV_MASK
    return f"{value:016x}"


def _separated(labels: Mapping[str, str]) -> Iterable[bytes]:
    for name in sorted(labels):
        yield name.encode() + _SEPARATOR + labels[name].encode() + _SEPARATOR


def series(cluster: str, fingerprint_: str) -> str:
    """The key of everything that one label set ever did in one cluster."""
    return digest("series", cluster, fingerprint_)


def episode(cluster: str, fingerprint_: str, starts_at: datetime.datetime) -> str:
    """The key of one firing of a series: its start, in whole seconds UTC, tells it from the next one."""
    return digest("episode", cluster, fingerprint_, timestamps.seconds(starts_at))


def group(group_key: str, receiver: str) -> str:
    """The key of an Alertmanager group. It changes when routes are edited, so it relates and never identifies."""
    return digest("group", group_key, receiver)


def investigation(cluster: str, fingerprint_: str, starts_at: datetime.datetime) -> str:
    """The name of the Investigation of one episode."""
    return PREFIX + episode(cluster, fingerprint_, starts_at)


def group_investigation(cluster: str, group_: str, starts_at: datetime.datetime) -> str:
    """The name of the Investigation that stands for what is too much in one message of a group."""
    return GROUP_PREFIX + digest("overflow", cluster, group_, timestamps.seconds(starts_at))


def digest(*parts: str) -> str:
    """16 hex digits of SHA-256 over the parts, each with its length before it: no two lists of parts are alike."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode()
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()[:_HEX_DIGITS]
