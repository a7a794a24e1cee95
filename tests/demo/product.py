"""kubewhy itself: operator and webhook as `make run` starts them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import local
import stack
from terminal import DemoError

READY_SECONDS = 90.0
"""A little more than it gives itself."""

_READY = re.compile(r"^ready$", re.MULTILINE)
_WEBHOOK = re.compile(r"^webhook: +(http://\S+)$", re.MULTILINE)
_TOKEN = re.compile(r"^header: +Authorization: Bearer (\S+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Product:
    """kubewhy as it runs: where alerts are sent, and the token they need."""

    program: stack.Running
    webhook: str
    token: str


@contextlib.contextmanager
def running(*, folder: Path, kubectl: local.Kubectl, prometheus: str = "") -> Iterator[Product]:
    """`kubewhy run` with the built-in model, on a free port.

    Raises:
        DemoError: it was not ready in time, or has ended.
    """
    program = stack.Program(
        name="kubewhy",
        argv=[sys.executable, "-m", "kubewhy", "run", "--webhook-address", "127.0.0.1:0"],
        environment=environment(os.environ, kubectl, prometheus),
        folder=folder,
    )

    def is_ready() -> bool:
        return bool(_READY.search(program.out.read_text(encoding="utf-8")))

    with stack.running(program) as started:
        started.wait_until(is_ready, seconds=READY_SECONDS, what="ready")
        webhook, token = address(program.out.read_text(encoding="utf-8"))
        yield Product(program=started, webhook=webhook, token=token)


def address(output: str) -> tuple[str, str]:
    """The webhook's address and token in what `kubewhy run` prints.

    Raises:
        DemoError: they are not there.
    """
    webhook, token = _WEBHOOK.search(output), _TOKEN.search(output)
    if webhook is None or token is None:
        raise DemoError("`kubewhy run` is ready but did not print its webhook's URL and header.")
    return webhook[1], token[1]


def environment(ours: Mapping[str, str], kubectl: local.Kubectl, prometheus: str) -> dict[str, str]:
    """Our environment without the person's own settings of kubewhy, which could choose another model."""
    kept = {name: value for name, value in ours.items() if not name.startswith("KUBEWHY_")}
    found = kept | {"KUBECONFIG": str(kubectl.kubeconfig), "KUBECTL": kubectl.program}
    return found | ({"KUBEWHY_PROMETHEUS_URL": prometheus} if prometheus else {})
