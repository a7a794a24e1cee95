from __future__ import annotations

import hypothesis
from hypothesis import strategies

from kubewhy.toolsets.kubernetes import log_keep, log_lines, log_pattern


def split(chunks: list[bytes], *, stamped: bool = False) -> list[log_lines.Line]:
    splitter = log_lines.Splitter(stamped=stamped)
    return [*(line for chunk in chunks for line in splitter.feed(chunk)), *splitter.rest()]


@hypothesis.given(
    strategies.lists(
        strategies.text(strategies.characters(blacklist_characters="\n"), max_size=20)
    ),
    strategies.integers(1, 7),
)
def test_lines_are_the_same_however_the_bytes_are_cut(lines: list[str], size: int) -> None:
    lines = [line.encode("utf-8", "replace").decode() for line in lines]
    data = "".join(f"{line}\n" for line in lines).encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert [line.text for line in split(chunks)] == lines


def test_long_lines_keep_their_start_and_count_the_rest() -> None:
    (line,) = split([b"a" * 10_000, b"b" * 10_000, b"c\n"])
    assert line.text == "a" * 10_000 + "b" * (log_lines.LINE_BYTES - 10_000)
    assert line.lost == 20_001 - log_lines.LINE_BYTES
    assert line.shown == "a" * (log_lines.SHOWN - 1) + f"… [{20_001 - log_lines.SHOWN} more]"


def test_times_are_taken_off_only_where_they_are() -> None:
    lines = split(
        [
            b"2026-11-30T11:00:00.5Z a\n2026-11-30T11:00:01+01:00 b\nno time\n2026-99-30T11:00:00Z odd\n"
        ],
        stamped=True,
    )
    assert [line.text for line in lines] == ["a", "b", "no time", "odd"]
    assert [line.at is None for line in lines] == [False, False, True, True]


@hypothesis.given(
    strategies.lists(strategies.booleans(), max_size=60),
    strategies.integers(1, 6),
    strategies.integers(0, 3),
)
def test_matches_are_a_subset_in_order_and_all_is_counted(
    hits: list[bool], most: int, around: int
) -> None:
    keep = log_keep.Matches(log_pattern.Pattern("hit"), most=most, around=around)
    lines = [f"{'hit' if hit else 'other'} {number}" for number, hit in enumerate(hits)]
    for line in lines:
        keep.add(log_lines.Line(line, None))
    shown = keep.lines()
    real = [line for line in shown if not line.startswith("…")]
    positions = [lines.index(line) for line in real]
    assert positions == sorted(positions)
    gaps = sum(int(line.split()[1]) for line in shown if line.startswith("…"))
    assert len(real) + gaps == len(lines)
    matched = [number for number, hit in enumerate(hits) if hit]
    assert keep.counts.matched == len(matched)
    assert keep.counts.dropped == max(0, len(matched) - max(most, 2))
    kept = {number for number in positions if hits[number]}
    assert set(matched[:1] + matched[-1:]) <= kept
    near = {n for number in kept for n in range(number - around, number + around + 1)}
    assert {number for number in near if 0 <= number < len(lines)} >= set(positions)


def test_a_tail_is_bounded_in_lines_and_characters() -> None:
    tail = log_keep.Tail(3)
    for number in range(10):
        tail.add(log_lines.Line(str(number), None))
    assert tail.lines() == ("7", "8", "9")
    assert (tail.counts.read, tail.counts.dropped) == (10, 7)
    wide = log_keep.Tail(10_000)
    for _ in range(1000):
        wide.add(log_lines.Line("x" * 1000, None))
    assert sum(map(len, wide.lines())) <= log_keep.KEPT_BYTES


def test_a_pattern_ignores_case_and_spends_its_time_once() -> None:
    pattern = log_pattern.Pattern("Err(or)?", seconds=0.5)
    assert pattern.found("an ERROR")
    assert not pattern.found("fine")
    assert pattern.note == ""
    slow = log_pattern.Pattern("(a{1,1000}){1,1000}b", seconds=0.2)
    assert not slow.found("a" * 4000)
    assert "took too long" in slow.note
