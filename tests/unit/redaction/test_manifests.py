from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
import yaml

from kubewhy.core.redaction import MASK, redact

CANARY = "s3cr3t-Canary-9f1x"
ENCODED = base64.b64encode(CANARY.encode()).decode()


def _secret(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "data": {"db-url": ENCODED, "short": "YQ=="},
        "kind": "Secret",
        "metadata": {"name": "db", "namespace": "shop", "labels": {"app": "web"}},
        "type": "Opaque",
        **more,
    }


CONFIG = {
    "apiVersion": "v1",
    "data": {"mode": "fast", "level": "debug"},
    "kind": "ConfigMap",
    "metadata": {"name": "web"},
}


def _applied(secret: dict[str, Any]) -> dict[str, Any]:
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(secret) + "\n"}
    return {**secret, "metadata": {**secret["metadata"], "annotations": annotation}}


OBJECTS = {
    "alone": _secret(),
    "stringData": {**_secret(data={}), "stringData": {"db-url": CANARY, "short": "a"}},
    "list": {"apiVersion": "v1", "items": [CONFIG, _secret(), CONFIG], "kind": "List"},
    "secret list": {"apiVersion": "v1", "items": [{"data": {"x": ENCODED}}], "kind": "SecretList"},
    "applied": _applied(_secret()),
    "applied in a list": {"items": [CONFIG, _applied(_secret())], "kind": "List"},
    "applied twice": _applied(_applied(_secret())),
    "kind first": {"kind": "Secret", "metadata": {"name": "x"}, "data": {"x": ENCODED}},
    "deep": {"a": {"b": [{"c": _secret()}]}},
}


@pytest.mark.parametrize("name", list(OBJECTS))
@pytest.mark.parametrize("form", ["yaml", "pretty", "compact", "documents", "quoted"])
def test_no_value_of_a_secret_is_left_in_any_form(name: str, form: str) -> None:
    value = OBJECTS[name]
    text = {
        "yaml": yaml.safe_dump(value, width=10_000),
        "pretty": json.dumps(value, indent=4),
        "compact": json.dumps(value, separators=(",", ":")),
        "documents": f"{yaml.safe_dump(CONFIG)}---\n{yaml.safe_dump(value)}---\n{yaml.safe_dump(CONFIG)}",
        "quoted": json.dumps({"output": json.dumps(value)}),
    }[form]
    assert CANARY in text or ENCODED in text

    masked = redact(text)

    assert CANARY not in masked
    assert ENCODED not in masked
    assert redact(masked) == masked
    if form in {"pretty", "compact", "quoted"}:
        json.loads(masked)
    else:
        list(yaml.safe_load_all(masked.replace(MASK, "masked")))


@pytest.mark.parametrize("form", ["yaml", "pretty", "compact"])
def test_names_of_keys_and_other_objects_survive(form: str) -> None:
    value = {"apiVersion": "v1", "items": [CONFIG, _secret(), CONFIG], "kind": "List"}
    text = (
        yaml.safe_dump(value)
        if form == "yaml"
        else json.dumps(value, indent=2 if form == "pretty" else None)
    )

    masked = redact(text)
    read = yaml.safe_load(masked.replace(MASK, "masked"))

    assert read["items"][0] == read["items"][2] == CONFIG
    assert read["items"][1]["data"] == {"db-url": "masked", "short": "masked"}
    assert read["items"][1]["metadata"] == _secret()["metadata"]


def test_a_block_of_text_in_a_secret_is_masked_as_one() -> None:
    text = f"""\
apiVersion: v1
kind: Secret
metadata:
  name: web
stringData:
  app.properties: |
    host=db

    db.pass={CANARY}
  # a remark
  other: >-
    folded
    text
type: Opaque
"""
    assert (
        redact(text)
        == f"""\
apiVersion: v1
kind: Secret
metadata:
  name: web
stringData:
  app.properties: {MASK}
  # a remark
  other: {MASK}
type: Opaque
"""
    )


def test_a_secret_cut_off_in_the_middle_is_masked_to_its_end() -> None:
    compact = json.dumps(_secret(), separators=(",", ":"))
    cut = compact[: compact.index(ENCODED) + 8]

    assert ENCODED[:8] not in redact(
        f'{{"kind":"Secret"}} {cut}'.replace('{"kind":"Secret"} {', '{"kind":"Secret",')
    )


@pytest.mark.parametrize(
    "text",
    [
        "- name: DB_PASSWORD\n  value: CANARY\n",
        "    - name: DB_PASSWORD\n      value: 'CANARY'\n",
        "- name: DB_PASSWORD\n  value: |-\n    CANARY\n    CANARY\n- name: X\n",
        "- value: CANARY\n  name: DB_PASSWORD\n",
        '{"name":"API_TOKEN","value":"CANARY"}',
        '{"name": "API_TOKEN",\n "value": "CANARY"}',
        '{"value":"CANARY","name":"API_TOKEN"}',
        '"{\\"env\\":[{\\"name\\":\\"API_TOKEN\\",\\"value\\":\\"CANARY\\"}]}"',
        "      DB_PASSWORD:      CANARY\n",
        "DB_PASSWORD=CANARY\n",
        "export DB_PASSWORD=CANARY\n",
        "DB_PASSWORD=CANARY with blanks CANARY\n",
    ],
)
def test_values_in_environments_are_masked(text: str) -> None:
    masked = redact(text.replace("CANARY", CANARY))

    assert CANARY not in masked
    assert MASK in masked
    assert "DB_PASSWORD" in masked or "API_TOKEN" in masked


@pytest.mark.parametrize(
    "text",
    [
        "- name: LOG_LEVEL\n  value: debug\n",
        '{"name":"LOG_LEVEL","value":"debug"}',
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password\n",
        '{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"key":"password","name":"db"}}}',
        "- name: PASSWORD_FILE\n  value: /run/secrets/password\n",
        "      DB_PASSWORD:  <set to the key 'password' in secret 'db'>  Optional: false\n",
        "- name: DB_PASSWORD\n",
        "- name: A_TOKEN\n- name: B\n  value: plain\n",
    ],
)
def test_references_and_plain_entries_survive(text: str) -> None:
    assert redact(text) == text


def test_a_kubeconfig_keeps_its_servers_and_loses_its_users() -> None:
    text = f"""\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
    server: https://10.0.0.1:6443
  name: prod
kind: Config
users:
- name: admin
  user:
    client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
    client-key-data: {ENCODED}
    password: {CANARY}
    token: {CANARY}
    username: admin
"""
    masked = redact(text)

    assert CANARY not in masked
    assert ENCODED not in masked
    assert "server: https://10.0.0.1:6443" in masked
    assert "username: admin" in masked
    assert masked.count("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t") == 2


def test_registry_credentials_are_masked() -> None:
    auth = base64.b64encode(f"bob:{CANARY}".encode()).decode()
    config = json.dumps(
        {"auths": {"registry.example": {"auth": auth, "username": "bob", "password": CANARY}}}
    )

    for text in (
        config,
        json.dumps(config),
        f".dockerconfigjson: {base64.b64encode(config.encode()).decode()}",
    ):
        masked = redact(text)
        assert auth not in masked
        assert CANARY not in masked
        assert base64.b64encode(config.encode()).decode() not in masked


def test_a_helm_release_is_masked_where_no_kind_says_what_it_is() -> None:
    release = gzip.compress(
        json.dumps({"config": {"x": CANARY * 20}, "pad": list(range(300))}).encode()
    )
    once = base64.b64encode(release).decode()

    for blob in (once, base64.b64encode(once.encode()).decode()):
        assert blob not in redact(f"release: {blob} end")
        assert redact(f"release: {blob} end").endswith(" end")
