"""Pieces of a text that are to be masked."""

from __future__ import annotations

from collections.abc import Iterable

MASK = "[REDACTED]"
"""What stands in place of a credential."""

Span = tuple[int, int, str]
"""Start, end (exclusive) and replacement."""


Finding = tuple[int, int, str, tuple[str, ...]]
"""A span, and plain values to remove elsewhere too. Plain tuples, because a text may hold a million of them."""


def masked(text: str, spans: Iterable[Span]) -> str:
    """The text with the spans replaced; spans that overlap or touch become one mask."""
    ordered = sorted(span for span in spans if span[0] < span[1])
    if not ordered:
        return text
    pieces: list[str] = []
    done = 0
    start, end, mask = ordered[0]
    for next_start, next_end, next_mask in ordered[1:]:
        if next_start <= end:
            if next_end > end or next_start > start:
                mask = mask if next_end <= end else MASK
            end = max(end, next_end)
            continue
        pieces += (text[done:start], mask)
        done, start, end, mask = end, next_start, next_end, next_mask
    pieces += (text[done:start], mask, text[end:])
    return "".join(pieces)
