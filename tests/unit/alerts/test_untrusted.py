import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewhy.core import untrusted

ANY = st.text(alphabet=st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain ünïcode 日本 😀", "plain ünïcode 日本 😀"),
        ("a\u202eb\u2066c\u200bd\ufeffe", "abcde"),
        ("a\x00b\x1b[31mc\x7f", "abc"),
        (
            "\x1b[1;38;5;9mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07\x1b(B end",
            "red link end",
        ),
        ("half \x1b[3", "half 3"),
        ("open \x1b]0;title\nnext line", "open \nnext line"),
        ("one\r\ntwo\rthree\u2028four\x85five", "one\ntwo\nthree\nfour\nfive"),
        ("tag\U000e0041\U000e0042ged", "tagged"),
        ("fill\u3164er\uffa0", "filler"),
        ("private\ue000\U000f0000", "private"),
    ],
)
def test_removes_what_cannot_be_seen(text: str, cleaned: str) -> None:
    assert untrusted.clean(text) == cleaned


def test_removes_every_character_of_the_invisible_categories() -> None:
    left = [
        hex(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
        and untrusted.clean(chr(code)) not in {"", "\n", "\t"}
    ]
    assert left == []


def test_keeps_letters_marks_numbers_and_punctuation() -> None:
    invisible_by_nature = set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
    selectors = "VARIATION SELECTOR"
    lost = [
        hex(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code))[0] in "LMNPSZ"
        and not untrusted.clean(chr(code))
        and chr(code) not in invisible_by_nature
        and selectors not in unicodedata.name(chr(code), selectors)
    ]
    assert lost == []


@given(ANY)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = untrusted.clean(text)
    assert untrusted.clean(once) == once
    assert "\n" not in untrusted.clean_line(text)


@given(ANY, st.integers(0, 80))
def test_cuts_to_bytes_without_splitting_a_character(text: str, limit: int) -> None:
    cleaned = untrusted.clean(text)
    cut = untrusted.cut(cleaned, limit)
    assert cleaned.startswith(cut)
    assert len(cut.encode()) <= limit
    assert cut == cleaned or len(cut.encode()) > limit - 4
