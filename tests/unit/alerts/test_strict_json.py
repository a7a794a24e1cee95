import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewhy import errors
from kubewhy.core import strict_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"hello", "not JSON"),
        (b'{"a":1} trailing', "not JSON"),
        (b'{"a": "\x01"}', "not JSON"),
        ("\ufeff{}".encode(), "byte-order mark"),
        (b'"caf\xe9"', "not UTF-8 at byte 4"),
        ('{"a":1}'.encode("utf-16"), "not UTF-8"),
        (b"[NaN]", "NaN"),
        (b"[-Infinity]", "Infinity"),
        (b"[1e999]", "out of range"),
        (b"[" + b"9" * 5000 + b"]", "more than 32 characters"),
        (b"[0." + b"1" * 5000 + b"]", "more than 32 characters"),
        (b'{"a":1,"a":2}', "same key twice"),
        (b'[[{"a":{"b":1,"b":1}}]]', "same key twice"),
        (b'{"a":1,"\\u0061":2}', "same key twice"),
        (b"[" * 100_000, "nested"),
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested"),
        (b"[" * 33 + b"]" * 33, "nested"),
        (b"[" + b"[]," * 100_000 + b"[]]", "more than 100000"),
        (b'["\\ud800"]', "surrogate"),
        (b'["x\\udc00\\ud800"]', "surrogate"),
        (b'{"\\ud800":1}', "surrogate"),
        (b"[" * 32 + b'"\\ud800"' + b"]" * 32, "surrogate"),
    ],
)
def test_refuses_what_is_no_proper_json(data: bytes, says: str) -> None:
    with pytest.raises(errors.PayloadError, match=says):
        strict_json.read(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, 2.5, true, null, "\\ud83d\\ude00"]}', {"a": [1, 2.5, True, None, "😀"]}),
        (b"[" * 32 + b"]" * 32, json.loads("[" * 32 + "]" * 32)),
        (b" [] ", []),
        (b'"x"', "x"),
        (b'"[[[[{{{{ \\" ]"', '[[[[{{{{ " ]'),
    ],
)
def test_reads_proper_json(data: bytes, value: object) -> None:
    assert strict_json.read(data) == value


@given(JSON)
def test_reads_what_json_writes(value: object) -> None:
    assert strict_json.read(json.dumps(value).encode()) == value
    assert strict_json.read(json.dumps(value, ensure_ascii=False).encode()) == value


@given(
    st.binary(max_size=200) | st.text(alphabet='[]{}",:\\u d8019eE.-+', max_size=60).map(str.encode)
)
def test_raises_nothing_but_its_declared_error(data: bytes) -> None:
    with contextlib.suppress(errors.PayloadError):
        strict_json.read(data)
