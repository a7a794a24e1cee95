from __future__ import annotations

import json
import random
import string
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewhy.core.redaction import MASK, redact

MEGABYTE = 1_000_000

_PIECES = [
    "password", "token", "secret", "=", ":", ": ", " : ", '"', "'", "\\", '\\"', ",", ";", "&", "{", "}", "[", "]",
    "\n", "\n  ", "  ", "- ", "name: ", "value: ", "kind: Secret", "data:", "stringData:", "|", "hunter22x", "expired",
    MASK, "://", "@", "eyJhbGciOiJI.eyJzdWIiOiIx.abc", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
    "AKIAIOSFODNN7EXAMPLE", "Authorization: Bearer ", '"kind":"Secret"', '"data":{', "aGVsbG8td29ybGQ=", "--", "A_",
    "YWJj", "ünï", "0", "x",
]  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join) | st.text(max_size=200)


@given(_TEXTS)
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.text() | st.sampled_from(["password", "token", "kind", "data", "a_secret"]),
                inner,
            )
        ),
    ),
    st.sampled_from([None, 2]),
)
def test_json_stays_json_with_the_same_names(value: Any, indent: int | None) -> None:
    masked = json.loads(redact(json.dumps(value, indent=indent)))

    assert isinstance(masked, (type(value), str))
    if isinstance(value, dict):
        assert len(masked) == len(value)


@given(
    st.text(string.ascii_letters + string.digits, min_size=6, max_size=40).map("x7{}".format),
    st.sampled_from(
        [
            "password: {}\n", 'password: "{}"\n', "DB_PASSWORD={}\n", '{{"apiKey":"{}"}}',
            "- name: A_TOKEN\n  value: {}\n",
            "kind: Secret\nstringData:\n  x: {}\n", "x://u:{}@h ", "--token {} ", "Authorization: Bearer {}\n",
        ]
    ),
    st.sampled_from(["", "log {} end", "{}", '"{}"', "https://h/?a={}&b", "a{}b\n"]),
)  # fmt: skip
def test_a_canary_never_survives(canary: str, labelled: str, elsewhere: str) -> None:
    text = labelled.format(canary) + "\n" + elsewhere.format(canary)

    assert canary not in redact(text)


def _repeated(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


def _numbered(form: str, size: int) -> str:
    return "".join(form % number for number in range(size // len(form % 10**6)))


_RANDOM = random.Random(7)
WORST = {
    piece: lambda size, piece=piece: _repeated(piece, size)
    for piece in [
        "a", "\n", " ", "p", "password=", "password: ", "token", "token=a\n", "pwd=a ", "token: a b\n", "tokentoken=",
        "eyJ", "eyJ.", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n", "://a:", "://a:b@c ", ":", "AKIA",
        "kind: Secret\n", "kind: Secret\ndata:\n  a: b\n", '{"data":{"a":"b"},"kind":"Secret"},', "\\", '"', '\\"',
        'token\\\\\\=', "- name: A_TOKEN\n  value: x\n", '{"name":"A_TOKEN","value":"x"},', "a: |\n", "token: |\n a\n",
        MASK, "--token a ", "--", "authorization: ", "Authorization: Bearer a\n", "cookie: a=", "x-api-key: a ", "sk-",
        '"token": 1,', "İtoken: a\n", "A" * 64 + "\n",
    ]
} | {
    "data": lambda size: "kind: Secret\n" + _repeated("data:\n", size),
    "entries": lambda size: "kind: Secret\ndata:\n" + _repeated("  a: b\n", size),
    "garbage": lambda size: "kind: Secret\ndata:\n" + _repeated("  a\n", size),
    "steps": lambda size: "".join(
        f"{' ' * n}kind: Secret\n{' ' * n}data:\n" for n in range(int(size**0.5))
    ),
    "blocks": lambda size: "".join(f"{' ' * n}token: |\n" for n in range(int((2 * size) ** 0.5))),
    "pairs": lambda size: '{"kind":"Secret","data":{' + _repeated('"a":"b",', size),
    "braces": lambda size: '{"data":{}' + _repeated("{}", size) + '"kind":"Secret"}',
    "opened": lambda size: '"kind":"Secret"' + _repeated('"data":{"', size),
    "commas": lambda size: "token=" + _repeated(",a", size),
    "different": lambda size: _numbered("password=xK%07dq\n", size),
    "different entries": lambda size: "kind: Secret\nstringData:\n" + _numbered("  k: vK%07dq\n", size),
    "noise": lambda size: "".join(_RANDOM.choices(string.printable, k=size)),
}  # fmt: skip


def _seconds(text: str) -> float:
    started = time.process_time()
    redact(text)
    return time.process_time() - started


@pytest.mark.parametrize("name", list(WORST), ids=[repr(name)[:40] for name in WORST])
def test_no_text_takes_more_than_linear_time(name: str) -> None:
    # A quadratic rule takes minutes for a megabyte; a linear one a third of a second at the worst.
    assert _seconds(WORST[name](MEGABYTE)) < 2


@pytest.mark.parametrize("name", ["a", "password=", "eyJ", "pairs", "kind: Secret\n", "noise"])
def test_ten_megabytes_take_under_two_seconds(name: str) -> None:
    text = WORST[name](10 * MEGABYTE)

    # Of two runs the better one: a neighbour on the same core costs processor time too.
    assert min(_seconds(text), _seconds(text)) < 2


def test_a_text_of_nothing_but_credentials_is_masked_as_a_whole() -> None:
    assert redact(_numbered("password=xK%07dq\n", 4 * MEGABYTE)) == MASK
