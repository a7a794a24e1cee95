"""The command line of the local cluster."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from localcluster import layout, lifecycle, packages, tools
from localcluster.errors import ClusterError
from localcluster.lifecycle import NodeChoice
from localcluster.progress import Progress

_INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code: 0, 1 with a sentence on stderr, or 130."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        options.run(options)
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1
    except (OSError, subprocess.SubprocessError) as error:
        print(f"The local cluster failed: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cluster.py", description="A real Kubernetes on this machine."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start a cluster or reuse it; prints a line to evaluate")
    up.add_argument("--name", default=layout.DEFAULT_NAME, help="default: %(default)s")
    up.add_argument(
        "--node",
        type=NodeChoice,
        choices=list(NodeChoice),
        default=NodeChoice.AUTO,
        help="a real kubelet: if possible, required, or none (default: %(default)s)",
    )
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="remove a cluster and all that it left")
    which = down.add_mutually_exclusive_group()
    which.add_argument("--name", default=layout.DEFAULT_NAME, help="default: %(default)s")
    which.add_argument("--all", action="store_true", help="every cluster of the state directory")
    down.set_defaults(run=_down)
    kubectl = commands.add_parser("kubectl-path", help="print the path of a kubectl that runs here")
    kubectl.set_defaults(run=_kubectl_path)
    install = commands.add_parser("packages", help="install the Debian packages of a node (root)")
    install.set_defaults(run=_packages)
    return parser


def _up(options: argparse.Namespace) -> None:
    place = layout.layout_for(options.name, os.environ)
    cache = layout.cache_root(os.environ)
    lifecycle.up(place, options.node, cache=cache, progress=Progress())
    print(f"export KUBECONFIG={shlex.quote(str(place.kubeconfig))}")


def _down(options: argparse.Namespace) -> None:
    progress = Progress()
    names = layout.existing_names(layout.state_root(os.environ)) if options.all else [options.name]
    if not names:
        progress.say("there is no cluster")
    for name in names:
        lifecycle.down(layout.layout_for(name, os.environ), progress)


def _kubectl_path(_: argparse.Namespace) -> None:
    print(tools.kubectl(layout.cache_root(os.environ), Progress()))


def _packages(_: argparse.Namespace) -> None:
    packages.install(Progress())


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
