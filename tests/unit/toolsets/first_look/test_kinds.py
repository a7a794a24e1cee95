"""Kinds of facts: code, list and documentation say the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from kubewhy.toolsets.kubernetes import first_look
from kubewhy.toolsets.kubernetes.first_look import kinds

DOCS = Path(__file__).resolve().parents[4] / "docs" / "toolsets.md"


def _made() -> set[str]:
    """The literal second argument of every call of `ranked`."""
    found = set()
    for path in Path(str(first_look.__file__)).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func).split(".")[-1] == "ranked"
                and len(call.args) > 1
            ):
                kind = call.args[1]
                assert isinstance(kind, ast.Constant), ast.unparse(call)
                found.add(str(kind.value))
    return found


def test_every_kind_that_is_made_is_listed_and_none_else() -> None:
    assert _made() == set(kinds.KINDS)


def test_every_kind_is_documented_with_its_meaning() -> None:
    rows = dict(
        re.findall(
            r"^\| `([A-Za-z]+)` \| (.+?) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert {kind: rows.get(kind) for kind in kinds.KINDS} == kinds.KINDS
