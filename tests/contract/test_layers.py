"""The contracts between layers hold, and each of them can fail.

Goes in: for each contract a copy of the package with one import that it forbids.
Observed: `lint-imports` fails and names that contract, and no other.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import repository

_PACKAGE = repository.ROOT / "operator" / "kubewhy"
_CONFIG = repository.ROOT / "pyproject.toml"
_CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads(_CONFIG.read_text())["tool"]["importlinter"]["contracts"]
}

# contract, module to add, its text
_BREACHES = [
    ("layers", "errors_user", "from kubewhy import errors\n"),  # a module that no layer declares
    ("layers", "api/breach", "from kubewhy.core import breach_target\n"),
    ("layers", "core/breach", "from kubewhy.engine import breach_target\n"),
    ("layers", "core/breach", "from kubewhy.testing import breach_target\n"),
    ("layers", "engine/breach", "from kubewhy.adapters import breach_target\n"),
    ("layers", "adapters/breach", "from kubewhy.toolsets import breach_target\n"),
    ("layers", "toolsets/breach", "from kubewhy.engine import breach_target\n"),
    ("layers", "adapters/breach", "from kubewhy.app import breach_target\n"),
    ("layers", "adapters/breach", "def late():\n    from kubewhy.app import breach_target\n"),
    ("pure", "core/breach", "import asyncio\n"),
    ("pure", "core/breach", "import os.path\n"),
    ("pure", "core/breach", "def late():\n    from time import monotonic\n"),
    ("pure", "core/breach", "import random\n"),
    ("pure", "core/breach", "import uuid\n"),
    ("pure", "core/breach", "import logging\n"),
    ("pure", "api/breach", "import subprocess\n"),
    ("pure", "api/breach", "import socket\n"),
    ("kopf", "engine/breach", "import kopf\n"),
    ("kopf", "adapters/breach", "from kopf import testing as kopf_testing\n"),
    ("litellm", "app/breach", "import litellm\n"),
    ("litellm", "adapters/breach", "def late():\n    import litellm\n"),
    ("kubernetes", "app/breach", "from kubernetes import client\n"),
    ("kubernetes", "toolsets/breach", "import kubernetes.aio\n"),
]


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run the linter on the package below `root`, with this repository's contracts."""
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); import kubewhy; "
        f"assert kubewhy.__file__.startswith({str(root)!r}); "
        "from importlinter.cli import lint_imports_command as main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "--no-logo", "--no-cache", str(_CONFIG)],
        cwd=root,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def _broken(output: str) -> set[str]:
    return {
        identity
        for identity, name in _CONTRACTS.items()
        if any(line.startswith(name) and "BROKEN" in line for line in output.splitlines())
    }


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, with every layer present."""
    package = tmp_path / "kubewhy"
    shutil.copytree(_PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for layer in ("app", "testing", "engine", "adapters", "toolsets", "core", "api"):
        (package / layer).mkdir(exist_ok=True)
        (package / layer / "__init__.py").touch()
        (package / layer / "breach_target.py").touch()
    return tmp_path


def test_all_contracts_hold() -> None:
    done = _lint(repository.ROOT / "operator")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Contracts: {len(_CONTRACTS)} kept, 0 broken." in done.stdout


@pytest.mark.parametrize(("contract", "module", "text"), _BREACHES)
def test_a_breach_is_found(copy: Path, contract: str, module: str, text: str) -> None:
    (copy / "kubewhy" / f"{module}.py").write_text(text)
    done = _lint(copy)
    assert done.returncode != 0
    assert _broken(done.stdout) == {contract}, done.stdout + done.stderr


def test_each_contract_has_a_breach() -> None:
    assert {contract for contract, *_ in _BREACHES} == set(_CONTRACTS)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "app/allowed",
            "import kopf\nfrom kubewhy import testing\nfrom kubewhy.engine import breach_target\n",
        ),
        ("adapters/litellm_model/allowed", "def late():\n    import litellm\n"),
        ("adapters/kube/allowed", "import kubernetes\nimport asyncio\n"),
    ],
)
def test_what_is_allowed_passes(copy: Path, module: str, text: str) -> None:
    path = copy / "kubewhy" / f"{module}.py"
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text(text)
    done = _lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr


_CLOCKS = {"now", "utcnow", "today"}


@pytest.mark.parametrize("layer", ["core", "api"])
def test_pure_layers_read_no_clock(layer: str) -> None:
    """`datetime` is a value type there; only its clock is forbidden, which no import shows."""
    found = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno}"
        for path in sorted((_PACKAGE / layer).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in _CLOCKS
    ]
    assert not found


def test_litellm_is_imported_only_inside_functions() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}:{node.lineno}"
        for path in sorted(_PACKAGE.rglob("*.py"))
        for node in _imports_at_import_time(ast.parse(path.read_text(encoding="utf-8")))
        if any(name.partition(".")[0] == "litellm" for name in _names(node))
    ]
    assert not found


def _imports_at_import_time(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    found: list[ast.Import | ast.ImportFrom] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.extend(_imports_at_import_time(node))
    return found


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names]
