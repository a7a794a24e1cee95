"""The local cluster that the tiers share: deploy/local/cluster.py under a name of this checkout."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiers import plan, processes

# The first start builds Kubernetes: 7 minutes on two idle cores.
_UP_SECONDS = 2400
_DOWN_SECONDS = 300


class ClusterUnavailableError(Exception):
    """The cluster can't be used by this run; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """What came up.

    Attributes:
        kubeconfig: path of the administrator's kubeconfig, "" where no API server came up.
        no_cluster: why there is no API server, "" if there is one.
        no_node: why there is no node, "" if there is one.
    """

    kubeconfig: str = ""
    no_cluster: str = ""
    no_node: str = ""

    def lacking(self, need: plan.Need) -> str:
        """Return why a tier with this need can't run, "" if it can."""
        if need is plan.Need.NODE:
            return self.no_cluster or self.no_node
        return self.no_cluster


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster that may be up, and how to remove it.

    Attributes:
        root: the checkout whose deploy/local is used.
        name: the cluster's name, which no other checkout uses.
    """

    root: Path
    name: str

    @classmethod
    def of(cls, root: Path) -> Cluster:
        """Return the cluster of the checkout at `root`."""
        digest = hashlib.sha256(str(root).encode()).hexdigest()
        return cls(root=root, name=f"test-{digest[:6]}")

    def start(self, *, no_node: str) -> Started:
        """Start the cluster as far as it goes, removing what an earlier run left.

        Args:
            no_node: why this machine can have no node; "" to start one, and do without if refused.
        """
        if leftover := self.down():
            return Started(no_cluster=leftover)
        if not no_node:
            kubeconfig, no_node = self._up("yes")
            if kubeconfig:
                return Started(kubeconfig=kubeconfig)
            self.down()
        kubeconfig, no_cluster = self._up("no")
        return Started(kubeconfig=kubeconfig, no_cluster=no_cluster, no_node=no_node)

    def _up(self, node: str) -> tuple[str, str]:
        """Return the kubeconfig's path and "", or "" and why it did not come up."""
        ended = self._call("up", "--node", node, seconds=_UP_SECONDS)
        kubeconfig = _kubeconfig(ended.output)
        if ended.code == 0 and kubeconfig:
            return kubeconfig, ""
        return "", ended.last_words or f"cluster.py up exited with {ended.code}"

    def down(self) -> str:
        """Remove the cluster, if there is one; return what kept it from going, "" for nothing."""
        with processes.uninterrupted():
            ended = self._call("down", seconds=_DOWN_SECONDS)
        if ended.code == 0:
            return ""
        return f"cluster {self.name} could not be removed: {ended.last_words}"

    def _call(self, verb: str, *arguments: str, seconds: float) -> processes.Ended:
        script = self.root / "deploy" / "local" / "cluster.py"
        return processes.run(
            [sys.executable, str(script), verb, "--name", self.name, *arguments],
            cwd=self.root,
            environment=os.environ,
            seconds=seconds,
            capture=True,
        )


@contextlib.contextmanager
def only_one(cluster: Cluster) -> Iterator[None]:
    """Hold the cluster's name against another run in the same checkout.

    Raises:
        ClusterUnavailableError: another run holds it.
    """
    lock = cluster.root / ".venv" / f".{cluster.name}.lock"
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterUnavailableError(
                "another 'make test' of this checkout uses the cluster: wait for its end"
            ) from None
        yield


def _kubeconfig(output: str) -> str:
    for line in output.splitlines():
        words = shlex.split(line)
        if len(words) == 2 and words[0] == "export" and words[1].startswith("KUBECONFIG="):
            return words[1].removeprefix("KUBECONFIG=")
    return ""
