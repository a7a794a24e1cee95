"""`kubewhy run`: operator and webhook in the foreground, with the tokens of their own service accounts.

The person's own rights (KUBECONFIG) are used for two things only: applying the foundation of deploy/ and asking for
the tokens. The two processes see nothing of them, so every run exercises the roles that an installation has.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping

import aiohttp

from kubewhy import errors, paths
from kubewhy.adapters.kube import client, config
from kubewhy.api import names
from kubewhy.app import parent, settings

TOKEN_SECONDS = 3600
"""Lifetime that is asked for; the token is renewed after two thirds of it."""

READY_SECONDS = 60.0
"""Most seconds until both processes must be ready."""

STOP_SECONDS = 15.0

Process = asyncio.subprocess.Process


async def main(environment: Mapping[str, str], *, webhook_address: str, apply: bool) -> int:
    """Run until SIGINT or SIGTERM, or until one of the two processes ends; the exit code.

    Raises:
        errors.ConfigError: KUBECONFIG is not set, kubectl is missing, or the cluster can't be used.
    """
    if not environment.get("KUBECONFIG"):
        raise errors.ConfigError(
            "KUBECONFIG is not set: name the cluster to use, for example by `make cluster-up`"
        )
    _check_kubeconfig(environment["KUBECONFIG"])
    if apply:
        await _apply(environment)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    api = await client.connect(config.Kubeconfig(path=environment["KUBECONFIG"]))
    try:
        with tempfile.TemporaryDirectory(prefix="kubewhy-") as folder:
            return await _run(environment, api, pathlib.Path(folder), webhook_address, stop)
    finally:
        await api.close()


def _check_kubeconfig(path: str) -> None:
    """Refuse here what kubectl would take for a cluster at localhost:8080."""
    if not pathlib.Path(path).expanduser().is_file():
        raise errors.ConfigError(
            f"KUBECONFIG names {path[:512]!r}, which is no file: name one kubeconfig that exists,"
            ' or start a cluster with: eval "$(make cluster-up)"'
        )


async def _run(
    environment: Mapping[str, str],
    api: client.KubeClient,
    folder: pathlib.Path,
    webhook_address: str,
    stop: asyncio.Event,
) -> int:
    tokens = _Tokens(api, folder)
    await tokens.renew()
    listen = _free(webhook_address)
    secret = environment.get("KUBEWHY_WEBHOOK_TOKEN") or secrets.token_urlsafe(24)
    health = {name: _free("127.0.0.1:0") for name in ("operator", "webhook")}
    shared = _child_environment(environment, api, folder)
    async with contextlib.AsyncExitStack() as stack:
        renewing = asyncio.ensure_future(tokens.keep_renewed())
        stack.callback(renewing.cancel)
        operator = await stack.enter_async_context(
            _process(
                "operator",
                shared
                | {
                    "KUBEWHY_API_TOKEN_FILE": str(folder / names.OPERATOR_ACCOUNT),
                    "KUBEWHY_HEALTH_ADDRESS": health["operator"],
                    "KUBEWHY_METRICS_ADDRESS": environment.get(
                        "KUBEWHY_METRICS_ADDRESS", _free("127.0.0.1:0")
                    ),
                },
            )
        )
        webhook = await stack.enter_async_context(
            _process(
                "webhook",
                shared
                | {
                    "KUBEWHY_API_TOKEN_FILE": str(folder / names.WEBHOOK_ACCOUNT),
                    "KUBEWHY_WEBHOOK_ADDRESS": listen,
                    "KUBEWHY_WEBHOOK_HEALTH_ADDRESS": health["webhook"],
                    "KUBEWHY_WEBHOOK_METRICS_ADDRESS": _free("127.0.0.1:0"),
                    "KUBEWHY_WEBHOOK_TOKEN": secret,
                },
            )
        )
        if not await _ready(health, (operator, webhook), stop):
            return 1 if not stop.is_set() else 0
        _say(f"webhook: http://{listen}/webhooks/alertmanager")
        _say(f"header:  Authorization: Bearer {secret}")
        _say(f"health:  operator http://{health['operator']} webhook http://{health['webhook']}")
        _say("ready")
        return await _until_end((operator, webhook), stop)


async def _apply(environment: Mapping[str, str]) -> None:
    """Apply namespace, CRDs, accounts and roles, and wait until the CRDs are served."""
    folder = paths.data_dir("deploy") / "base" / "foundation"
    kubectl = environment.get("KUBECTL") or shutil.which("kubectl")
    if not kubectl:
        raise errors.ConfigError("kubectl is not on the PATH: install it, or name it in KUBECTL")
    field_manager = f"--field-manager={names.GROUP}-install"
    await _kubectl(
        environment,
        kubectl,
        "apply",
        "--server-side",
        "--force-conflicts",
        field_manager,
        "-k",
        str(folder),
    )
    crds = [f"crd/{kind.crd_name}" for kind in (names.INVESTIGATION, names.RECORD)]
    await _kubectl(
        environment, kubectl, "wait", "--for=condition=Established", "--timeout=30s", *crds
    )


async def _kubectl(environment: Mapping[str, str], *argv: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, complaint = await process.communicate()
    if process.returncode:
        text = complaint.decode("utf-8", "replace").strip()[-1024:]
        raise errors.ConfigError(f"`{' '.join(argv[:2])}` failed: {text}")


class _Tokens:
    """The tokens of the two accounts, in files that only this user reads; replaced before they expire."""

    def __init__(self, api: client.KubeClient, folder: pathlib.Path) -> None:
        self._api = api
        self._folder = folder

    async def renew(self) -> None:
        for account in (names.OPERATOR_ACCOUNT, names.WEBHOOK_ACCOUNT):
            path = f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/serviceaccounts/{account}/token"
            body = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": TOKEN_SECONDS},
            }
            reply = await self._api.request("POST", path, body=body)
            self._write(account, reply["status"]["token"])

    async def keep_renewed(self) -> None:
        while True:
            await asyncio.sleep(TOKEN_SECONDS * 2 / 3)
            try:
                await self.renew()
            except errors.ApiError as error:
                _say(f"the tokens were not renewed: {error}")

    def _write(self, account: str, token: str) -> None:
        fresh = self._folder / f".{account}"
        fresh.touch(mode=0o600)
        fresh.write_text(token, encoding="ascii")
        fresh.replace(self._folder / account)


def _child_environment(
    environment: Mapping[str, str], api: client.KubeClient, folder: pathlib.Path
) -> dict[str, str]:
    """Everything but the person's own credentials, and the API server's address."""
    kept = {name: value for name, value in environment.items() if name != "KUBECONFIG"}
    return kept | {
        parent.VARIABLE: str(os.getpid()),
        "KUBEWHY_API_SERVER": api.server,
        "KUBEWHY_API_CA_FILE": _ca_copy(api, folder / "ca.crt"),
    }


def _ca_copy(api: client.KubeClient, path: pathlib.Path) -> str:
    """The CA bundle in a file of this run: the one that a kubeconfig's data was written to may vanish."""
    if not api.ca_file:
        return ""
    path.write_bytes(pathlib.Path(api.ca_file).read_bytes())
    return str(path)


@contextlib.asynccontextmanager
async def _process(command: str, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """One of kubewhy's own processes; ended with SIGTERM, then killed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kubewhy",
        command,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _ready(
    health: Mapping[str, str], processes: tuple[Process, ...], stop: asyncio.Event
) -> bool:
    """Wait until both answer /readyz; False when one has ended, time is up, or the person stops."""
    deadline = asyncio.get_running_loop().time() + READY_SECONDS
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2.0)) as session:
        while asyncio.get_running_loop().time() < deadline and not stop.is_set():
            if any(process.returncode is not None for process in processes):
                _say("a process ended before it was ready; its log above says why")
                return False
            if all([await _answers(session, where) for where in health.values()]):
                return True
            await asyncio.sleep(0.1)
    if not stop.is_set():
        _say(f"not ready after {READY_SECONDS:.0f} s")
    return False


async def _answers(session: aiohttp.ClientSession, where: str) -> bool:
    try:
        async with session.get(f"http://{where}/readyz") as reply:
            return reply.status == 200  # noqa: PLR2004 - OK
    except (aiohttp.ClientError, TimeoutError):
        return False


async def _until_end(processes: tuple[Process, ...], stop: asyncio.Event) -> int:
    waits = [asyncio.ensure_future(process.wait()) for process in processes]
    asked = asyncio.ensure_future(stop.wait())
    await asyncio.wait([*waits, asked], return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if stop.is_set():
        return 0
    for name, process in zip(("operator", "webhook"), processes, strict=True):
        if process.returncode is not None:
            _say(f"{name} ended by itself ({_how(process.returncode)}); start `make run` again")
    return 1


def _how(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _free(where: str) -> str:
    """The address with port 0 replaced by a port that is free now."""
    host, port = settings.address(where)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise errors.ConfigError(
                f"{where} can't be listened on: {os.strerror(error.errno or 0)}; "
                "choose another with --webhook-address"
            ) from error
        return f"{host}:{probe.getsockname()[1]}"


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the terminal is this command's user interface
