"""Model lists as text in, entries or one clear error out. Nothing is mocked."""

from pathlib import Path

import pytest

from kubewhy import errors
from kubewhy.core import model_list

SECRET = "sk-CANARY-0123456789"
FULL = """
models:
- name: default
  provider: litellm
  model: openai/gpt-4.1
  baseURL: https://gateway.example/v1
  key: {file: /etc/kubewhy/keys/openai}
  contextTokens: 1000000
  prices: {input: 2000000, output: 8000000, cached: 500000}
  attempts: 5
  timeoutSeconds: 60
  jsonMode: JsonSchema
  fallbacks: [local]
  parameters: {temperature: 0.2, seed: 7, reasoning_effort: low}
- name: local
  provider: litellm
  model: openai/qwen3
  baseURL: http://vllm.ai.svc:8000/v1
- name: rules
  provider: triage
"""


def read(text: str) -> model_list.ModelList:
    return model_list.read(text, source="models.yaml")


def litellm(*fields: str) -> str:
    return f"models: [{{{', '.join(['name: default, provider: litellm, model: x', *fields])}}}]"


def test_a_full_list_is_read() -> None:
    listed = read(FULL)
    assert sorted(listed.entries) == ["default", "local", "rules", "triage"]
    entry = listed.get("default")
    assert isinstance(entry, model_list.LiteLLMEntry)
    assert entry.key == model_list.Key(file="/etc/kubewhy/keys/openai")
    assert entry.prices == model_list.Prices(input=2_000_000, output=8_000_000, cached=500_000)
    assert (entry.attempts, entry.timeout_seconds, entry.context_tokens) == (5, 60, 1_000_000)
    assert entry.parameters == {"temperature": 0.2, "seed": 7, "reasoning_effort": "low"}
    assert [other.name for other in listed.fallbacks(entry)] == ["local"]


def test_the_defaults_of_an_entry() -> None:
    entry = read(litellm()).get("default")
    assert isinstance(entry, model_list.LiteLLMEntry)
    assert (entry.attempts, entry.timeout_seconds, entry.json_mode) == (3, 120, "Off")
    assert (entry.key, entry.base_url, entry.prices, entry.fallbacks) == (None, None, None, ())


def test_without_a_file_there_is_triage_under_two_names() -> None:
    listed = model_list.built_in()
    assert {name: entry.provider for name, entry in listed.entries.items()} == {
        "default": "triage",
        "triage": "triage",
    }


def test_triage_is_always_there() -> None:
    assert read(litellm()).get("triage").provider == "triage"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(errors.ConfigError) as caught:
        read(FULL).get("gpt-5")
    assert str(caught.value) == (
        "model 'gpt-5' is not in models.yaml; the known models are: default, local, rules, triage"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            litellm("attempts: '3'"),
            "entry 1 ('default'): attempts: Input should be a valid integer",
        ),
        (litellm("attempts: 0"), "attempts"),
        (litellm("attempts: 11"), "attempts"),
        (litellm("timeoutSeconds: 0"), "timeoutSeconds"),
        (litellm("contextTokens: 5"), "contextTokens"),
        (litellm("prices: {input: 1.5, output: 1}"), "prices.input"),
        (litellm("prices: {input: 1}"), "prices.output: Field required"),
        (litellm("prices: {input: -1, output: 1}"), "prices.input"),
        (litellm("jsonMode: yes"), "jsonMode"),
        (litellm("base_url: http://x"), "base_url: Extra inputs are not permitted"),
        (litellm("retries: 3"), "retries: Extra inputs are not permitted"),
        (litellm("parameters: {api_key: x}"), "parameters.api_key"),
        (litellm("parameters: {temperature: .nan}"), "parameters.temperature"),
        (litellm("parameters: {temperature: [1]}"), "parameters.temperature"),
        (litellm("key: {}"), "key: give either env"),
        (litellm("key: {env: A, file: /b}"), "key: give either env"),
        (litellm("key: {file: relative}"), "key.file"),
        (litellm("baseURL: ftp://x"), "baseURL: must be an http or https URL"),
        (litellm("baseURL: 'http://'"), "baseURL: must be an http or https URL"),
        (litellm("baseURL: 'http://[x/'"), "baseURL: must be a valid URL"),
        (litellm("baseURL: 'https://x/?a=b'"), "baseURL: must have no user"),
        (
            litellm("fallbacks: [triage]"),
            "'default': fallback 'triage' is no other entry of provider litellm",
        ),
        (litellm("fallbacks: [default]"), "fallback 'default' is no other entry"),
        (litellm("fallbacks: [absent]"), "fallback 'absent' is no other entry"),
        ("models: [{name: default, provider: openai, model: x}]", "provider"),
        ("models: [{name: default, model: x}]", "provider"),
        ("models: [{name: default, provider: triage, model: x}]", "model: Extra inputs"),
        ("models: [{name: 'a b', provider: triage}]", "entry 1 ('a b'): name"),
        ("models: [{provider: triage}]", "entry 1: name: Field required"),
        ("models: [{name: a, provider: triage}]", "no entry is named 'default'"),
        (
            "models: [{name: default, provider: triage}, {name: default, provider: triage}]",
            "stands 2 times",
        ),
        (
            "models: [{name: default, provider: triage}, {name: triage, provider: litellm, model: x}]",
            "'triage' is the name of the built-in model",
        ),
        ("models: [{name: default, provider: triage}]\nextra: 1", "extra: Extra inputs"),
        (
            "models:\n- name: default\n  name: default\n  provider: triage",
            "line 2: a name stands twice",
        ),
        ("models: []", "models: List should have at least 1 item"),
        ("models: [5]", "entry 1"),
        ("models: x", "models: Input should be a valid list"),
        ("- name: default", "must be a mapping"),
        ("", "must be a mapping"),
        ("models: [", "line"),
        ("!!python/object/apply:os.getcwd []", "line 1: not valid YAML"),
        ("a: &a [x,x,x]\nb: [*a,*a,*a]\nmodels: [*a]", "entry 1"),
        ("[" * 5000, "not valid YAML"),
        ("#" * 300_000, "longer than"),
        ("models: [" + "{name: a, provider: triage}, " * 101 + "]", "at most 100 items"),
    ],
)
def test_a_mistake_names_file_entry_and_field(text: str, words: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        read(text)
    assert str(caught.value).startswith("models.yaml: ")
    assert words in str(caught.value)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize(
    "text",
    [
        litellm(f"key: {SECRET}"),
        litellm(f"key: {{env: {SECRET}}}"),
        litellm(f"key: {{file: {SECRET}}}"),
        litellm(f"apiKey: {SECRET}"),
        litellm(f"attempts: {SECRET}"),
        litellm(f"baseURL: 'https://me:{SECRET}@host/v1'"),
        litellm(f"baseURL: 'https://host/v1?key={SECRET}'"),
        litellm(f"parameters: {{seed: [{SECRET}]}}"),
        f"models:\n- name: default\n  key: {SECRET}: x: y",
        f"models: [*{SECRET}]",
        f"key: '{SECRET}",
        f"!{SECRET} x",
    ],
)
def test_no_message_repeats_a_value_that_may_be_a_key(text: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        read(text)
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_the_shipped_list_is_valid() -> None:
    file = Path(__file__).resolve().parents[3] / "deploy/base/models.yaml"
    assert read(file.read_text(encoding="utf-8")).get("default").provider == "triage"
