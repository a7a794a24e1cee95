"""Which kinds the API server serves, custom resources included, and the words people use for them.

One aggregated request each for the core group and all others (GA since Kubernetes 1.30); what they say is kept for ten
minutes, and a word that is not found makes it be read again at most once a minute.
"""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from kubewhy import errors
from kubewhy.core import ports

_ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)
_KEEP_SECONDS = 600.0
_REFRESH_SECONDS = 60.0
_WORD_LENGTH = 253


class Requester(Protocol):
    """The part of the client that discovery needs."""

    async def request(self, method: str, path: str, *, accept: str, impersonate: str) -> Any:
        """One request, its reply as parsed JSON."""


@dataclasses.dataclass(frozen=True, slots=True)
class Catalog:
    """Kinds by the lower-case words that name them, the preferred kind of each word, and groups that don't answer."""

    kinds: Mapping[str, ports.Resource]
    stale: Sequence[str] = ()

    def near(self, word: str) -> Sequence[str]:
        """Up to three known words that look like `word`."""
        return difflib.get_close_matches(word, self.kinds, n=3)


class Discovery:
    """The catalog of one API server, shared by all readers."""

    def __init__(
        self, client: Requester, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._monotonic = monotonic
        self._catalog: Catalog | None = None
        self._read_at = 0.0
        self._lock = asyncio.Lock()

    async def find(self, word: str, *, impersonate: str = "") -> ports.Resource:
        """The kind named by kind, plural, singular, short name, `plural.group` or `group/version/Kind`.

        Raises:
            errors.ApiNotFound: no such kind is served; the text names near ones.
            errors.ApiUnavailable: its group is registered but does not answer.
        """
        wanted = word.strip().lower()[:_WORD_LENGTH]
        found = (await self._current(_KEEP_SECONDS, impersonate)).kinds.get(wanted)
        if found is None:
            catalog = await self._current(_REFRESH_SECONDS, impersonate)
            found = catalog.kinds.get(wanted)
            if found is None:
                raise _unknown(wanted, catalog)
        return found

    async def _current(self, keep_seconds: float, impersonate: str) -> Catalog:
        async with self._lock:
            age = self._monotonic() - self._read_at
            if self._catalog is None or age > keep_seconds:
                self._catalog = await self._read(impersonate)
                self._read_at = self._monotonic()
            return self._catalog

    async def _read(self, impersonate: str) -> Catalog:
        core, others = await asyncio.gather(
            self._client.request("GET", "/api", accept=_ACCEPT, impersonate=impersonate),
            self._client.request("GET", "/apis", accept=_ACCEPT, impersonate=impersonate),
        )
        return catalog([*_items(core), *_items(others)])


def catalog(groups: Iterable[Mapping[str, Any]]) -> Catalog:
    """Build the catalog from the items of APIGroupDiscoveryList, in the server's order of preference."""
    kinds: dict[str, ports.Resource] = {}
    stale: list[str] = []
    for group in groups:
        group_name = str(group.get("metadata", {}).get("name") or "")
        for version in _maps(group.get("versions")):
            if version.get("freshness") == "Stale":
                stale.append(group_name)
            for entry in _maps(version.get("resources")):
                resource = _resource(group_name, str(version.get("version", "")), entry)
                for word in _words(resource, entry):
                    kinds.setdefault(word, resource)
    return Catalog(kinds=kinds, stale=tuple(dict.fromkeys(stale)))


def _resource(group: str, version: str, entry: Mapping[str, Any]) -> ports.Resource:
    kind = entry.get("responseKind") or {}
    return ports.Resource(
        group=group,
        version=version,
        name=str(entry.get("resource", "")),
        kind=str(kind.get("kind") or entry.get("resource", "")),
        namespaced=entry.get("scope") == "Namespaced",
    )


def _words(resource: ports.Resource, entry: Mapping[str, Any]) -> Iterator[str]:
    short = [str(word) for word in entry.get("shortNames") or ()]
    singular = str(entry.get("singularResource") or "")
    plain = [resource.name, resource.kind, singular, *short]
    for word in filter(None, plain):
        yield word.lower()
        if resource.group:
            yield f"{word}.{resource.group}".lower()
            yield f"{word}.{resource.version}.{resource.group}".lower()
    yield f"{resource.api_version}/{resource.kind}".lower()


def _items(reply: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(reply, dict) or reply.get("kind") != "APIGroupDiscoveryList":
        raise errors.ApiUnavailable(
            "the API server serves no aggregated discovery: Kubernetes 1.32 or newer is needed"
        )
    return _maps(reply.get("items"))


def _maps(value: Any) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _unknown(word: str, known: Catalog) -> errors.ApiError:
    for group in known.stale:
        if word.endswith(f".{group}"):
            return errors.ApiUnavailable(
                f"API group {group} is registered, but its server does not answer: see its APIService"
            )
    near = known.near(word)
    hint = f"; near: {', '.join(near)}" if near else ""
    return errors.ApiNotFound(
        f"the API server serves no kind {word!a}{hint}", status=404, reason="NotFound"
    )
