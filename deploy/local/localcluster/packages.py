"""Install the Debian packages of a node and of the demo's alerting, and leave no service running."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from localcluster import locks
from localcluster.errors import ClusterError
from localcluster.progress import Progress

# containerd to socat: the node; umoci and skopeo: to make and move further images without a
# registry; busybox-static: the node's own image; the rest: alerting, certificates, routes.
WANTED = (
    "containerd", "runc", "containernetworking-plugins", "iptables", "conntrack", "ethtool", "socat",
    "umoci", "skopeo", "busybox-static", "prometheus", "prometheus-alertmanager", "openssl", "iproute2",
)  # fmt: skip

# Docker's package of containerd brings its own runc and conflicts with Debian's two.
_DOCKERS = "containerd.io"
_REPLACED_BY_DOCKERS = ("containerd", "runc")

# invoke-rc.d and deb-systemd-invoke ask this program before they start a service; 101 forbids it.
_POLICY = Path("/usr/sbin/policy-rc.d")
_SAVED = Path("/usr/sbin/policy-rc.d.before-kubewhy")
_OURS = "#!/bin/sh\n# kubewhy installs packages: no service starts meanwhile.\nexit 101\n"

_LOCK = Path("/run/kubewhy/packages.lock")
_INSTALL_SECONDS = 1800
_QUERY_SECONDS = 60


def install(progress: Progress) -> None:
    """Install what is missing of WANTED; quick when nothing is. Raises ClusterError."""
    if shutil.which("apt-get") is None:
        raise ClusterError(
            "There is no apt-get here: install containerd, runc, the CNI plugins and a static busybox by"
            " the means of this system."
        )
    absent = missing(installed())
    if not absent:
        progress.say("all Debian packages are installed")
        return
    if os.geteuid() != 0:
        raise ClusterError(f"Installing {' '.join(absent)} needs root: run this as root.")
    with locks.exclusive(
        _LOCK, waiting=lambda: progress.say("another process installs packages: waiting")
    ):
        present = installed()
        if _DOCKERS in present:
            progress.say(
                f"Docker's {_DOCKERS} is installed: using it instead of Debian's containerd"
            )
        absent = missing(present)
        if absent:
            progress.say(f"installing {' '.join(absent)}")
            _install(absent)
            progress.say("packages installed")


def missing(present: Collection[str]) -> list[str]:
    """The packages of WANTED to install beside those `present`."""
    provided = {*present, *(_REPLACED_BY_DOCKERS if _DOCKERS in present else ())}
    return [package for package in WANTED if package not in provided]


def parse_installed(listing: str) -> set[str]:
    """The installed packages in dpkg-query's lines of name and abbreviated status."""
    lines = (line.split(" ", 1) for line in listing.splitlines() if " " in line)
    return {name for name, status in lines if status.startswith("ii")}


def installed() -> set[str]:
    """Those of the packages concerned that are installed."""
    return parse_installed(_statuses([*WANTED, _DOCKERS]))


@contextlib.contextmanager
def services_held(policy: Path = _POLICY, saved: Path = _SAVED) -> Iterator[None]:
    """Keep package scripts from starting services; puts the machine's own policy back.

    Also puts it back when an earlier run was killed before it could.
    """
    _put_back(policy, saved)
    if policy.exists():
        policy.rename(saved)
    policy.write_text(_OURS, encoding="utf-8")
    policy.chmod(0o755)
    try:
        yield
    finally:
        _put_back(policy, saved)


def _put_back(policy: Path, saved: Path) -> None:
    if policy.exists() and policy.read_text("utf-8", errors="replace") == _OURS:
        policy.unlink()
    if saved.exists():
        saved.replace(policy)


def _install(absent: list[str]) -> None:
    with services_held():
        try:
            if not _apt("install", absent):
                # Lists may be absent or name versions that the mirror no longer has.
                _apt("update", [])
                if not _apt("install", absent):
                    raise ClusterError(
                        f"apt-get could not install {' '.join(absent)}: its own words are above."
                    )
        finally:
            for package in parse_installed(_statuses(absent)):
                _disable_services(package)


def _statuses(names: list[str]) -> str:
    # Exits 1 when it doesn't know one of the names, which is no error here.
    return _query(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *names])


def _apt(command: str, names: list[str]) -> bool:
    """Run apt-get with its output on stderr; whether it succeeded."""
    options = ["--yes", "--no-remove", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]
    done = subprocess.run(
        ["apt-get", *options, command, *names],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    return done.returncode == 0


def _environment() -> Mapping[str, str]:
    return {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}


def _disable_services(package: str) -> None:
    """Stop the services of a package that we have installed, now and at the next boot."""
    units = sorted(
        {
            Path(line).name
            for line in _query(["dpkg", "-L", package]).splitlines()
            if "/systemd/system/" in line and line.endswith((".service", ".timer"))
        }
    )
    if units and shutil.which("systemctl"):
        running = ["--now"] if Path("/run/systemd/system").is_dir() else []
        subprocess.run(
            ["systemctl", "disable", *running, *units],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            timeout=_QUERY_SECONDS,
            check=False,
        )


def _query(argv: list[str]) -> str:
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=_QUERY_SECONDS, check=False
    ).stdout
