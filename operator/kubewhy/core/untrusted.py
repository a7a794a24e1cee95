"""Text written by strangers, made fit to be stored and shown: nothing invisible, nothing endless.

Removed are terminal sequences, control characters, bidirectional controls, zero-width and other invisible
characters (Unicode category Cf and the fillers), private-use characters and lone surrogates: they hide or reorder
what a person or a model reads. Line ends and tabs stay where the caller wants them.
"""

from __future__ import annotations

import re

_TERMINAL = re.compile(
    "\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    "|[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?"  # window titles and links, on their line
    r"|[ -/]*[0-~])"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but for tab and line feed
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"  # format characters
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero-width, bidirectional
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags and variation selectors: text that only a model sees
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"  # fillers, selectors
    "\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff"  # surrogates, private use
    "]"
)
_BLANKS = re.compile(r"[\t\n]+")


def clean(text: str) -> str:
    """The text without invisible characters; every kind of line end becomes a line feed."""
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", _TERMINAL.sub("", text)))


def clean_line(text: str) -> str:
    """`clean`, on one line: tabs and line ends become a blank."""
    return _BLANKS.sub(" ", clean(text))


def cut(text: str, limit: int) -> str:
    """At most `limit` UTF-8 bytes of the text, no character split."""
    if len(text) * 4 <= limit:
        return text
    return text.encode("utf-8")[: max(limit, 0)].decode("utf-8", "ignore")
