"""The bearer tokens that senders may show: compared in constant time, replaced without a restart, never logged."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kubewhy import errors

_LOG = logging.getLogger(__name__)
_MAX_BYTES = 4096
_LOOK_EVERY = 1.0
_SCHEME = "bearer"
_FIRST, _LAST = "!", "~"


class Tokens:
    """The valid tokens: fixed ones, and one from each file, read again when the file changes."""

    def __init__(
        self,
        values: Sequence[str],
        files: Sequence[str] = (),
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read all files once.

        Raises:
            errors.ConfigError: a file can't be read, or what it or the settings hold is no token.
        """
        self._fixed = tuple(_digest(_checked(value, "the setting")) for value in values)
        self._files = {path: _File(path) for path in files}
        self._monotonic = monotonic
        self._looked = monotonic()

    def __bool__(self) -> bool:
        return bool(self._fixed or self._files)

    def accept(self, authorization: str) -> bool:
        """Whether this value of the header `Authorization` carries a valid token."""
        scheme, _, presented = authorization.partition(" ")
        shown = _digest(presented.strip())
        self._look()
        matches = [hmac.compare_digest(shown, valid) for valid in self._valid()]
        return scheme.lower() == _SCHEME and any(matches)

    def _valid(self) -> Sequence[bytes]:
        return (*self._fixed, *(file.digest for file in self._files.values()))

    def _look(self) -> None:
        if self._monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = self._monotonic()
        for file in self._files.values():
            file.refresh()


class _File:
    """One token file. A mounted Secret is replaced by renaming, so identity and time both count."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._seen = _stamp(path)
            self.digest = _digest(_read(path))
        except OSError as error:
            raise errors.ConfigError(f"token file {path}: {error.strerror}") from error

    def refresh(self) -> None:
        """Read the file again if it changed; the old token stays valid while it can't be read."""
        try:
            stamp = _stamp(self._path)
            if stamp == self._seen:
                return
            self.digest = _digest(_read(self._path))
            self._seen = stamp
        except OSError as error:
            _LOG.warning(
                "token file %s: %s; the last token stays valid", self._path, error.strerror
            )
        except errors.ConfigError as error:
            _LOG.warning("%s; the last token stays valid", error)


def _stamp(path: str) -> tuple[int, int, int]:
    found = os.stat(path)  # noqa: PTH116 - one call for all three
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: str) -> str:
    with Path(path).open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    return _checked(data.decode("utf-8", "replace"), f"token file {path}")


def _checked(value: str, where: str) -> str:
    token = value.strip()
    if not token or len(token) > _MAX_BYTES or not all(_FIRST <= sign <= _LAST for sign in token):
        raise errors.ConfigError(
            f"{where} holds no usable bearer token: it must be 1 to {_MAX_BYTES} printable ASCII "
            "characters without blanks"
        )
    return token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
