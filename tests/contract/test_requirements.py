"""The pinned requirements: every one with hashes, nothing known to be bad, no host named."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import pytest

import repository

_FOLDER = repository.ROOT / "requirements"
_FILES = ("bootstrap.txt", "build.txt", "dev.txt", "runtime.txt")
_PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[^\s;\\]+)")
_HASH = re.compile(r"^\s+--hash=sha256:[0-9a-f]{64}(?: \\)?$")
_BAD = {("litellm", "1.82.7"), ("litellm", "1.82.8"), ("kubernetes", "36.0.0"),
        ("kubernetes", "36.0.1")}  # fmt: skip


@dataclass
class Pin:
    name: str
    version: str
    hashes: int = 0


def _pins(text: str) -> list[Pin]:
    pins: list[Pin] = []
    for line in text.splitlines():
        if match := _PIN.match(line):
            pins.append(Pin(match["name"], match["version"]))
        elif _HASH.match(line):
            pins[-1].hashes += 1
        elif line.strip() and not line.lstrip().startswith("#"):
            pytest.fail(f"neither a pin, nor a hash, nor a comment: {line!r}")
    return pins


def _locked(name: str) -> list[Pin]:
    return _pins((_FOLDER / name).read_text(encoding="utf-8"))


def _project() -> dict[str, Any]:
    return tomllib.loads((repository.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", _FILES)
def test_each_requirement_has_a_hash(file: str) -> None:
    pins = _locked(file)
    assert pins
    assert not [pin.name for pin in pins if not pin.hashes]


@pytest.mark.parametrize("file", _FILES)
def test_no_host_and_no_option_is_in_the_file(file: str) -> None:
    text = (_FOLDER / file).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash=)", text, re.MULTILINE)


@pytest.mark.parametrize("file", _FILES)
def test_no_bad_release_is_pinned(file: str) -> None:
    assert not _BAD.intersection((pin.name, pin.version) for pin in _locked(file))


@pytest.mark.parametrize(
    ("name", "exclusions"),
    [("litellm", ("1.82.7", "1.82.8")), ("kubernetes", ("36.0.0", "36.0.1"))],
)
def test_bad_releases_are_excluded_by_name(name: str, exclusions: tuple[str, ...]) -> None:
    line = next(d for d in _project()["project"]["dependencies"] if d.startswith(name + ">="))
    assert all(f"!={version}" in line for version in exclusions)


@pytest.mark.parametrize("file", ["bootstrap.txt", "build.txt", "runtime.txt"])
def test_what_ships_is_what_was_tested(file: str) -> None:
    tested = {(pin.name, pin.version) for pin in _locked("dev.txt")}
    assert {(pin.name, pin.version) for pin in _locked(file)} <= tested


def test_each_direct_dependency_is_locked() -> None:
    names = {re.split(r"[<>=!~ ]", line)[0] for line in _project()["project"]["dependencies"]}
    assert names <= {pin.name for pin in _locked("runtime.txt")}


def test_the_environment_has_the_locked_versions() -> None:
    installed = {
        dist.name.lower().replace("_", "-"): dist.version for dist in metadata.distributions()
    }
    wrong = {
        pin.name: (pin.version, installed[pin.name])
        for pin in _locked("dev.txt")
        if installed.get(pin.name, pin.version) != pin.version
    }
    assert not wrong


def test_the_lock_command_waits_a_week() -> None:
    makefile = (repository.ROOT / "Makefile").read_text(encoding="utf-8")
    assert '--exclude-newer "7 days"' in makefile
    assert "--generate-hashes" in makefile


def test_each_direct_dependency_has_its_reason_on_record() -> None:
    record = (repository.ROOT / "docs" / "adr" / "0003-dependencies.md").read_text(encoding="utf-8")
    rows = "\n".join(line for line in record.splitlines() if line.startswith("| "))
    names = {re.split(r"[<>=!~ ]", line)[0] for line in _project()["project"]["dependencies"]}
    assert not [
        name for name in names if not re.search(rf"^\| .*\b{name}\b.*\| ", rows, re.MULTILINE)
    ]
