"""One firing (or resolved) signal, as a value independent of the payload it came in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A signal of an alert source. All text is hostile: data, never instructions.

    Times are RFC 3339 UTC text; `ends_at` is "" while the alert fires. `fingerprint` identifies the series.
    `truncated` says that labels or annotations were cut to their bounds.
    """

    status: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: str
    ends_at: str = ""
    generator_url: str = ""
    fingerprint: str = ""
    truncated: bool = False

    @property
    def name(self) -> str:
        """The label `alertname`, "" where there is none."""
        return self.labels.get("alertname", "")

    @property
    def firing(self) -> bool:
        """Whether the source still reports the alert."""
        return self.status != "resolved"
