"""Keys from variables and real files, and texts without them."""

import base64
from pathlib import Path
from typing import Any

import pytest

from kubewhy import errors
from kubewhy.adapters.litellm_model import keys
from kubewhy.core import model_list

KEY = "sk-CANARY-0123456789"


def entry(**fields: Any) -> model_list.LiteLLMEntry:
    return model_list.LiteLLMEntry(
        **{"name": "m", "provider": "litellm", "model": "openai/x"} | fields
    )


def from_variable() -> model_list.LiteLLMEntry:
    return entry(key=model_list.Key(env="MODEL_KEY"))


def from_file(path: Path) -> model_list.LiteLLMEntry:
    return entry(key=model_list.Key(file=str(path)))


def test_a_key_from_a_variable() -> None:
    ring = keys.KeyRing({"MODEL_KEY": f" {KEY}\n"})
    assert ring.read(from_variable()) == KEY
    assert ring.seen == (KEY,)


def test_a_rotated_file_is_read_anew_and_both_keys_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "key"
    ring = keys.KeyRing({})
    file.write_text(f"{KEY}\n")
    assert ring.read(from_file(file)) == KEY
    file.write_text("sk-second-key-value")
    assert ring.read(from_file(file)) == "sk-second-key-value"
    assert ring.seen == (KEY, "sk-second-key-value")


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "key"
    ring = keys.KeyRing({})
    for number in range(200):
        file.write_text(f"sk-key-number-{number}")
        ring.read(from_file(file))
    assert len(ring.seen) == 100
    assert ring.seen[-1] == "sk-key-number-199"


def test_without_a_key_none_is_sent_to_an_own_server() -> None:
    ring = keys.KeyRing({"OPENAI_API_KEY": KEY})
    assert ring.read(entry(baseURL="http://vllm:8000/v1")) == keys.NO_KEY
    assert ring.read(entry()) is None
    assert ring.seen == ()


@pytest.mark.parametrize("content", ["", "\n", "two\nlines", "schlüssel", "a\x00b", "x" * 20_000])
def test_an_unusable_key_names_its_place_and_not_itself(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key"
    file.write_text(content)
    with pytest.raises(errors.ModelAuthFailed) as caught:
        keys.KeyRing({}).read(from_file(file))
    assert str(file) in str(caught.value)
    assert "'m'" in str(caught.value)
    assert not content.strip() or content.strip() not in str(caught.value)


def test_a_missing_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ModelAuthFailed, match="variable MODEL_KEY holds no key"):
        keys.KeyRing({}).read(from_variable())
    with pytest.raises(errors.ModelAuthFailed, match=r"absent can't be read: No such file"):
        keys.KeyRing({}).read(from_file(tmp_path / "absent"))


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"key={KEY[:12]}… is wrong",
        f"ends with {KEY[-9:]}",
        f"Basic {base64.b64encode(KEY.encode()).decode()}",
    ],
)
def test_texts_lose_the_key_and_its_parts(text: str) -> None:
    clean = keys.scrub(text, KEY)
    assert keys.MASK in clean
    parts = {KEY[start : start + 8] for start in range(len(KEY) - 7)}
    assert not any(part in clean for part in parts)
    assert base64.b64encode(KEY.encode()).decode() not in clean


def test_encoded_forms_are_found_too() -> None:
    assert keys.scrub('{"k": "a\\"b\\\\c-long"}', 'a"b\\c-long') == '{"k": "***"}'
    assert keys.scrub("?key=a%2Fb%3Fc-1234", "a/b?c-1234") == "?key=***"
    assert keys.scrub("nothing to hide", keys.NO_KEY) == "nothing to hide"
    assert keys.scrub("none", None) == "none"
