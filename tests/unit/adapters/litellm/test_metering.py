"""Tokens and money from what providers state, or from bytes. LiteLLM is a stand-in with two functions."""

from types import SimpleNamespace
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from kubewhy.adapters.litellm_model import metering
from kubewhy.core import model_list


def stated(given: Any, produced: Any, cached: Any = None) -> Any:
    details = None if cached is None else SimpleNamespace(cached_tokens=cached)
    return SimpleNamespace(
        prompt_tokens=given, completion_tokens=produced, prompt_tokens_details=details
    )


def count(usage: Any, *, sent: int = 300, written: int = 30) -> metering.Count:
    return metering.count(usage, sent_bytes=sent, written_bytes=written)


def test_usable_counts_are_taken_as_they_stand() -> None:
    assert count(stated(50, 7, 20)) == metering.Count(input=50, output=7, cached=20)
    assert count(stated(1_000_000, 1)).input == 1_000_000


@pytest.mark.parametrize(
    "usage",
    [None, stated(None, None), stated(0, 0), stated(-5, -1), stated("50", "7"), stated(True, True)],
)
def test_unusable_counts_are_estimated_from_bytes(usage: Any) -> None:
    assert count(usage) == metering.Count(input=100, output=10, estimated=True)


def test_each_count_is_judged_by_itself() -> None:
    assert count(stated(-5, 7)) == metering.Count(input=100, output=7, estimated=True)
    assert count(stated(50, -7)) == metering.Count(input=50, output=10, estimated=True)
    assert count(stated(50, 0)) == metering.Count(input=50, output=10, estimated=True)
    assert count(stated(50, 0), written=0) == metering.Count(input=50, output=0)


@pytest.mark.parametrize(("cached", "kept"), [(-1, 0), (60, 50), (None, 0), ("9", 0)])
def test_cached_tokens_stay_within_the_input(cached: Any, kept: int) -> None:
    assert count(stated(50, 7, cached)).cached == kept


def test_absurd_counts_are_bounded() -> None:
    assert count(stated(10**30, 1)).input == metering.MOST_TOKENS


@hypothesis.given(st.integers() | st.none() | st.text(max_size=3), st.integers() | st.floats())
def test_no_statement_lowers_what_is_counted(given: Any, produced: Any) -> None:
    found = count(stated(given, produced))
    assert found.input > 0
    assert found.output > 0
    assert 0 <= found.cached <= found.input


def test_listed_prices_are_whole_and_rounded_up() -> None:
    prices = model_list.Prices(input=3_000_000, output=15_000_000, cached=300_000)
    counted = metering.Count(input=1000, output=100, cached=400)
    assert metering.listed_cost(counted, prices) == 600 * 3 + 100 * 15 + 120
    cheap = model_list.Prices(input=1, output=0)
    assert metering.listed_cost(metering.Count(input=1, output=0), cheap) == 1
    assert metering.listed_cost(metering.Count(input=0, output=9), cheap) == 0


@pytest.mark.parametrize(
    ("dollars", "micro"),
    [
        (0.3, 300_000),
        (0.1 + 0.2, 300_000),
        (0.000388, 388),
        (0.0003875, 388),
        (1e-9, 1),
        (0, 0),
        (2, 2_000_000),
    ],
)
def test_dollars_become_whole_micro_dollars(dollars: float, micro: int) -> None:
    assert metering.micro_usd(dollars) == micro


@pytest.mark.parametrize("amount", [-0.1, float("nan"), float("inf"), "1", None])
def test_an_unusable_amount_is_none(amount: Any) -> None:
    assert metering.micro_usd(amount) is None


class PriceList:
    """Like LiteLLM: a price per reply, a price per tokens, a bare Exception for an unknown model."""

    def completion_cost(self, *, completion_response: Any, model: str) -> float:
        if model != "known":
            raise Exception("This model isn't mapped yet")  # noqa: TRY002 - what LiteLLM raises
        return float(completion_response.price)

    def cost_per_token(
        self, *, model: str, prompt_tokens: int, completion_tokens: int
    ) -> tuple[float, float]:
        assert model == "known"
        return prompt_tokens * 1e-6, completion_tokens * 2e-6


def test_mapped_cost_uses_the_reply_or_our_estimate() -> None:
    response = SimpleNamespace(price=0.5)
    fine = metering.Count(input=1, output=1)
    assert metering.mapped_cost(PriceList(), "known", response, fine) == 500_000
    rough = metering.Count(input=100, output=10, estimated=True)
    assert metering.mapped_cost(PriceList(), "known", response, rough) == 120
    assert metering.mapped_cost(PriceList(), "unknown", response, fine) is None
    assert metering.mapped_cost(PriceList(), "known", SimpleNamespace(price=-1), fine) is None
