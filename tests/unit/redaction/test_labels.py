from __future__ import annotations

import json

import pytest

from kubewhy.core.redaction import MASK, redact

CANARY = "s3cr3t-Canary-9f1x"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password: CANARY", "password: M"),
        ("password:    CANARY", "password:    M"),
        ("  db.password: CANARY", "  db.password: M"),
        ('password: "CANARY and more"', 'password: "M"'),
        ("password: 'CANARY'", "password: 'M'"),
        ("password: CANARY and more", "password: M"),
        ("password=CANARY", "password=M"),
        ("Password = CANARY", "Password = M"),
        ("user=bob password=CANARY host=db", "user=bob password=M host=db"),
        ("user=bob,password=CANARY,host=db", "user=bob,password=M,host=db"),
        ("Server=db;Password=CANARY;User=bob", "Server=db;Password=M;User=bob"),
        ("password=CANARY,CANARY", "password=M"),
        ("/login?token=CANARY&next=1", "/login?token=M&next=1"),
        ('{"password":"CANARY","user":"bob"}', '{"password":"M","user":"bob"}'),
        ('{"password" : "CAN\\"ARY"}', '{"password" : "M"}'),
        ('{"clientSecret":"CANARY"}', '{"clientSecret":"M"}'),
        ('"{\\"password\\":\\"CANARY\\"}"', '"{\\"password\\":\\"M\\"}"'),
        ("{'password': 'CANARY'}", "{'password': 'M'}"),
        (':password => "CANARY"', ':password => "M"'),
        ("password := CANARY", "password := M"),
        ("{Password:CANARY User:bob}", "{Password:M User:bob}"),
        ("API_KEY=CANARY", "API_KEY=M"),
        ("api-key: CANARY", "api-key: M"),
        ("apiKey: CANARY", "apiKey: M"),
        ("AWS_SECRET_ACCESS_KEY=CANARY", "AWS_SECRET_ACCESS_KEY=M"),
        ("SENTRY_DSN=CANARY", "SENTRY_DSN=M"),
        ("sentryDsn: CANARY", "sentryDsn: M"),
        ("connectionString: Server=db;Pwd=CANARY", "connectionString: M"),
        ("DB_CREDENTIALS=CANARY", "DB_CREDENTIALS=M"),
        ("DB_PWD=CANARY", "DB_PWD=M"),
        ("PASSWORD_OLD=CANARY", "PASSWORD_OLD=M"),
        ("SECRET_KEY_BASE=CANARY", "SECRET_KEY_BASE=M"),
        ("--password=CANARY --v=2", "--password=M --v=2"),
        ("run --password CANARY --v 2", "run --password M --v 2"),
        ('["--db-password","CANARY","--v"]', '["--db-password","M","--v"]'),
        ("token: |\n  CANARY\n  CANARY\nnext: 1", "token: |\n  M\nnext: 1"),
        ('level=info msg="x" token=CANARY', 'level=info msg="x" token=M'),
        ('"pin_password": 12345678,', '"pin_password": "M",'),
        ("password: 12345678", "password: M"),
        ("login failed with password: CANARY", "login failed with password: M"),
    ],
)
def test_a_labelled_value_is_masked_and_its_label_stays(text: str, masked: str) -> None:
    found = redact(text.replace("CANARY", CANARY))

    assert found == masked.replace("M", MASK)
    assert redact(found) == found


@pytest.mark.parametrize(
    "text",
    [
        'FATAL: password authentication failed for user "app"',
        'secret "db" not found',
        'Error: secret "db" not found',
        "token expired",
        "couldn't find key DB_PASSWORD in Secret shop/db",
        "secretName: x",
        "SecretName:  db-tls",
        "secretKeyRef:\n  name: db\n  key: password",
        "secretRef: {name: db}",
        "tokenExpirationSeconds: 3607",
        "TokenExpirationSeconds:  3607",
        "expirationSeconds: 3607",
        "automountServiceAccountToken: false",
        "imagePullSecrets:\n- name: regcred",
        "Image pull secrets:  <none>",
        "Mountable secrets:   <none>",
        "Tokens:              default-token-x7x",
        "Access denied for user 'root'@'10.0.0.1' (using password: YES)",
        'MountVolume.SetUp failed for volume "api-token" : secret "api-token" not found',
        'volume "creds" : object "shop"/"db-secret" not registered',
        "failed to fetch oauth token: unexpected status from GET request to https://x: 403 Forbidden",
        'error getting token: Post "https://login.example/oauth2": dial tcp: i/o timeout',
        "invalid token: signature is invalid",
        "token: expired",
        "error: DB_PASSWORD: parameter not set",
        "sh: 1: DB_PASSWORD: unbound variable",
        "Secret: db-creds not found",
        "refused (password=***)",
        "perform: secretsmanager:GetSecretValue on arn:aws:secretsmanager:eu-west-1:1:secret:prod/db-AbCd",
        "ExpiredToken: The provided token has expired",
        "The security token included in the request is invalid",
        "secret: not found",
        'secrets "db" is forbidden: User "x" cannot get resource "secrets" in API group ""',
        "image: registry.example/vault-secret:1.2.3",
        "image: registry.example/token-service:v2.0.1-rc1",
        "dial tcp: lookup token-service:8080: no such host",
        "type: kubernetes.io/service-account-token",
        "type: kubernetes.io/dockerconfigjson",
        "PWD=/app",
        "PASSWORD_FILE=/run/secrets/db",
        "passwordSecretRef: db",
        "tokenUrl: https://login.example/token",
        "TOKEN_ISSUER=https://login.example",
        "max_tokens=4096",
        'usage: {"inputTokens": 1200, "outputTokens": 30}',
        "tokenreviews.authentication.k8s.io: forbidden",
        'f:data: {".": {}, "f:password": {}}',
        "password:  12 bytes",
        "password: ${DB_PASSWORD}",
        "--password=$(DB_PASSWORD)",
        "DB_PASSWORD=",
        'password: ""',
        "password: null",
        "if token == nil {",
        "secret:\n  secretName: db",
        "projected:\n  sources:\n  - serviceAccountToken:\n      path: token",
        "kubectl create secret generic db --from-file=x",
        'Warning  FailedMount  kubelet  MountVolume.SetUp failed for volume "tls" : secret "web-tls" not found',
        "NAME   TYPE     DATA   AGE\ndb     Opaque   2      4d",
        "key: password",
        "https://registry.example/v2/token?service=x&scope=pull",
        "http://user@host/path",
        "2026-01-01T00:00:00Z ERROR 10:20:30 host:8080 failed",
        "bearer token authentication failed",
        "Authorization: header is missing",
    ],
)
def test_what_explains_a_failure_survives(text: str) -> None:
    assert redact(text) == text


def test_arguments_of_a_call_stay_valid_json() -> None:
    values = {
        "query": 'x{password="a b"} token=abc\\"d',
        "nested": json.dumps({"token": 5, "password": 'a"b\\', "secret": {"x": [1]}}),
        "lines": "password: p q\nuser: bob\n",
        "token": 12345678,
        "apiKey": None,
        "tail": "password=abc\\",
    }
    masked = json.loads(redact(json.dumps(values)))

    assert set(masked) == set(values)
    assert json.loads(masked["nested"])["secret"] == {"x": [1]}
    assert masked["apiKey"] is None
    assert "p q" not in masked["lines"]
