"""Build the multi-call executable once per version of its sources and of Go, into the cache."""

import ctypes
import hashlib
import os
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

from localcluster import locks, tools
from localcluster.errors import ClusterError
from localcluster.layout import SOURCES
from localcluster.progress import Progress

KUBERNETES = "v1.34.4"

_SOURCES = SOURCES / "kube"
_PACKAGE = "k8s.io/component-base/version"
# Without the version the API server reports v0.0.0 and clients misbehave.
_LINK = f"-s -w -X {_PACKAGE}.gitVersion={KUBERNETES} -X {_PACKAGE}.gitMajor=1 -X {_PACKAGE}.gitMinor=34"
_FLAGS = ("build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-v", "-ldflags", _LINK)
_REPORT_SECONDS = 15.0
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def ensure(cache: Path, progress: Progress) -> Path:
    """The path of the built executable; builds it if the cache lacks it. Raises ClusterError."""
    directory = cache / "kube"
    sources = sources_digest(_source_files())
    usable = tools.present_go(cache)
    if usable is None:
        # Any Go will have done: the sources decide what the programs are.
        built = sorted(directory.glob(f"{sources}-*/kube"))
        if built:
            return built[-1]
        usable = tools.go(cache, progress)
    binary = directory / f"{sources}-{usable[1]}" / "kube"
    if not binary.exists():
        busy = "another process is building Kubernetes: waiting for it"
        with locks.exclusive(directory / "build.lock", waiting=lambda: progress.say(busy)):
            if not binary.exists():
                _build(usable[0], binary, progress)
    return binary


def sources_digest(files: Iterable[tuple[str, bytes]]) -> str:
    """A short digest of named sources and of how they are built, whatever their order."""
    digest = hashlib.sha256(repr(_FLAGS).encode())
    for name, content in sorted(files):
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _source_files() -> list[tuple[str, bytes]]:
    names = ["go.mod", "go.sum", *(path.name for path in _SOURCES.glob("*.go"))]
    return [(name, (_SOURCES / name).read_bytes()) for name in names]


def _build(go: str, binary: Path, progress: Progress) -> None:
    progress.say(f"building Kubernetes {KUBERNETES} with {go}: once, about 7 minutes on 2 cores")
    binary.parent.mkdir(parents=True, exist_ok=True)
    partial = binary.with_name(f".kube.{os.getpid()}")
    log = binary.with_name("build.log")
    try:
        _run([go, *_FLAGS, "-o", str(partial), "."], log, progress)
        partial.rename(binary)
    finally:
        partial.unlink(missing_ok=True)
    progress.say("built")


def _run(argv: list[str], log: Path, progress: Progress) -> None:
    """Run the compiler, saying now and then how far it is (-v names each package it compiles)."""
    with log.open("wb") as output:
        compiler = subprocess.Popen(
            argv,
            cwd=_SOURCES,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 (we have one thread)
        )
    try:
        while (code := _wait(compiler)) is None:
            progress.say(f"compiling: {len(log.read_bytes().splitlines())} packages done")
    finally:
        if compiler.poll() is None:
            compiler.terminate()
            compiler.wait()
    if code != 0:
        last = (log.read_text(errors="replace").splitlines() or ["no output"])[-1][:300]
        raise ClusterError(f"Building Kubernetes failed ({last}): see {log}.")


def _wait(compiler: subprocess.Popen[bytes]) -> int | None:
    try:
        return compiler.wait(_REPORT_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _environment() -> dict[str, str]:
    """The caller's environment without what would change the build."""
    kept = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return {**kept, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local"}


def _die_with_parent() -> None:
    """In the child: end when the one who wants the build is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
