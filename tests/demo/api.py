"""A small client of the API server: reads, with whichever token it is given."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

Object = Mapping[str, Any]

SECONDS = 10.0
PAGE = 500
PAGES = 20
"""At most PAGE x PAGES objects of a kind are read."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where the API server is, who vouches for it, and who asks."""

    server: str
    authority: str
    token: str


def access(kubeconfig: Path) -> Access:
    """What the current context of a kubeconfig with a token and an inline authority says."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    return Access(
        server=cluster["server"],
        authority=base64.b64decode(cluster["certificate-authority-data"]).decode(),
        token=user["token"],
    )


def connect(to: Access) -> httpx.Client:
    """A client whose requests carry the token; close it in the end."""
    return httpx.Client(
        base_url=to.server,
        headers={"Authorization": f"Bearer {to.token}", "Accept": "application/json"},
        verify=ssl.create_default_context(cadata=to.authority),
        timeout=SECONDS,
        trust_env=False,
    )


def read(client: httpx.Client, path: str) -> dict[str, Any]:
    """One object.

    Raises:
        httpx.HTTPError: there was no answer, or a refusal.
    """
    found: dict[str, Any] = client.get(path).raise_for_status().json()
    return found


def items(client: httpx.Client, path: str) -> Iterator[Object]:
    """The objects of a collection, page by page.

    Raises:
        httpx.HTTPError: there was no answer, or a refusal.
    """
    query = {"limit": str(PAGE)}
    for _ in range(PAGES):
        page = client.get(path, params=query).raise_for_status().json()
        yield from page["items"]
        query["continue"] = page["metadata"].get("continue", "")
        if not query["continue"]:
            return


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)
