"""Prometheus and Alertmanager as programs of their own, and what they say."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

import rules
import stack
from terminal import DemoError

PROMETHEUS = "prometheus"
ALERTMANAGER = "prometheus-alertmanager"
"""Both as Debian calls the program and its package."""

READY_SECONDS = 60.0
_REQUEST_SECONDS = 5.0
_MOST_LOG_BYTES = 4 * 1024 * 1024

# One line of Alertmanager's log (logfmt): the dispatcher says when it begins to send a group.
_FLUSH = re.compile(r"^ts=(\S+) .*component=dispatcher.* msg=flushing ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Server:
    """One of the two, as it runs."""

    program: stack.Running
    url: str

    def ask(self, path: str) -> Any:
        """The JSON that it answers; None where there is no answer yet."""
        with contextlib.suppress(httpx.HTTPError, ValueError):
            reply = httpx.get(f"{self.url}{path}", timeout=_REQUEST_SECONDS, trust_env=False)
            return reply.json() if reply.is_success else None
        return None


def require_programs() -> None:
    """Check that both are installed.

    Raises:
        DemoError: one is not.
    """
    for program in (PROMETHEUS, ALERTMANAGER):
        if shutil.which(program) is None:
            raise DemoError(
                f"{program} is not installed: install the Debian package of that name, or run"
                " `python3 deploy/local/cluster.py packages` as root."
            )


@contextlib.contextmanager
def prometheus(*, folder: Path, port: int, exporter: int, alertmanager: int) -> Iterator[Server]:
    """Prometheus on `port`, with the demo's rule, scraping the exporter."""
    rule_file = _write(folder / "rules.yml", rules.rules())
    content = rules.prometheus(exporter=exporter, alertmanager=alertmanager, rule_file=rule_file)
    config = _write(folder / "prometheus.yml", content)
    argv = [
        PROMETHEUS,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--web.external-url=http://127.0.0.1:{port}",
    ]
    with _serving(PROMETHEUS, argv, folder=folder, port=port) as server:
        yield server


@contextlib.contextmanager
def alertmanager(*, folder: Path, port: int, webhook: str, token: str) -> Iterator[Server]:
    """Alertmanager on `port`, sending everything to the webhook with the token."""
    token_file = folder / "webhook-token"
    token_file.touch(mode=0o600)
    token_file.write_text(token, encoding="ascii")
    content = rules.alertmanager(webhook=webhook, token_file=token_file)
    config = _write(folder / "alertmanager.yml", content)
    argv = [
        ALERTMANAGER,
        f"--config.file={config}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--web.external-url=http://127.0.0.1:{port}",
        "--cluster.listen-address=",
        "--log.level=debug",  # says when it sends
    ]
    with _serving(ALERTMANAGER, argv, folder=folder, port=port) as server:
        yield server


def alert_states(answer: Any) -> dict[str, str]:
    """Pod to state (pending, firing) in what Prometheus' /api/v1/alerts answers, of the demo's rule."""
    found = (answer or {}).get("data", {}).get("alerts", [])
    return {
        alert["labels"].get("pod", ""): alert["state"]
        for alert in found
        if alert["labels"].get("alertname") == rules.ALERT
    }


def first_flush(log: str) -> datetime.datetime | None:
    """When Alertmanager began to send its first message, from its log at level debug."""
    line = _FLUSH.search(log)
    return datetime.datetime.fromisoformat(line[1]) if line else None


def posted_at(server: Server) -> datetime.datetime | None:
    """When the running Alertmanager began to send its first message; None where it does not say."""
    with server.program.program.log.open("rb") as file:
        return first_flush(file.read(_MOST_LOG_BYTES).decode("utf-8", "replace"))


@contextlib.contextmanager
def _serving(name: str, argv: list[str], *, folder: Path, port: int) -> Iterator[Server]:
    program = stack.Program(name=name, argv=argv, environment=_environment(), folder=folder)
    url = f"http://127.0.0.1:{port}"
    with stack.running(program) as started:
        started.wait_until(lambda: _is_ready(url), seconds=READY_SECONDS, what="ready")
        yield Server(program=started, url=url)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", timeout=_REQUEST_SECONDS, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _environment() -> Mapping[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath)}


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
