"""Records that the API server refuses: what may be repeated and what never can succeed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kubewhy import errors
from kubewhy.adapters.kube import client, journal
from kubewhy.core import ports

KEY = ports.RunKey(namespace="shop", name="checkout", uid="0123456789abcdef")
BATCH = ports.Batch(number=0, first_event=0, event_count=1, epoch=1, data=b"{}")


class Refusing:
    """An API server that answers every request with the same error."""

    def __init__(self, error: errors.ApiError) -> None:
        self._error = error

    async def request(self, *_: Any, **__: Any) -> Any:
        raise self._error


def _journal(error: errors.ApiError) -> journal.KubeJournal:
    return journal.KubeJournal(cast("client.KubeClient", Refusing(error)))


@pytest.mark.parametrize(
    "error",
    [
        errors.ApiInvalid("spec.data: too long", status=422),
        errors.ApiTooLarge("etcdserver: request is too large", status=500),
    ],
)
async def test_a_record_that_can_never_be_stored_ends_the_run(error: errors.ApiError) -> None:
    """Waiting for it to fit would hang the run for ever."""
    with pytest.raises(errors.JournalLost, match="too"):
        await _journal(error).append(KEY, BATCH)


@pytest.mark.parametrize(
    "error",
    [
        errors.ApiUnavailable("busy", status=503),
        errors.ApiForbidden("no", status=403),
        errors.ApiUnauthorized("no", status=401),
    ],
)
async def test_a_record_that_can_be_stored_later_is_waited_for(error: errors.ApiError) -> None:
    with pytest.raises(errors.JournalUnavailable):
        await _journal(error).append(KEY, BATCH)


async def test_a_deleted_output_is_lost() -> None:
    with pytest.raises(errors.JournalLost, match="deleted"):
        await _journal(errors.ApiNotFound("no", status=404)).fetch(KEY, "a" * 64)
