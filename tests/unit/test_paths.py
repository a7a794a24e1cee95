"""Data files are found in a wheel and in a checkout, and their absence is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewhy import paths

_ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_has_its_data_at_the_root() -> None:
    assert paths.data_dir("crds") == _ROOT / "crds"
    assert paths.data_dir("toolsets") == _ROOT / "toolsets"


def test_packed_data_come_first(tmp_path: Path) -> None:
    package = tmp_path / "operator" / "kubewhy"
    (tmp_path / "toolsets").mkdir()
    (package / "_data" / "toolsets").mkdir(parents=True)
    assert paths.data_dir("toolsets", package=package) == package / "_data" / "toolsets"


def test_a_missing_folder_is_named_with_both_places(tmp_path: Path) -> None:
    package = tmp_path / "operator" / "kubewhy"
    with pytest.raises(FileNotFoundError) as caught:
        paths.data_dir("toolsets", package=package)
    assert str(package / "_data" / "toolsets") in str(caught.value)
    assert str(tmp_path / "toolsets") in str(caught.value)
