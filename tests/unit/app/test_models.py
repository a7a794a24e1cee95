"""The catalogue from a real file; the triage model is a scripted one, LiteLLM is never loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from kubewhy import errors, testing
from kubewhy.adapters.litellm_model import keys, runtime
from kubewhy.app import models
from kubewhy.core import model_list, ports

LIST = """
models:
- {name: default, provider: triage}
- {name: hosted, provider: litellm, model: openai/x, key: {env: MODEL_KEY}, contextTokens: 5000, fallbacks: [spare]}
- {name: spare, provider: litellm, model: openai/y, contextTokens: 3000}
"""


def triage(name: str) -> ports.Model:
    return testing.ScriptedModel([], name=name)


def load(tmp_path: Path, text: str = LIST) -> models.Catalogue:
    file = tmp_path / "models.yaml"
    file.write_text(text, encoding="utf-8")
    return models.load(str(file), {"MODEL_KEY": "sk-CANARY"}, triage_factory=triage)


def test_without_a_file_the_built_in_model_is_all() -> None:
    catalogue = models.load("", {}, triage_factory=triage)
    assert catalogue.names == ("default", "triage")
    assert catalogue.find("default").name == "default"
    assert catalogue.keys == ()


def test_a_model_is_made_once(tmp_path: Path) -> None:
    catalogue = load(tmp_path)
    assert catalogue.find("default") is catalogue.find("default")
    assert catalogue.find("triage").name == "triage"


def test_an_unknown_model_is_an_error_with_the_known_names(tmp_path: Path) -> None:
    with pytest.raises(
        errors.ConfigError, match="known models are: default, hosted, spare, triage"
    ):
        load(tmp_path).find("gpt")


def test_a_litellm_entry_is_built_with_its_fallbacks() -> None:
    listed = model_list.read(LIST, source="models.yaml")
    shared = models.LiteLLM(runtime=runtime.Runtime(), keyring=keys.KeyRing({}))
    entry = listed.get("hosted")
    assert isinstance(entry, model_list.LiteLLMEntry)
    built = models.build(entry, triage, shared, fallbacks=listed.fallbacks(entry))
    assert (built.name, built.context_tokens) == ("hosted", 3000)
    assert not shared.runtime.started


@pytest.mark.parametrize("content", [b"\xff\xfe", b"models: 5", b"#" * 300_000])
def test_an_unusable_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "models.yaml"
    file.write_bytes(content)
    with pytest.raises(errors.ConfigError, match=str(file)):
        models.read(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match=r"absent.yaml can't be read: No such file"):
        models.read(tmp_path / "absent.yaml")


def test_no_module_of_the_package_imports_litellm() -> None:
    """LiteLLM costs 3 s and 190 MiB: only a model request may load it."""
    code = """
import importlib, pkgutil, sys, kubewhy
for found in pkgutil.walk_packages(kubewhy.__path__, "kubewhy."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
assert "kubewhy.adapters.litellm_model.model" in sys.modules
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("litellm", "openai")))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stderr
