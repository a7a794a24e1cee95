"""Reads a provider's key where the model list says it is, and takes it out of texts again."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from kubewhy import errors
from kubewhy.core import model_list

NO_KEY = "none"
"""Sent where a server needs no key: else LiteLLM would send whatever key its environment holds."""

MASK = "***"

_LONGEST = 16 * 1024
_REMEMBERED = 100
_REVEALING = 8
"""Characters of a key that must not be shown in a row."""


class KeyRing:
    """Reads keys, anew for each request so that a rotated one is found, and remembers them for redaction."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._seen: dict[str, None] = {}

    @property
    def seen(self) -> tuple[str, ...]:
        """All keys handed out so far, the newest last."""
        return tuple(self._seen)

    def read(self, entry: model_list.LiteLLMEntry) -> str | None:
        """The key of an entry; None leaves it to the provider's own chain (cloud identities).

        Raises:
            errors.ModelAuthFailed: it isn't where the entry says; the text names the place.
        """
        if entry.key is None:
            return NO_KEY if entry.base_url else None
        place, value = self._find(entry.name, entry.key)
        if not value:
            raise errors.ModelAuthFailed(f"model {entry.name!r}: {place} holds no key")
        if not (value.isascii() and value.isprintable()) or len(value) > _LONGEST:
            raise errors.ModelAuthFailed(
                f"model {entry.name!r}: {place} holds no usable key: "
                "it must be one line of printable ASCII"
            )
        self._remember(value)
        return value

    def _find(self, name: str, key: model_list.Key) -> tuple[str, str]:
        if key.env is not None:
            value = self._environment.get(key.env, "")
            return f"the environment variable {key.env}", value.strip()
        return f"the file {key.file}", _file(name, Path(key.file or "")).strip()

    def _remember(self, value: str) -> None:
        self._seen.pop(value, None)
        self._seen[value] = None
        while len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]


def scrub(text: str, key: str | None) -> str:
    """The text without the key, whole, encoded, or any telling part of it."""
    if not key or key == NO_KEY:
        return text
    for form in {
        key,
        json.dumps(key)[1:-1],
        urllib.parse.quote(key, safe=""),
        base64.b64encode(key.encode()).decode(),
    }:
        text = text.replace(form, MASK)
    for start in range(len(key) - _REVEALING + 1):
        text = text.replace(key[start : start + _REVEALING], MASK)
    return text


def _file(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST + 2).decode("utf-8", "replace")
    except OSError as error:
        raise errors.ModelAuthFailed(
            f"model {name!r}: the key file {path} can't be read: {error.strerror}"
        ) from None
