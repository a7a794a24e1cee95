"""What the store makes of odd annotations that somebody else has written; the rest runs on a real API server."""

import datetime
from typing import Any

import pytest

from kubewhy.adapters.kube import investigations

AT = datetime.datetime(2026, 8, 1, 9, 31, tzinfo=datetime.UTC)


class Api:
    """Answers GET with one object and keeps the patches."""

    def __init__(self, annotations: Any) -> None:
        self.metadata = {"annotations": annotations, "resourceVersion": "7"}
        self.patches: list[Any] = []

    async def request(self, method: str, _path: str, **options: Any) -> Any:
        if method == "GET":
            return {"metadata": self.metadata}
        self.patches.append(options["body"]["metadata"])
        return {}


@pytest.mark.parametrize(
    ("annotations", "count"),
    [
        (None, "1"),
        ({}, "1"),
        ({"alert.kubewhy.internal/count": "x"}, "1"),
        ({"alert.kubewhy.internal/count": "-4"}, "1"),
        ({"alert.kubewhy.internal/count": "9" * 5000}, "1"),
        ({"alert.kubewhy.internal/count": "٣"}, "1"),
        ({"alert.kubewhy.internal/count": "41"}, "42"),
        ({"alert.kubewhy.internal/last-seen": "long ago"}, "1"),
        ({"alert.kubewhy.internal/last-seen": "0001-01-01T00:00:00Z"}, "1"),
    ],
)
async def test_odd_notes_are_written_anew(annotations: Any, count: str) -> None:
    api = Api(annotations)
    store = investigations.KubeInvestigationStore(api)  # type: ignore[arg-type]
    await store.note_seen("shop", "alert-1", at=AT)
    (patch,) = api.patches
    assert patch["annotations"]["alert.kubewhy.internal/count"] == count
    assert patch["annotations"]["alert.kubewhy.internal/last-seen"] == "2026-08-01T09:31:00Z"
    assert patch["resourceVersion"] == "7"


async def test_a_note_from_the_future_is_left_alone() -> None:
    api = Api({"alert.kubewhy.internal/last-seen": "2026-08-01T09:45:00Z"})
    store = investigations.KubeInvestigationStore(api)  # type: ignore[arg-type]
    await store.note_seen("shop", "alert-1", at=AT)
    assert api.patches == []
