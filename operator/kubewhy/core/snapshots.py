"""One Investigation as the API server holds it, read into what the engine needs to decide. Pure: JSON in, value out."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import pydantic

from kubewhy.api import conditions, investigation, names, values

MESSAGE_LENGTH = 512


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunKey:
    """Identity of one Investigation: the UID decides, namespace and name address it."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The object at one resourceVersion.

    `spec` is None where it can't be read, and `problem` then says why. `reason` is that of the condition Succeeded,
    "" before the first visit; `ended` says that it tells an end, `finished` that the rest of the status is there too.
    `batches` is how many journal batches the status knows of.
    """

    key: RunKey
    resource_version: str
    generation: int
    created: datetime.datetime
    spec: investigation.InvestigationSpec | None
    problem: str = ""
    deleting: bool = False
    ended: bool = False
    finished: bool = False
    reason: str = ""
    holder: str = ""
    epoch: int = 0
    batches: int = 0
    resolved: bool = False

    @property
    def resting(self) -> bool:
        """Whether there is nothing to do: finished, being deleted, or suspended and shown as such."""
        suspended = self.spec is not None and self.spec.suspend and not self.spec.cancel
        return self.finished or self.deleting or (suspended and self.reason == "Suspended")


def read(document: Mapping[str, Any]) -> Snapshot:
    """Read an object from a LIST, GET or watch.

    Raises:
        ValueError: it has no usable metadata; such an object is not an Investigation of ours.
    """
    meta = document.get("metadata") or {}
    status = document.get("status") or {}
    spec, problem = _spec(document.get("spec"))
    claim = status.get("claim") or {}
    succeeded = _succeeded(status)
    try:
        return Snapshot(
            key=RunKey(namespace=meta["namespace"], name=meta["name"], uid=meta["uid"]),
            resource_version=meta["resourceVersion"],
            generation=meta.get("generation") or 1,
            created=datetime.datetime.fromisoformat(meta["creationTimestamp"]),
            spec=spec,
            problem=problem,
            deleting=bool(meta.get("deletionTimestamp")),
            ended=succeeded.get("status") in {"True", "False"},
            finished=bool(status.get("finished")),
            reason=str(succeeded.get("reason") or ""),
            holder=str(claim.get("holder") or ""),
            epoch=int(claim.get("epoch") or 0),
            batches=int((status.get("records") or {}).get("count") or 0),
            resolved=names.ALERT_RESOLVED_AT in (meta.get("annotations") or {})
            or _all_resolved(spec),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no usable Investigation: {error!r}") from error


def _spec(value: object) -> tuple[investigation.InvestigationSpec | None, str]:
    try:
        return investigation.InvestigationSpec.model_validate(value), ""
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return None, f"spec.{where}: {first['msg']}"[:MESSAGE_LENGTH]


def _succeeded(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found = status.get("conditions")
    wanted = conditions.ConditionType.SUCCEEDED.value
    for each in found if isinstance(found, list) else []:
        if isinstance(each, Mapping) and each.get("type") == wanted:
            return each
    return {}


def _all_resolved(spec: investigation.InvestigationSpec | None) -> bool:
    if spec is None or not spec.alerts:
        return False
    return all(alert.status is values.AlertStatus.RESOLVED for alert in spec.alerts)
