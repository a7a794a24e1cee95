"""The layout that everything rests on: the source root, the data files, and what no file may say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import repository

ROOT = repository.ROOT

# Files that site-packages may run at every start of the interpreter. Malicious releases have used
# such files (docs/adr/0003-dependencies.md).
_PTH_FILES = {"_editable_impl_kubewhy.pth", "distutils-precedence.pth"}

# A folder of somebody's machine, a registry's host. Names of container images are no hosts to us.
_FORBIDDEN = {
    "absolute path of a developer's machine": re.compile(
        r"(?<![\w./<{$-])/(?:work|home/[a-z][\w-]*|Users/[A-Za-z][\w-]*)/[\w.]"
    ),
    "host of a package registry": re.compile(
        r"\b(?:files\.pythonhosted|pypi)\.org\b|\b(?:proxy|sum)\.golang\.org\b"
        r"|\bregistry\.npmjs\.org\b|\bdeb\.debian\.org\b|\barchive\.ubuntu\.com\b"
    ),
}


def test_operator_is_a_source_root_and_no_package() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()
    assert not [path for path in repository.files() if path.as_posix() == "operator/__init__.py"]


def test_operator_holds_exactly_one_package() -> None:
    entries = {path.parts[1] for path in repository.files() if path.parts[0] == "operator"}
    assert entries == {"kubewhy"}


@pytest.mark.parametrize("flags", [["-c"], ["-S", "-c"]])
def test_operator_of_the_standard_library_wins_in_the_root(flags: list[str]) -> None:
    code = "import collections, operator; print(operator.__file__)"
    done = subprocess.run(
        [sys.executable, *flags, code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == Path(sysconfig.get_path("stdlib")) / "operator.py"


def test_operator_as_a_package_would_break_the_interpreter(tmp_path: Path) -> None:
    """The negative control: with `__init__.py` the same command fails."""
    (tmp_path / "operator").mkdir()
    (tmp_path / "operator" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import operator; operator.eq"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0


def test_nothing_but_known_files_runs_at_interpreter_start() -> None:
    packages = Path(sysconfig.get_path("purelib"))
    assert {path.name for path in packages.glob("*.pth")} <= _PTH_FILES
    assert not list(packages.glob("sitecustomize*")) + list(packages.glob("usercustomize*"))


@pytest.mark.parametrize("what", _FORBIDDEN)
def test_no_file_names_a_machine_or_a_registry(what: str) -> None:
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in repository.files()
        if path != Path("tests/contract/test_layout.py")
        for number, line in enumerate(repository.text(path).splitlines(), start=1)
        if _FORBIDDEN[what].search(line)
    ]
    assert not found, what


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("absolute path of a developer's machine", "open('/home/alice/src/x')"),
        ("host of a package registry", "--index-url https://pypi.org/simple"),
    ],
)
def test_the_scan_finds_what_it_looks_for(what: str, line: str) -> None:
    assert _FORBIDDEN[what].search(line)


def test_tests_are_no_packages() -> None:
    assert not [p for p in repository.files() if p.parts[0] == "tests" and p.name == "__init__.py"
                and "support" not in p.parts]  # fmt: skip


def test_the_ci_script_can_be_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in script.read_text()
    assert "make test" in script.read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_package_and_its_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "kubewhy/py.typed" in names
    for folder in ("crds", "toolsets", "deploy/base"):
        data = {path.as_posix() for path in repository.files() if path.is_relative_to(folder)}
        assert {f"kubewhy/_data/{name}" for name in data} <= names
    outside = {n for n in names if not n.startswith("kubewhy/") and ".dist-info/" not in n}
    assert not outside


def test_an_installed_wheel_finds_its_data(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'unpacked')!r}); "
        "from kubewhy import paths; print(paths.data_dir('crds'))"
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    done = subprocess.run(
        [python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(tmp_path / "unpacked" / "kubewhy" / "_data" / "crds")
