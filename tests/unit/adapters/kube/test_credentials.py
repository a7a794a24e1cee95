from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.aio.config import incluster_config

from kubewhy import errors
from kubewhy.adapters.kube import client, config, credentials

CANARY = "CANARY-token-1"


def kubeconfig(folder: Path, user: dict[str, Any], **cluster: Any) -> str:
    path = folder / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "d", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://one.invalid:6443", **cluster}},
            {"name": "d", "cluster": {"server": "https://two.invalid:6443"}},
        ],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


def test_the_choice_prefers_the_argument_then_kubeconfig_then_the_pod() -> None:
    environment = {"KUBECONFIG": "/b", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert config.choose(environment, kubeconfig="/a", context="x") == config.Kubeconfig(
        path="/a", context="x"
    )
    assert config.choose(environment) == config.Kubeconfig(path="/b")
    assert config.choose({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) == config.InCluster()


def test_nothing_is_guessed_from_the_home_folder() -> None:
    with pytest.raises(errors.ConfigError, match="set KUBECONFIG"):
        config.choose({"HOME": "/root"})


async def test_a_kubeconfig_gives_server_and_token_of_its_context(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": CANARY})
    loaded = await credentials.load(config.Kubeconfig(path=path))
    assert loaded.configuration.host == "https://one.invalid:6443"
    assert loaded.configuration.api_key == {"BearerToken": f"Bearer {CANARY}"}
    other = await credentials.load(config.Kubeconfig(path=path, context="two"))
    assert other.configuration.host == "https://two.invalid:6443"


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


async def test_a_token_file_of_a_kubeconfig_is_stripped_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    path = kubeconfig(tmp_path, {"tokenFile": "token"})
    loaded = await credentials.load(config.Kubeconfig(path=path))
    assert loaded.configuration.api_key["BearerToken"] == "Bearer one"
    (tmp_path / "token").write_text("two\n")
    await loaded.reload()
    assert loaded.configuration.api_key["BearerToken"] == "Bearer two"
    write(tmp_path, "config", "")
    await loaded.reload()
    assert loaded.configuration.api_key["BearerToken"] == "Bearer two"


@pytest.mark.parametrize(
    ("user", "cluster", "context"),
    [
        ({"token": CANARY}, {}, "missing"),
        ({"token": CANARY, "client-certificate": "gone.pem"}, {}, ""),
        ({"token": CANARY}, {"certificate-authority": "gone.pem"}, ""),
        ({"token": CANARY}, {"certificate-authority-data": "no base64!"}, ""),
        ({"token": CANARY}, {"server": 7}, ""),
    ],
)
async def test_an_unusable_kubeconfig_is_named_without_its_content(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], context: str
) -> None:
    path = kubeconfig(tmp_path, user, **cluster)
    with pytest.raises(errors.ConfigError) as caught:
        await client.connect(config.Kubeconfig(path=path, context=context))
    assert path in str(caught.value)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("text", ["a: [", "", "- 1\n", "just text", "a: 1", "users: 5\n"])
async def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(errors.ConfigError, match="can't be used"):
        await credentials.load(config.Kubeconfig(path=str(path)))


async def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="nothing-here does not exist"):
        await credentials.load(config.Kubeconfig(path=str(tmp_path / "nothing-here")))


async def test_in_a_pod_the_mounted_files_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(errors.ConfigError, match="service account"):
        await credentials.load(config.InCluster())
    (tmp_path / "token").write_text("pod-token\n")
    (tmp_path / "ca.crt").write_text("certificate")
    loaded = await credentials.load(config.InCluster())
    assert loaded.configuration.host == "https://[fd00::1]:443"
    assert loaded.configuration.api_key == {"BearerToken": "Bearer pod-token"}


async def test_explicit_files_that_are_missing_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    with pytest.raises(errors.ConfigError, match="token file"):
        await credentials.load(config.Explicit(server="https://a", token_file=missing))
    with pytest.raises(errors.ConfigError, match="CA file"):
        await credentials.load(config.Explicit(server="https://a", ca_file=missing))


async def test_a_ca_file_that_is_none_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text(base64.b64encode(b"no certificate").decode())
    with pytest.raises(errors.ConfigError, match="TLS files"):
        await client.connect(config.Explicit(server="https://a", ca_file=str(tmp_path / "ca")))


def test_no_access_value_holds_a_secret() -> None:
    fields = set(config.Explicit.__dataclass_fields__) | set(config.Kubeconfig.__dataclass_fields__)
    assert fields == {"server", "ca_file", "token_file", "path", "context"}
