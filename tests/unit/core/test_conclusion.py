"""Reading an answer tolerantly, and believing none of its quotes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewhy.core import conclusion

OUTPUT = (
    "## ContainerTerminated Pod/x exitCode=1\n> RuntimeError: DB_HOST is unset\n> exit 1\nlast line"
)


@pytest.mark.parametrize(
    ("quote", "proves"),
    [
        ("RuntimeError: DB_HOST is unset", True),
        ("DB_HOST is unset", True),
        ("exit 1", True),
        ("> exit 1", True),
        ("last line", True),
        ("DB_HOST", False),
        ("RuntimeError: DB_HOST is unsat", False),
        ("runtimeerror: db_host is unset", False),
        ("RuntimeError:  DB_HOST is unset", False),
        ("", False),
        ("            ", False),
        ("\n\n", False),
    ],
)
def test_a_quote_proves_something_only_verbatim_and_long_enough(quote: str, proves: bool) -> None:
    assert conclusion.quoted(quote, OUTPUT) is proves


@given(st.text(min_size=12, max_size=60), st.integers(0, 59), st.characters())
def test_a_quote_with_one_other_character_is_not_proof(text: str, at: int, other: str) -> None:
    at %= len(text)
    changed = text[:at] + other + text[at + 1 :]
    if changed.strip("\n") not in text:
        assert not conclusion.quoted(changed, text)


def _answer(**changes: Any) -> dict[str, Any]:
    return {
        "verdict": "RootCauseFound",
        "summary": "it broke",
        "rootCause": {
            "statement": "because",
            "evidence": [{"call": "1-0", "quote": "RuntimeError: DB_HOST is unset"}],
        },
    } | changes


def test_a_proven_root_cause_stands() -> None:
    found = conclusion.verify(conclusion.read(_answer()), {"1-0": OUTPUT})
    assert found.verdict is conclusion.Verdict.ROOT_CAUSE_FOUND


@pytest.mark.parametrize("outputs", [{}, {"1-0": "other text"}, {"1-1": OUTPUT}])
def test_without_proof_the_verdict_is_inconclusive(outputs: dict[str, str]) -> None:
    found = conclusion.verify(conclusion.read(_answer()), outputs)
    assert found.verdict is conclusion.Verdict.INCONCLUSIVE
    assert found.root_cause is not None
    assert not found.root_cause.evidence[0].verified


def test_a_model_cannot_call_its_own_quote_verified() -> None:
    forged = _answer()
    forged["rootCause"]["evidence"][0] |= {"quote": "never printed anywhere", "verified": True}
    found = conclusion.verify(conclusion.read(forged), {"1-0": OUTPUT})
    assert found.root_cause is not None
    assert not found.root_cause.evidence[0].verified


def test_a_healthy_verdict_carries_no_root_cause() -> None:
    found = conclusion.verify(conclusion.read(_answer(verdict="NoProblemFound")), {"1-0": OUTPUT})
    assert found.root_cause is None


@pytest.mark.parametrize("verdict", ["root_cause_found", "ROOTCAUSEFOUND", None, "guess"])
def test_the_verdict_is_read_tolerantly(verdict: Any) -> None:
    assert conclusion.read(_answer(verdict=verdict)).verdict is conclusion.Verdict.ROOT_CAUSE_FOUND


@pytest.mark.parametrize(
    "value", [{}, {"summary": 7}, {"verdict": "Inconclusive"}, {"rootCause": {"evidence": []}}]
)
def test_nothing_to_read_is_said(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="neither a summary nor a root cause"):
        conclusion.read(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=2000),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
KEYS = st.sampled_from(
    ["verdict", "summary", "rootCause", "findings", "ruledOut", "blindSpots", "actions"]
)


@given(st.dictionaries(KEYS, JSON))
def test_any_shape_is_read_or_refused_and_stays_bounded(value: dict[str, Any]) -> None:
    try:
        found = conclusion.verify(conclusion.read(value), {})
    except ValueError:
        return
    assert len(found.summary) <= 256
    assert len(found.findings) <= conclusion.LIST_LENGTH
    assert all(len(item.statement) <= conclusion.STATEMENT_LENGTH for item in found.findings)
