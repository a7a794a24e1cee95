from __future__ import annotations

import hypothesis
from hypothesis import strategies

from kubewhy.adapters import bounded_output


def collected(*parts: bytes, limit: int = 1000) -> bounded_output.BoundedOutput:
    output = bounded_output.BoundedOutput(limit)
    for part in parts:
        output.add(part)
    return output


def test_output_within_the_limit_is_whole() -> None:
    assert collected(b"one\n", b"two\n").text() == ("one\ntwo\n", False)


def test_a_longer_one_keeps_head_and_tail_in_whole_lines() -> None:
    lines = [f"line {number}\n".encode() for number in range(1000)]
    output = collected(*lines)
    text, truncated = output.text()
    assert truncated
    assert text.startswith("line 0\nline 1\n")
    assert text.endswith("line 998\nline 999\n")
    assert f"left out; {sum(map(len, lines))} bytes in all" in text
    assert {line.encode() + b"\n" for line in text.splitlines() if line.startswith("line")} <= set(
        lines
    )


def test_invalid_bytes_and_terminal_escapes_become_readable() -> None:
    raw = (
        b"\x1b[1;31mred\x1b[0m \xff\xfe caf\xc3\xa9 \x1b]0;title\x07end\x00\x08\r\n\xe2\x80\xaetxt"
    )
    assert collected(raw).text() == ("red \ufffd\ufffd café end\ntxt", False)


def test_a_character_that_comes_in_two_parts_is_whole() -> None:
    assert collected(b"caf\xc3", b"\xa9").text() == ("café", False)


def test_replacement_characters_count_against_the_limit() -> None:
    text, truncated = collected(b"\xff" * 900).text()
    assert truncated
    assert len(text.encode()) <= 1000


@hypothesis.given(
    strategies.lists(strategies.binary(max_size=300), max_size=30),
    strategies.integers(min_value=0, max_value=2000),
)
def test_whatever_comes_the_text_stays_within_the_limit(parts: list[bytes], limit: int) -> None:
    output = collected(*parts, limit=limit)
    text, truncated = output.text()
    assert output.total == sum(map(len, parts))
    assert len(text.encode()) <= max(limit, 64)
    assert truncated or output.total <= limit
