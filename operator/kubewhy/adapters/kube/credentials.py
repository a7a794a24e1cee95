"""Turns an `Access` into the kubernetes package's Configuration, and keeps its token fresh.

Service account tokens are replaced in their file every hour or so, so the file is looked at before each request and
read again when it changed. A kubeconfig is loaded again once a minute. `reload` does either at once, after a 401.
"""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

import yaml
from kubernetes.aio import config as kubernetes_config
from kubernetes.aio.client import configuration as kubernetes_configuration
from kubernetes.aio.config import incluster_config

from kubewhy import errors
from kubewhy.adapters.kube import config

RELOAD_SECONDS = 60.0
"""How long what a kubeconfig said is used before it is read again."""

_TOKEN_BYTES = 64 * 1024
_LOAD_ERRORS = (
    kubernetes_config.ConfigException,
    OSError,
    yaml.YAMLError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
)


class Credentials:
    """A Configuration of the kubernetes package and the way to refresh it."""

    def __init__(self, configuration: Any, refresh: Callable[[bool], Awaitable[None]]) -> None:
        self.configuration = configuration
        self._refresh = refresh
        configuration.refresh_api_key_hook = self._hook

    async def reload(self) -> None:
        """Read token or kubeconfig again now; a file that can't be read leaves the old credentials in use."""
        await self._refresh(True)

    async def _hook(self, _configuration: Any) -> None:
        await self._refresh(False)


async def load(access: config.Access) -> Credentials:
    """Read the credentials that `access` names.

    Raises:
        errors.ConfigError: they are missing or unreadable; the text names the file.
    """
    match access:
        case config.Kubeconfig():
            return await _from_kubeconfig(access)
        case config.InCluster():
            return _in_cluster()
        case config.Explicit():
            return _explicit(access)


class TokenFile:
    """A bearer token in a file, read again when the file was replaced or written."""

    def __init__(self, path: str) -> None:
        self._path = pathlib.Path(path)
        self._seen: tuple[int, int, int] | None = None

    def read(self, *, always: bool = False) -> str:
        """The token if it is new (or `always`), "" if it is unchanged or can't be read now."""
        try:
            found = self._path.stat()
            seen = (found.st_mtime_ns, found.st_ino, found.st_size)
            if seen == self._seen and not always:
                return ""
            with self._path.open(encoding="ascii") as file:
                token = file.read(_TOKEN_BYTES).strip()
        except (OSError, ValueError):
            return ""
        self._seen = seen
        return token


def _with_token_file(configuration: Any, path: str) -> Credentials:
    token_file = TokenFile(path)
    first = token_file.read()
    if not first:
        raise errors.ConfigError(f"token file {path} is missing, empty or unreadable")
    configuration.api_key["BearerToken"] = f"Bearer {first}"

    async def refresh(force: bool) -> None:
        token = token_file.read(always=force)
        if token:
            configuration.api_key["BearerToken"] = f"Bearer {token}"

    return Credentials(configuration, refresh)


def _in_cluster() -> Credentials:
    configuration = _blank()
    try:
        load: Any = kubernetes_config.load_incluster_config
        load(configuration, try_refresh_token=False)
    except _LOAD_ERRORS as error:
        raise errors.ConfigError(
            f"the pod's service account can't be used: {_cause(error)}"
        ) from error
    return _with_token_file(configuration, incluster_config.SERVICE_TOKEN_FILENAME)


def _explicit(access: config.Explicit) -> Credentials:
    configuration = _blank()
    configuration.host = access.server.rstrip("/")
    if access.ca_file:
        if not pathlib.Path(access.ca_file).is_file():
            raise errors.ConfigError(f"CA file {access.ca_file} does not exist")
        configuration.ssl_ca_cert = access.ca_file
    if access.token_file:
        return _with_token_file(configuration, access.token_file)

    async def refresh(_force: bool) -> None:
        """There is nothing to refresh: requests go out without credentials."""

    return Credentials(configuration, refresh)


async def _from_kubeconfig(access: config.Kubeconfig) -> Credentials:
    configuration = _blank()
    await _load_kubeconfig(access, configuration)
    loaded_at = time.monotonic()

    async def refresh(force: bool) -> None:
        nonlocal loaded_at
        if not force and time.monotonic() - loaded_at < RELOAD_SECONDS:
            return
        loaded_at = time.monotonic()
        try:
            await _load_kubeconfig(access, configuration)
        except errors.ConfigError:
            return  # being rewritten at this moment; the API server judges the old token

    return Credentials(configuration, refresh)


async def _load_kubeconfig(access: config.Kubeconfig, configuration: Any) -> None:
    if not _any_file(access.path):
        raise errors.ConfigError(f"kubeconfig {access.path} does not exist")
    try:
        load: Any = kubernetes_config.load_kube_config
        await load(
            config_file=access.path,
            context=access.context or None,
            client_configuration=configuration,
            persist_config=False,
        )
    except _LOAD_ERRORS as error:
        raise errors.ConfigError(
            f"kubeconfig {access.path} can't be used: {_cause(error)}"
        ) from None
    token = configuration.api_key.get("BearerToken")
    if token:
        configuration.api_key["BearerToken"] = " ".join(token.split())


def _any_file(paths: str) -> bool:
    return any(
        pathlib.Path(path).expanduser().is_file() for path in paths.split(os.pathsep) if path
    )


def _blank() -> Any:
    configuration = kubernetes_configuration.Configuration()
    # HTTPS_PROXY with a NO_PROXY of address ranges, usual in pods, is misread by aiohttp, which knows no ranges:
    # a proxy is used only where a kubeconfig names it.
    configuration.client_session_kwargs = {"trust_env": False, "read_bufsize": 256 * 1024}
    return configuration


def _cause(error: Exception) -> str:
    """What is wrong, without the entry itself: the package's messages repeat whole entries, tokens included."""
    if isinstance(error, yaml.YAMLError):
        return "it is no YAML"
    if isinstance(error, kubernetes_config.ConfigException):
        return str(error).partition(" in ")[0][:256]
    if isinstance(error, OSError):
        return f"{error.strerror or type(error).__name__}: {error.filename or 'unknown file'}"
    return "an entry is missing or has the wrong form"
