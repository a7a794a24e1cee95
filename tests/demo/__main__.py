"""`make demo`: a real cluster, a broken workload, a real alert, and its root cause.

Exit code: 0 when the answer was right and the alert resolved, 1 with one sentence otherwise, 130 when interrupted.
KEEP=1 in the environment keeps the cluster.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import alerting
import api
import crash
import local
import recorded
import stack
from stage import Stage
from terminal import DemoError, Terminal

INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Sequence[str]) -> int:
    """Run the demo; the exit code."""
    options = _parser().parse_args(arguments)
    terminal = Terminal()
    for number in _SIGNALS:
        signal.signal(number, _interrupt)
    try:
        with stack.only_one("demo"):
            _run(terminal, stop_after_answer=options.stop_after_answer)
    except DemoError as error:
        print(f"\ndemo failed: {error}", file=sys.stderr, flush=True)
        return 1
    except (OSError, subprocess.SubprocessError) as error:
        print(f"\ndemo failed: {error}.", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print("\ndemo interrupted; everything it started is gone", file=sys.stderr, flush=True)
        return INTERRUPTED
    terminal.say("demo succeeded")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument(
        "--stop-after-answer",
        action="store_true",
        help="end before the repair, whose alert takes five minutes to resolve",
    )
    return parser


def _run(terminal: Terminal, *, stop_after_answer: bool) -> None:
    root = os.geteuid() == 0
    if root:
        alerting.require_programs()
    keep = os.environ.get("KEEP", "") not in ("", "0")
    with local.cluster(terminal, node=root, keep=keep) as kubeconfig:
        # Beside the kubeconfig: in the state directory, and gone with the cluster in any case.
        folder = Path(tempfile.mkdtemp(prefix="demo-", dir=kubeconfig.parent))
        try:
            with api.connect(api.access(kubeconfig)) as client:
                stage = Stage(
                    terminal=terminal,
                    kubectl=local.kubectl(kubeconfig),
                    client=client,
                    folder=folder,
                    stop_after_answer=stop_after_answer,
                )
                (crash if root else recorded).play(stage)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Once: while everything is taken down, further signals would only leave something behind."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    print("\ninterrupted: taking everything down", file=sys.stderr, flush=True)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
