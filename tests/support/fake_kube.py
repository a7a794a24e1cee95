"""An in-memory `core.ports.KubeReader` for tests of tools, with the API server's own error types.

It keeps objects as JSON, pages and selects as the API server does, prints the Table form with name and age, and serves
logs as chunks. It knows no RBAC: `refuse` says what fails and how. What it can't do the same as the real one is tested
against the real API server instead.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from kubewhy import errors
from kubewhy.core import ports

Object = Mapping[str, Any]
Objects = list[dict[str, Any]]

BUILT_IN = (
    ("", "v1", "pods", "Pod", True, ("po",)),
    ("", "v1", "events", "Event", True, ("ev",)),
    ("", "v1", "services", "Service", True, ("svc",)),
    ("", "v1", "configmaps", "ConfigMap", True, ("cm",)),
    ("", "v1", "secrets", "Secret", True, ()),
    ("", "v1", "nodes", "Node", False, ("no",)),
    ("", "v1", "namespaces", "Namespace", False, ("ns",)),
    ("apps", "v1", "deployments", "Deployment", True, ("deploy",)),
    ("apps", "v1", "replicasets", "ReplicaSet", True, ("rs",)),
    ("batch", "v1", "jobs", "Job", True, ()),
    ("batch", "v1", "cronjobs", "CronJob", True, ("cj",)),
)


@dataclasses.dataclass(kw_only=True)
class FakeLog:
    """A log: its chunks, what fails after them, and whether it then stays silent for ever."""

    chunks: Iterable[bytes] = ()
    error: Exception | None = None
    hangs: bool = False


class FakeKubeReader:
    """See the module."""

    def __init__(self, *objects: Object, namespace: str = "shop") -> None:
        self.objects = [dict(item) for item in objects]
        self.kinds: dict[str, ports.Resource] = {}
        self.logs_of: dict[tuple[str, str, bool], FakeLog] = {}
        self.refusals: dict[tuple[str, str], errors.ApiError] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.closed_logs = 0
        self._namespace = namespace
        for group, version, plural, kind, namespaced, short in BUILT_IN:
            self.serve(
                ports.Resource(
                    group=group, version=version, name=plural, kind=kind, namespaced=namespaced
                ),
                *short,
            )

    @property
    def namespace(self) -> str:
        return self._namespace

    def serve(self, resource: ports.Resource, *short: str) -> None:
        """Make a kind known, as a CustomResourceDefinition does."""
        words = (resource.name, resource.kind, *short, f"{resource.name}.{resource.group}")
        for word in (*words, f"{resource.api_version}/{resource.kind}"):
            self.kinds.setdefault(word.lower(), resource)

    def refuse(self, verb: str, plural: str, error: errors.ApiError) -> None:
        """Let a verb ("get", "list", "log") on a kind fail."""
        self.refusals[verb, plural] = error

    def log(
        self, pod: str, container: str, *chunks: bytes, previous: bool = False, **more: Any
    ) -> None:
        """Give a container a log."""
        self.logs_of[pod, container, previous] = FakeLog(chunks=chunks, **more)

    async def resource(self, name: str) -> ports.Resource:
        found = self.kinds.get(name.lower())
        if not found:
            raise errors.ApiNotFound(f"the API server serves no kind {name!r}", status=404)
        return found

    async def get(self, resource: ports.Resource, name: str, *, namespace: str = "") -> Object:
        self._ask("get", resource, name=name, namespace=namespace)
        for item in self._of(resource, namespace):
            if item["metadata"]["name"] == name:
                return copy.deepcopy(item)
        raise errors.ApiNotFound(f'{resource.name} "{name}" not found', status=404)

    async def list(
        self,
        resource: ports.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
        continue_token: str = "",
    ) -> ports.ObjectPage:
        self._ask(
            "list",
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
        )
        found = self._selected(resource, namespace, label_selector, field_selector)
        start = int(continue_token or 0)
        left = len(found) - start - limit
        return ports.ObjectPage(
            items=copy.deepcopy(found[start : start + limit]),
            continue_token=str(start + limit) if left > 0 else "",
            remaining=max(left, 0) if not (label_selector or field_selector) else None,
        )

    async def table(
        self,
        resource: ports.Resource,
        *,
        name: str = "",
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> Object:
        if name:
            items: Iterable[Object] = [await self.get(resource, name, namespace=namespace)]
            meta: dict[str, Any] = {}
        else:
            page = await self.list(
                resource,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
            )
            items = page.items
            meta = {"continue": page.continue_token, "remainingItemCount": page.remaining}
        columns = [{"name": "Name", "priority": 0}, {"name": "Node", "priority": 1}]
        rows = [
            {
                "cells": [item["metadata"]["name"], item.get("spec", {}).get("nodeName")],
                "object": {"metadata": item["metadata"]},
            }
            for item in items
        ]
        return {"kind": "Table", "columnDefinitions": columns, "rows": rows, "metadata": meta}

    async def logs(
        self,
        pod: str,
        *,
        namespace: str = "",
        container: str = "",
        previous: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[bytes]:
        options = {
            "pod": pod,
            "namespace": namespace,
            "container": container,
            "previous": previous,
            "tail_lines": tail_lines,
            "since_seconds": since_seconds,
            "timestamps": timestamps,
        }
        self._ask("log", self.kinds["pod"], **options)
        log = self.logs_of.get((pod, container, previous), FakeLog())
        try:
            for chunk in log.chunks:
                yield chunk
            if log.error:
                raise log.error
            if log.hangs:
                await asyncio.Event().wait()
        finally:
            self.closed_logs += 1

    def requests(self, verb: str) -> Objects:
        """What was asked with a verb, in order."""
        return [options for asked, options in self.asked if asked == verb]

    def _ask(self, verb: str, resource: ports.Resource, **options: Any) -> None:
        self.asked.append((verb, {"resource": resource.name, **options}))
        if (verb, resource.name) in self.refusals:
            raise self.refusals[verb, resource.name]

    def _of(self, resource: ports.Resource, namespace: str) -> Objects:
        where = namespace or self._namespace
        return [
            item
            for item in self.objects
            if item["kind"] == resource.kind
            and (
                not resource.namespaced
                or where == "*"
                or item["metadata"].get("namespace", self._namespace) == where
            )
        ]

    def _selected(
        self, resource: ports.Resource, namespace: str, labels: str, fields: str
    ) -> Objects:
        return [
            item
            for item in self._of(resource, namespace)
            if _labelled(item, labels)
            and all(_field(item, term) for term in filter(None, fields.split(",")))
        ]


def _labelled(item: Object, selector: str) -> bool:
    found = item["metadata"].get("labels", {})
    for term in filter(None, re.split(r",(?![^(]*\))", selector)):
        key, _, wanted = term.partition("=")
        if " in (" in term:
            key, values = term.rstrip(")").split(" in (")
            if found.get(key) not in values.split(","):
                return False
        elif found.get(key) != wanted:
            return False
    return True


def _field(item: Object, term: str) -> bool:
    path, _, wanted = term.partition("=")
    value: Any = item
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return bool(value == wanted)
