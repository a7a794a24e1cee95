"""Settings from environment variables: what is read, and what is refused in words that name the variable."""

from __future__ import annotations

import dataclasses
import socket

import pytest

from kubewhy import errors
from kubewhy.adapters.kube import config
from kubewhy.app import settings

FIELDS = {field.name: field for field in dataclasses.fields(settings.Settings)}


def variable(field: str) -> str:
    return settings.PREFIX + field.upper()


def test_without_variables_the_defaults_hold() -> None:
    assert settings.load({}) == settings.Settings(holder=socket.gethostname())


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_read_from_its_variable_in_its_type(field: str) -> None:
    default = FIELDS[field].default
    text, value = {
        int: ("77", 77),
        str: ("some text", "some text"),
        tuple: (" a, b ,,c ", ("a", "b", "c")),
    }[type(default)]
    long_lease = {"KUBEWHY_LEASE_SECONDS": "99"}
    assert getattr(settings.load(long_lease | {variable(field): text}), field) == value


def test_a_lease_that_runs_out_before_it_is_renewed_is_refused() -> None:
    with pytest.raises(errors.ConfigError, match="KUBEWHY_RENEW_SECONDS=15 must be less"):
        settings.load({"KUBEWHY_RENEW_SECONDS": "15"})


@pytest.mark.parametrize("field", [name for name in FIELDS if type(FIELDS[name].default) is int])
@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "5s", "1000000", "x" * 500])
def test_a_number_that_is_none_is_refused_by_name(field: str, text: str) -> None:
    with pytest.raises(errors.ConfigError, match=f"^{variable(field)}=") as refused:
        settings.load({variable(field): text})
    assert len(str(refused.value)) < 200


def test_an_empty_list_is_empty() -> None:
    assert settings.load({"KUBEWHY_ALLOWED_ACCOUNTS": " , "}).allowed_accounts == ()


@pytest.mark.parametrize(
    ("environment", "holder"),
    [
        ({"KUBEWHY_HOLDER": "mine", "POD_NAME": "pod"}, "mine"),
        ({"POD_NAME": "kubewhy-operator-7d9"}, "kubewhy-operator-7d9"),
        ({"KUBEWHY_HOLDER": "", "POD_NAME": ""}, socket.gethostname()),
    ],
)
def test_a_replica_is_called_as_its_pod(environment: dict[str, str], holder: str) -> None:
    assert settings.load(environment).holder == holder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("0.0.0.0:8081", ("0.0.0.0", 8081)),  # noqa: S104 - text only
        ("[::1]:80", ("::1", 80)),
        ("name.example:65535", ("name.example", 65535)),
    ],
)
def test_addresses(text: str, found: tuple[str, int]) -> None:
    assert settings.address(text) == found


@pytest.mark.parametrize("text", ["", "host", ":80", "host:", "host:65536", "host:-1", "host:http"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(errors.ConfigError, match="write host:port"):
        settings.address(text)


def test_an_api_server_is_named_explicitly_or_not_at_all() -> None:
    assert settings.load({"KUBEWHY_API_TOKEN_FILE": "/t"}).access is None
    named = settings.load(
        {
            "KUBEWHY_API_SERVER": "https://10.0.0.1",
            "KUBEWHY_API_CA_FILE": "/ca",
            "KUBEWHY_API_TOKEN_FILE": "/t",
        }
    )
    assert named.access == config.Explicit(
        server="https://10.0.0.1", ca_file="/ca", token_file="/t"
    )


def test_variables_of_others_are_left_alone() -> None:
    loaded = settings.load(
        {"KUBEWHY_WEBHOOK_TOKEN": "x", "CONCURRENT": "9", "kubewhy_cluster": "x"}
    )
    assert loaded == settings.Settings(holder=socket.gethostname())
