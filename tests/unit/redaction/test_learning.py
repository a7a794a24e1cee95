from __future__ import annotations

import base64
import json
import urllib.parse

import pytest

from kubewhy.core.redaction import MASK, redact

CANARY = "s3cr3t/Canary+9f1x"


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SOURCES = {
    "secret": f"kind: Secret\ndata:\n  x: {_b64(CANARY)}\n---\n",
    "secret in JSON": json.dumps({"data": {"x": _b64(CANARY)}, "kind": "Secret"}) + "\n",
    "environment": f"- name: DB_PASSWORD\n  value: {CANARY}\n",
    "label": f"password: {CANARY}\n",
    "address": f"postgres://bob:{urllib.parse.quote(CANARY, safe='')}@db/x\npassword={CANARY}\n",
}

ELSEWHERE = {
    "plain": CANARY,
    "inside a word": f"xx{CANARY}yy",
    "base64": _b64(CANARY),
    "base64 of more": _b64(f"user:{CANARY}"),
    "base64 of a line": _b64(f"{CANARY}\n"),
    "url": urllib.parse.quote(CANARY, safe=""),
    "form": urllib.parse.quote_plus(CANARY),
}


@pytest.mark.parametrize("source", list(SOURCES))
@pytest.mark.parametrize("elsewhere", list(ELSEWHERE))
@pytest.mark.parametrize("first", [True, False])
def test_a_learned_value_is_masked_where_nothing_labels_it(
    source: str, elsewhere: str, first: bool
) -> None:
    line = f"it said {ELSEWHERE[elsewhere]} here\n"
    text = SOURCES[source] + line if first else line + SOURCES[source]

    masked = redact(text)

    assert ELSEWHERE[elsewhere] not in masked
    assert CANARY not in masked
    assert "it said " in masked
    assert redact(masked) == masked


def test_lines_of_a_secret_file_are_learned() -> None:
    file = f"[client]\nuser = bob\npassword = {CANARY}\n"
    text = f"kind: Secret\ndata:\n  my.cnf: {_b64(file)}\n---\nlog: tried {CANARY}\n"

    assert CANARY not in redact(text)


@pytest.mark.parametrize("word", ["postgres", "admin", "true", "5432", "ab", "changeme", "db"])
def test_ordinary_words_are_masked_under_their_label_only(word: str) -> None:
    text = f"password: {word}\nimage: x/{word}:15\n"

    masked = redact(text)

    assert f"image: x/{word}:15" in masked


def test_a_host_name_in_a_secret_does_not_hide_the_host_elsewhere() -> None:
    host = "db.shop.svc.cluster.local"
    text = f"kind: Secret\nstringData:\n  host: {host}\n---\nlog: lookup {host}: no such host\n"

    masked = redact(text)

    assert f"  host: {MASK}\n" in masked
    assert f"lookup {host}: no such host" in masked


@pytest.mark.parametrize("form", [str, _b64, lambda text: urllib.parse.quote(text, safe="")])
def test_known_values_are_removed_in_every_form(form: object) -> None:
    assert callable(form)
    shown = str(form(CANARY))

    masked = redact(f"a {shown} b {shown}{shown}", known=[CANARY])

    assert masked == f"a {MASK} b {MASK}"


@pytest.mark.parametrize("known", ["", "a", "abc", "RED", "REDACTED", MASK])
def test_known_values_that_would_hit_anything_are_passed_over(known: str) -> None:
    assert redact(f"a abc b {MASK}", known=[known]) == f"a abc b {MASK}"


def test_a_value_that_begins_inside_an_escape_leaves_valid_json() -> None:
    text = json.dumps({"password": "newline42", "log": "x\newline42"})

    json.loads(redact(text))
