"""The local cluster of the demo and its kubectl."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terminal import DemoError, Terminal

ROOT = Path(__file__).resolve().parents[2]
NAME = "demo"

_SCRIPT = ROOT / "deploy" / "local" / "cluster.py"
_STAMP = re.compile(r"^\[[^\]]*\] ")
_DOWN_SECONDS = 300
_KUBECTL_SECONDS = 180


@dataclass(frozen=True, kw_only=True)
class Kubectl:
    """kubectl against one cluster."""

    program: str
    kubeconfig: Path

    def run(self, *words: str, given: str = "") -> str:
        """What it prints.

        Raises:
            DemoError: it failed; with its own words.
        """
        done = subprocess.run(
            [self.program, *words],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=given,
            capture_output=True,
            text=True,
            timeout=_KUBECTL_SECONDS,
            check=False,
        )
        if done.returncode:
            raise DemoError(f"`kubectl {shlex.join(words)}` failed: {done.stderr.strip()[-1024:]}")
        return done.stdout

    def apply(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Apply manifests, server-side. Raises as `run` does."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.run(
            "apply", "--server-side", "--field-manager=demo", "-f", "-", given=json.dumps(listed)
        )

    def show(self, terminal: Terminal, *words: str) -> None:
        """Run it before the person's eyes. Raises as `run` does."""
        terminal.command(f"kubectl {shlex.join(words)}", self.run(*words))


@contextlib.contextmanager
def cluster(terminal: Terminal, *, node: bool, keep: bool) -> Iterator[Path]:
    """A running cluster, by its kubeconfig; removed in the end unless it is to be kept.

    Raises:
        DemoError: it could not be started; with the local cluster's own sentence.
    """
    try:
        yield _up(terminal, node=node)
    finally:
        if keep:
            terminal.say(
                f"the cluster is kept: `make cluster-down NAME={NAME}` removes it,"
                f' `eval "$(make cluster-up NAME={NAME})"` points kubectl at it'
            )
        else:
            _down(terminal)


def kubectl(kubeconfig: Path) -> Kubectl:
    """The kubectl that the local cluster uses.

    Raises:
        DemoError: there is none, and none could be had.
    """
    done = subprocess.run(
        [sys.executable, str(_SCRIPT), "kubectl-path"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DemoError(_sentence(done.stderr, "There is no kubectl"))
    return Kubectl(program=done.stdout.strip(), kubeconfig=kubeconfig)


def _up(terminal: Terminal, *, node: bool) -> Path:
    argv = [sys.executable, str(_SCRIPT), "up", "--name", NAME, "--node", "yes" if node else "no"]
    last = ""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stderr or ():
                if last:
                    terminal.say(last)
                last = _STAMP.sub("", line.rstrip())
            output = process.stdout.read() if process.stdout else ""
        except BaseException:
            process.terminate()  # it undoes what it has begun
            raise
    if process.returncode:
        raise DemoError(_sentence(last, "The local cluster did not come up"))
    terminal.say(last)
    words = shlex.split(output)
    return Path(words[-1].removeprefix("KUBECONFIG="))


def _down(terminal: Terminal) -> None:
    done = subprocess.run(
        [sys.executable, str(_SCRIPT), "down", "--name", NAME],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DOWN_SECONDS,
        start_new_session=True,  # a second Ctrl-C shall not leave half of it behind
        check=False,
    )
    if done.returncode:
        raise DemoError(_sentence(done.stderr, f"Cluster {NAME} could not be removed"))
    terminal.say(_STAMP.sub("", done.stderr.strip().splitlines()[-1]))


def _sentence(stderr: str, otherwise: str) -> str:
    lines = stderr.strip().splitlines()
    return _STAMP.sub("", lines[-1]) if lines else f"{otherwise}."
