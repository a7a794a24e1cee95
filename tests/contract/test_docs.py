"""What the pages promise to list is all there, and what they point at exists."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import repository
from kubewhy.api import values
from kubewhy.app import metrics, settings
from kubewhy.app.webhook import metrics as webhook_metrics

ROOT = repository.ROOT
PACKAGE = ROOT / "operator" / "kubewhy"
PAGES = [path for path in repository.files() if path.suffix == ".md"]
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _links(page: Path) -> list[Path]:
    text = _CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return [(ROOT / page).parent.joinpath(link).resolve() for link in _LINK.findall(text)]


def _rows(text: str) -> list[list[str]]:
    """The cells of all table rows that begin with code."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_to_a_file(page: Path) -> None:
    missing = [str(target) for target in _links(page) if not target.exists()]
    assert not missing


@pytest.mark.parametrize(
    ("index", "folder"), [("docs/README.md", "docs"), ("docs/adr/README.md", "docs/adr")]
)
def test_every_page_is_linked_from_its_index(index: str, folder: str) -> None:
    adr = Path("docs/adr")
    pages = {
        (ROOT / page).resolve()
        for page in PAGES
        if page.is_relative_to(folder)
        and page != Path(index)
        and (folder != "docs" or not page.is_relative_to(adr) or page == adr / "README.md")
    }
    assert len(pages) >= 5
    assert pages <= set(_links(Path(index)))


def test_records_are_numbered_without_a_gap() -> None:
    numbers = sorted(path.name[:4] for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


# --- configuration.md -------------------------------------------------------------------------------------------------


def _settings() -> dict[str, object]:
    return {
        settings.PREFIX + field.name.upper(): field.default
        for field in dataclasses.fields(settings.Settings)
    }


def _webhook_variables() -> set[str]:
    text = (PACKAGE / "app" / "webhook_environment.py").read_text(encoding="utf-8")
    return {f"KUBEWHY_WEBHOOK_{name}" for name in re.findall(r'\bvalue\("([A-Z_]+)"', text)}


def _variables(paths: Iterable[Path]) -> set[str]:
    """All variables of ours that these files name in quotes."""
    found: set[str] = set()
    for path in paths:
        found |= set(re.findall(r'"(KUBEWHY_[A-Z_]*[A-Z])"', path.read_text(encoding="utf-8")))
    return found


def test_every_variable_is_listed_and_no_other() -> None:
    local = (ROOT / "deploy" / "local" / "localcluster").glob("*.py")
    incidents = [ROOT / "tests" / "incidents" / "conftest.py"]
    internal = {"KUBEWHY_CALL", "KUBEWHY_LOCAL_CLUSTER"}  # marks of processes, set by us only
    expected = set(_settings()) | _webhook_variables()
    expected |= _variables([*PACKAGE.rglob("*.py"), *local, *incidents]) - internal
    listed = [row[0].strip("`") for row in _rows(_page("configuration.md"))]
    assert sorted(listed) == sorted(expected)


@pytest.mark.parametrize("variable", _settings())
def test_the_listed_default_is_the_real_one(variable: str) -> None:
    default = _settings()[variable]
    (row,) = [row for row in _rows(_page("configuration.md")) if row[0] == f"`{variable}`"]
    if default not in ("", ()):
        assert row[1] == f"`{default}`"
    else:
        assert not row[1].startswith("`KUBEWHY") or variable == "KUBEWHY_HOLDER"
    assert row[2]


def test_the_webhooks_variables_are_found() -> None:
    """A negative control of the search above."""
    assert {"KUBEWHY_WEBHOOK_TOKEN", "KUBEWHY_WEBHOOK_TLS_KEY"} <= _webhook_variables()
    assert "KUBEWHY_CRASHPOINT" in _variables(PACKAGE.rglob("*.py"))


# --- metrics.md -------------------------------------------------------------------------------------------------------


def _series() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Type and labels of all series of ours, by the name that Prometheus shows."""
    found = {}
    for measured in (metrics.Metrics(), webhook_metrics.Metrics()):
        for collector in set(measured.registry._collector_to_names):
            labels = tuple(getattr(collector, "_labelnames", ()))
            for family in collector.collect():
                name = family.name + ("_total" if family.type == "counter" else "")
                if name.startswith("kubewhy_"):
                    found[name] = (family.type, labels)
    return found


def test_every_series_is_listed_with_type_and_labels_and_no_other() -> None:
    listed = {
        row[0].strip("`"): (row[1], tuple(re.findall(r"`(\w+)`", row[2])))
        for row in _rows(_page("metrics.md"))
    }
    assert listed == _series()


def test_series_named_in_advice_exist() -> None:
    named = set(re.findall(r"kubewhy_\w+", _page("metrics.md").partition("## Worth an alert")[2]))
    assert named
    assert named <= set(_series())


# --- architecture.md, concepts.md -------------------------------------------------------------------------------------


def test_every_file_that_the_architecture_names_exists() -> None:
    text = _page("architecture.md")
    named = set(
        re.findall(r"`((?:app|engine|core|adapters|api|toolsets|tests|prompts)/[\w./-]*)`", text)
    )
    assert len(named) > 30
    missing = [
        name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()
    ]
    assert not missing


@pytest.mark.parametrize(
    "module", sorted(path.name for path in (PACKAGE / "engine").glob("[!_]*.py"))
)
def test_every_module_of_the_engine_has_its_place(module: str) -> None:
    assert f"engine/{module}" in _page("architecture.md")


def test_every_layer_is_described() -> None:
    layers = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()} - {
        "__init__", "__main__", "__pycache__", "_data", "prompts", "py.typed",
    }  # fmt: skip
    described = set(
        re.findall(r"`(\w+)`", " ".join(row[0] for row in _rows(_page("architecture.md"))))
    )
    assert layers <= described


def test_every_crash_point_is_listed_and_no_other() -> None:
    found: set[str] = set()
    for path in (PACKAGE / "engine").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'crashpoints\.passing\("([\w-]+)"\)', text))
        found |= set(re.findall(r'events\.\w+: "([\w-]+)"', text))
    section = _page("architecture.md").partition("## Crash points")[2].partition("\n## ")[0]
    assert {row[0].strip("`") for row in _rows(section)} == found


def test_every_outcome_of_a_call_is_explained() -> None:
    named = {name for row in _rows(_page("concepts.md")) for name in re.findall(r"`(\w+)`", row[0])}
    assert named == {status.value for status in values.ToolStatus}
