"""Order and size of the facts."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies

from kubewhy.core import facts
from kubewhy.toolsets.kubernetes.first_look import ranking


def test_most_decisive_first_and_lesser_ones_give_way() -> None:
    weak = [ranking.ranked(10, "Probe", f"Pod/p{number}", "w" * 900) for number in range(40)]
    strong = ranking.ranked(95, "LogTail", "Pod/p", *(f"line {number}" for number in range(20)))
    text, cut = ranking.render([*weak, strong])
    assert cut
    assert len(text) <= ranking.MOST_CHARACTERS
    assert facts.parse(text)[0].words == tuple(f"line {number}" for number in range(20))
    assert "lesser facts left out" in text.splitlines()[-1]


def test_a_decisive_fact_that_is_too_long_keeps_its_last_lines() -> None:
    long = ranking.ranked(
        95, "LogTail", "Pod/p", *(f"{number} " + "x" * 900 for number in range(40))
    )
    small = ranking.ranked(10, "Probe", "Pod/p", "small")
    text, _ = ranking.render([small, long])
    found = facts.parse(text)
    assert found[0].kind == "LogTail"
    assert found[0].words[-1].startswith("39 ")
    assert found[1].kind == "Probe"


def test_repeats_are_said_once() -> None:
    one = ranking.ranked(10, "Probe", "Pod/p", "same")
    text, _ = ranking.render([one, ranking.ranked(20, "Probe", "Pod/p", "same")])
    assert text.count("## ") == 1


@hypothesis.given(
    strategies.lists(
        strategies.tuples(strategies.integers(0, 99), strategies.text(max_size=2000)), max_size=40
    )
)
def test_never_longer_than_allowed(found: list[tuple[int, str]]) -> None:
    made = [
        ranking.ranked(weight, "Probe", f"Pod/p{number}", text)
        for number, (weight, text) in enumerate(found)
    ]
    text, _ = ranking.render(made, most=3000)
    assert len(text) <= 3000
