from __future__ import annotations

import base64
import string

import pytest

from kubewhy.core.redaction import MASK, redact

ALNUM = (string.ascii_letters + string.digits) * 2
KEY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB"] * 5)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SHAPES = {
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "aws session": "ASIAIOSFODNN7EXAMPLE",
    "github": f"ghp_{ALNUM[:36]}",
    "github fine": f"github_pat_{ALNUM[:60]}",
    "gitlab": f"glpat-{ALNUM[:20]}",
    "slack": f"xoxb-1234567890-{ALNUM[:20]}",
    "google": f"AIza{ALNUM[:35]}",
    "stripe": f"sk_live_{ALNUM[:24]}",
    "openai": f"sk-{ALNUM[:48]}",
    "openai project": f"sk-proj-{ALNUM[:40]}_x",
    "anthropic": f"sk-ant-api03-{ALNUM[:40]}",
    "vault": f"hvs.{ALNUM[:24]}",
    "jwt": JWT,
    "pem": PEM,
    "pem in json": PEM.replace("\n", "\\n"),
    "pem in base64": base64.b64encode(PEM.encode()).decode(),
}


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize("around", ["{}", "x {} y", '"{}"', "a\\n{}", "(key={})", "<{}>", "k:{},z"])
def test_known_shapes_are_masked_wherever_they_stand(name: str, around: str) -> None:
    value = SHAPES[name]

    masked = redact(around.format(value))

    assert MASK in masked
    for piece in (value, value[8:], value[:-8]):
        assert piece not in masked
    assert redact(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "disk-pressure-on-node-with-a-long-name-of-letters",
        "task-7f9c8b6d5f4e3a2b1c0d",
        "sk-learn-model-server-7d9f8b6c5d-x2x4z",
        "pods/xoxo-7d9f8b6c5d",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "eyJ is how JSON begins in Base64",
        "image: a/b@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://host:8080/path?user=a@b.example",
        "postgres://db.shop.svc:5432/orders",
        "uid: 3f2b8c1e-7a6d-4e5f-9b0a-1c2d3e4f5a6b",
        'resourceVersion: "123456789012"',
        "AKIA is a prefix",
    ],
)
def test_other_long_words_survive(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgres://bob:pw1@db:5432/x", "postgres://bob:M@db:5432/x"),
        ("redis://:pw1@cache", "redis://:M@cache"),
        ("amqp://a:p@ss@mq/", "amqp://a:M@mq/"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer M"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic M"),
        ('{"Authorization":"Bearer abc"}', '{"Authorization":"Bearer M"}'),
        ("Authorization: 0123456789abcdef0", "Authorization: M"),
        (
            "curl -H 'Authorization: Token abc' http://x",
            "curl -H 'Authorization: Token M' http://x",
        ),
        ("Set-Cookie: sid=abc123; Path=/", "Set-Cookie: M"),
        ("X-Api-Key: abc", "X-Api-Key: M"),
        ("sent Bearer a1b2c3d4e5 to it", "sent Bearer M to it"),
        (f"AccountName=a;AccountKey={ALNUM[:40]}==;X=y", "AccountName=a;AccountKey=M;X=y"),
        ("https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/services/M"),
    ],
)
def test_headers_and_addresses_keep_all_but_the_credential(text: str, masked: str) -> None:
    assert redact(text) == masked.replace("M", MASK)


def test_a_key_without_its_end_is_masked_and_the_text_after_it_is_not() -> None:
    text = f"{PEM.partition('-----END')[0]}next line says why\n"

    assert redact(text) == f"{MASK}\nnext line says why\n"


def test_a_key_without_its_beginning_is_masked_and_the_text_before_it_is_not() -> None:
    text = f"it says why\n{PEM.partition('KEY-----')[2].lstrip()}\nnext"

    assert redact(text) == f"it says why\n{MASK}\nnext"


def test_two_keys_leave_the_text_between_them() -> None:
    assert redact(f"a\n{PEM}\nb\n{PEM}\nc") == f"a\n{MASK}\nb\n{MASK}\nc"
