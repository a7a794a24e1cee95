"""Facts with a weight, put in order and cut to what a model can take."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final

from kubewhy.core import facts

MOST_CHARACTERS: Final = 16_000
"""About 4,000 tokens (design.md §8)."""

WORD_LENGTH: Final = 1000
LONG_WORDS: Final = 8
"""Raw lines that a fact keeps when the space runs out."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A fact and how decisive facts of its kind are: 90 and more explain, below 30 is background."""

    weight: int
    fact: facts.Fact


def ranked(weight: int, kind: str, of: object, /, *words: str, **fields: object) -> Ranked:
    """A ranked fact; empty fields and words are left out."""
    values = {name: str(value) for name, value in fields.items() if value not in (None, "")}
    lines = tuple(word[:WORD_LENGTH] for word in words if word.strip())
    return Ranked(
        weight=weight, fact=facts.Fact(kind=kind, object=str(of), fields=values, words=lines)
    )


def render(found: Iterable[Ranked], *, most: int = MOST_CHARACTERS) -> tuple[str, bool]:
    """The facts' text, most decisive first, within `most` characters; and whether some were left out.

    A fact that does not fit whole is kept with fewer raw lines if that fits; a lesser one never takes its place first.
    """
    ordered = sorted(_distinct(found), key=lambda item: -item.weight)
    space = most - 80
    kept: list[facts.Fact] = []
    left = 0
    for item in ordered:
        fact = next((form for form in _forms(item.fact) if _size(form) <= space), None)
        if fact is None:
            left += 1
            continue
        kept.append(fact)
        space -= _size(fact)
    text = facts.render(kept)
    return (f"{text}\n({left} lesser facts left out)" if left else text), left > 0


def _forms(fact: facts.Fact) -> tuple[facts.Fact, ...]:
    """The fact whole, and with the last of its raw lines only."""
    return fact, dataclasses.replace(fact, words=fact.words[-LONG_WORDS:])


def _size(fact: facts.Fact) -> int:
    return len(facts.render((fact,))) + 1


def _distinct(found: Iterable[Ranked]) -> list[Ranked]:
    chosen: dict[str, Ranked] = {}
    for item in found:
        key = facts.render((item.fact,))
        if key not in chosen or chosen[key].weight < item.weight:
            chosen[key] = item
    return list(chosen.values())
