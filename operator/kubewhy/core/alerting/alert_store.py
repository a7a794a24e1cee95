"""Where alerts become Investigations: the port of the webhook, implemented in `adapters.kube.investigations`.

Errors are those of `kubewhy.errors` and fall into two groups. The first is one alert's own failure, which a
repetition would not cure: `ApiForbidden`, `ApiNotFound` (the namespace is missing), `ApiInvalid`, `ApiTooLarge`.
Every other `ApiError` means that the API server can't take alerts now: the sender must try again.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from kubewhy import errors

OWN_FAILURES: Final = (
    errors.ApiForbidden,
    errors.ApiNotFound,
    errors.ApiInvalid,
    errors.ApiTooLarge,
)
"""Errors that concern the one object that was written."""

NAMESPACE_REFUSED: Final = (errors.ApiForbidden, errors.ApiNotFound)
"""Errors after which the fallback namespace is tried."""


class Stored(enum.StrEnum):
    """What a create came to; either way the Investigation exists."""

    CREATED = "Created"
    DUPLICATE = "Duplicate"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An Investigation whose alert has not resolved yet, as far as noted; `starts_at` is when it began to fire."""

    name: str
    starts_at: datetime.datetime


class InvestigationStore(Protocol):
    """Creates Investigations and notes on them what became of their alerts. Bounded in time by itself."""

    async def create(self, manifest: Mapping[str, Any]) -> Stored:
        """Create the Investigation; one of that name that exists already is a success."""

    async def note_seen(self, namespace: str, name: str, *, at: datetime.datetime) -> None:
        """Raise the count of deliveries and the time of the last one, at most once a minute.

        A concurrent change wins and is no error: somebody else has noted the same.
        """

    async def note_resolved(self, namespace: str, name: str, *, at: str) -> bool:
        """Note when the alert resolved (RFC 3339). False: there is no such Investigation."""

    async def unresolved(self, namespace: str, series: str) -> Sequence[Episode]:
        """The Investigations of a series (`alert_names.series`) on which no resolution is noted, a bounded number."""

    async def check(self, namespace: str) -> None:
        """Prove that Investigations can be created there now, without creating one.

        Raises:
            errors.ApiError: why they can't.
        """
