"""Makes objects fit to be shown: bookkeeping and defaults left out, depth bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewhy.toolsets.kubernetes import shapes

DEPTH: Final = 40
"""Levels of nesting that are shown."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_BOOKKEEPING: Final = frozenset({"managedFields", "selfLink"})
_IDENTITY: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "generateName",
        "ownerReferences",
        "name",
        "namespace",
    }
)
_DEFAULTS: Final[Mapping[str, Any]] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "securityContext": {},
    "resources": {},
    "restartPolicy": "Always",
    "procMount": "Default",
    "deprecatedServiceAccount": None,
}
_TOLERATED: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - a volume's name


def whole(value: shapes.Object) -> dict[str, Any]:
    """The object without managedFields and last-applied copy; nothing else is left out."""
    shown: dict[str, Any] = _bounded(value, DEPTH)
    meta = shown.get("metadata")
    if isinstance(meta, dict):
        shown["metadata"] = _metadata(meta, _BOOKKEEPING)
    return shown


def decisive(value: shapes.Object) -> dict[str, Any]:
    """As `whole`, also without identity, defaults that the API server filled in, and conditions (shown apart)."""
    shown = whole(value)
    meta = _metadata(shown.pop("metadata", {}), _BOOKKEEPING | _IDENTITY)
    rest = {key: item for key, item in shown.items() if key not in {"apiVersion", "kind", "status"}}
    status = shapes.mapping(shown, "status")
    hidden = {
        "conditions",
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
        "hostIPs",
        "podIPs",
    }
    kept = {key: item for key, item in status.items() if key not in hidden}
    body = {"metadata": meta, **rest, "status": kept}
    return {key: _without_defaults(item) for key, item in body.items() if item}


def _metadata(meta: Any, hidden: frozenset[str]) -> dict[str, Any]:
    kept = {key: item for key, item in meta.items() if key not in hidden}
    annotations = shapes.mapping(kept, "annotations")
    if annotations:
        kept["annotations"] = {
            key: item for key, item in annotations.items() if key != _LAST_APPLIED
        }
    return {key: item for key, item in kept.items() if item not in ({}, None)}


def _bounded(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping | list | tuple) and depth == 0:
        return "… nested deeper than is shown"
    if isinstance(value, Mapping):
        return {str(key): _bounded(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth - 1) for item in value]
    return value


def _without_defaults(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_defaults(item)
            for key, item in value.items()
            if not (key in _DEFAULTS and item == _DEFAULTS[key])
            and key != "deprecatedServiceAccount"
        }
    if isinstance(value, list):
        return [_without_defaults(item) for item in value if not _filled_in(item)]
    return value


def _filled_in(item: Any) -> bool:
    """Whether the API server put this into every Pod: the token volume, its mount, two tolerations."""
    if not isinstance(item, Mapping):
        return False
    name = item.get("name")
    if isinstance(name, str) and name.startswith(_TOKEN_VOLUME):
        return True
    return shapes.text(item, "key") in _TOLERATED and item.get("tolerationSeconds") == 300  # noqa: PLR2004 - the default
