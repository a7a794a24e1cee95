"""The object under investigation."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One Kubernetes object; `namespace` is "" for a cluster-scoped one, `api_version` "" where unknown."""

    kind: str
    name: str
    api_version: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"
