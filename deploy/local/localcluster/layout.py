"""Where things lie: state and cache directories, both outside the repository."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import ClusterError

DEFAULT_NAME = "kubewhy"
SOURCES = Path(__file__).resolve().parent.parent

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
# A Unix socket's path may have 107 bytes (unix(7)); the longest below a cluster is "/etcd/client.sock".
_LONGEST_SOCKET = 107
_SOCKETS_BELOW = len("/etcd/client.sock")


@dataclass(frozen=True)
class Layout:
    """The paths of one cluster below the state directory `root`."""

    root: Path
    name: str

    @property
    def directory(self) -> Path:
        """All state of the cluster; gone after `down`."""
        return self.root / "clusters" / self.name

    @property
    def lock(self) -> Path:
        """Held by whoever changes the cluster; outside `directory`, which `down` deletes."""
        return self.root / "locks" / f"{self.name}.lock"

    @property
    def record(self) -> Path:
        """What the cluster is made of (store.ClusterRecord)."""
        return self.directory / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def users(self) -> Path:
        """Tokens and groups of the test users."""
        return self.directory / "users.json"

    @property
    def tokens(self) -> Path:
        """The API server's token file."""
        return self.directory / "tokens.csv"

    @property
    def processes(self) -> Path:
        """One file per started program, written by the program's own process."""
        return self.directory / "run"

    @property
    def logs(self) -> Path:
        """One log file per program."""
        return self.directory / "logs"

    @property
    def pki(self) -> Path:
        """Keys and certificates."""
        return self.directory / "pki"

    @property
    def etcd(self) -> Path:
        """Data and sockets of etcd."""
        return self.directory / "etcd"

    @property
    def node(self) -> Path:
        """Everything of the kubelet and containerd."""
        return self.directory / "node"

    @property
    def scratch(self) -> Path:
        """TMPDIR of the programs, so that nothing of theirs stays in the machine's own."""
        return self.directory / "tmp"

    def named(self, name: str) -> "Layout":
        """The layout of another cluster in the same state directory."""
        return Layout(self.root, name)


def layout_for(name: str, environ: Mapping[str, str]) -> Layout:
    """The layout of cluster `name`; refuses names and places that can't work.

    Raises ClusterError.
    """
    if not _NAME.fullmatch(name):
        raise ClusterError(
            f"{name!r} can't name a cluster: use up to 32 lower-case letters, digits and inner dashes."
        )
    layout = Layout(state_root(environ), name)
    longest = len(str(layout.directory).encode()) + _SOCKETS_BELOW
    if longest > _LONGEST_SOCKET:
        raise ClusterError(
            f"The state directory {layout.directory} is {longest - _LONGEST_SOCKET} bytes too long for the"
            " Unix sockets in it: set KUBEWHY_STATE_DIR to a shorter path."
        )
    return layout


def state_root(environ: Mapping[str, str]) -> Path:
    """`KUBEWHY_STATE_DIR`, else kubewhy's directory in the XDG state home."""
    return _directory(environ, "KUBEWHY_STATE_DIR", "XDG_STATE_HOME", ".local/state")


def cache_root(environ: Mapping[str, str]) -> Path:
    """`KUBEWHY_CACHE_DIR`, else kubewhy's directory in the XDG cache home."""
    return _directory(environ, "KUBEWHY_CACHE_DIR", "XDG_CACHE_HOME", ".cache")


def existing_names(root: Path) -> list[str]:
    """Names of the clusters that have state below `root`."""
    clusters = root / "clusters"
    if not clusters.is_dir():
        return []
    return sorted(path.name for path in clusters.iterdir() if _NAME.fullmatch(path.name))


def _directory(environ: Mapping[str, str], own: str, xdg: str, fallback: str) -> Path:
    if environ.get(own):
        return Path(environ[own]).expanduser().absolute()
    # The XDG base directory specification says that relative values are to be ignored.
    base = Path(environ.get(xdg) or "")
    if not base.is_absolute():
        base = Path.home() / fallback
    return base / "kubewhy"
