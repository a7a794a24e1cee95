"""Values under a sensitive name: `password: …`, `DB_PASSWORD=…`, `"token":"…"`, `--api-key …`.

The same words also occur in diagnoses ("invalid token: signature is invalid", "using password: YES"), which must
survive. So an unquoted value is left alone when it is a number of bytes, a reference, or the beginning of a sentence.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from kubewhy.core.redaction import names
from kubewhy.core.redaction.json_text import ESCAPED
from kubewhy.core.redaction.spans import MASK, Finding

_NEAR = 128
"""Characters looked back for the beginning of a line."""

_MOST = 200_000
"""Places where one stem may stand as a label; a text with more is masked as a whole."""

_LINES = 64
_WORD = 20
"""Letters of the longest word that may begin a sentence."""

_FAR = 4096
"""Characters looked ahead for the end of a line."""

_TAIL = rf"""
    (?P<rest>[a-z0-9_.\-]{{0,48}}+)
    (?P<key>\\{{0,7}}+["']?+)
    (?P<gap>[ \t]*+) (?:(?P<equals>=(?!>))|(?P<colon>:(?!=))|=>|:=) (?P<after>[ \t]*+)
    (?: \\"(?P<escaped>{ESCAPED.content})
      | \\{{2,7}}+"(?P<deep>[^"\\\n]*+)
      | "(?P<double>(?:[^"\\\n]|\\.)*+)
      | '(?P<single>(?:[^'\n]|'')*+)
      | (?(equals)(?!=)|(?![\[{{|>&*]))
        (?P<bare>(?:[^\s"',;&\\]|\\[^"'\s])++
          (?:[,;&](?=[^\s"',;&])(?![\w.\[\]-]{{1,40}}+[:=])(?:[^\s"',;&\\]|\\[^"'\s])*+)*+)
    )"""
_PAIRS = tuple((stem, re.compile(re.escape(stem) + _TAIL, re.VERBOSE)) for stem in names.STEMS)
_FLAG = re.compile(
    r"(?<!-)--(?P<name>[a-z][a-z0-9-]{1,60}+)"
    r"(?:[ \t]++(?!-)(?P<word>[^\s\"',]++)|\\?\"\s*+,\s*+\\?\"(?P<item>[^\"\\\n]++))"
)
_BLOCK = re.compile(
    r"^(?P<indent>[ ]*+)(?:-[ ]+)?[\"']?(?P<name>[\w./-]{1,100}+)[\"']?:[ ]+[|>][-+0-9]{0,2}[ \t]*\r?\n",
    re.MULTILINE,
)
_NO_VALUES_TEXT = (
    "true false yes no on off null none nil ~ undefined empty unset [redacted] "
    "denied forbidden unexpected unable unknown unsupported not is was are must should has have cannot can't "
    "could couldn't signature malformed mismatch incorrect wrong error errors eof timeout timed context dial "
    "lookup read post get put http https x509 tls rpc open stat the a an secret secrets configmap configmaps "
    "object references serviceaccount serviceaccounts parameter unbound field environment variable "
    "found using used to in of for from with at by be and or"
)
_NO_VALUES = frozenset(_NO_VALUES_TEXT.split())
"""Words that say that there is no value, or begin what a program says about one."""

_MASKED = MASK.lower()
_PROSE = (
    "inval",
    "expir",
    "miss",
    "fail",
    "reject",
    "unauthori",
    "require",
    "authenticat",
    "authoriz",
)
_SHAPES = re.compile(
    r"""(?: \*+[)\]}.,;]* | x+ | %[sdvq] | \$\([a-z_]\w*\) | \$\{\w+\} | \{\{.* | \\[nrt]? | <.* )\Z""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_GONE = re.compile(r"[\"']? (?:was |could |does |is |has )?(?:not|no|been|cannot)\b")
_SENTENCE = re.compile(r"[A-Za-z][a-z']*(?:[ ][^\s=:]\S*){2,}")
_TAGGED = re.compile(r"v?\d+(?:\.\d+)*(?:[-+@][\w.+@:-]*)?\Z")
_LINE_START = re.compile(r"[ \t-]*[\w./-]*\Z")
_ENVIRONMENT_LINE = re.compile(r"(?:export[ ])?[A-Z][A-Z0-9_]*\Z")


def find(text: str) -> Iterator[Finding]:
    """All labelled credentials of the text."""
    lower = _lower(text)
    marks = [mark for mark in names.MARKS if mark in lower]
    for stem, pattern in _PAIRS:
        if any(mark in stem for mark in marks) and stem in lower:
            yield from _pairs(text, pattern.finditer(lower), stem)
    if "--" in lower:
        yield from _flags(text, lower)
    if ": |" in text or ": >" in text:
        yield from _blocks(text)


def _lower(text: str) -> str:
    """Lower case of the same length: one letter of all grows a second code point otherwise."""
    return text.replace("\u0130", "i").lower()


def _pairs(text: str, found: Iterable[re.Match[str]], stem: str) -> Iterator[Finding]:
    short = stem in names.SHORT
    for number, match in enumerate(found):
        if number == _MOST:
            yield 0, len(text), MASK, ()
            return
        rest = match[1]
        if rest and names.is_harmless_rest(rest):
            continue
        if short and not names.begins_word(text, match.start()):
            continue
        bare = match["bare"]
        finding = _bare(text, match, stem, bare) if bare else _quoted(text, match)
        if finding:
            yield finding


def _quoted(text: str, match: re.Match[str]) -> Finding | None:
    start, end = match.span(match.lastgroup or 0)
    value = text[start:end]
    if not value or value in {"<nil>", "true", "false", "null"}:
        return None
    if not match["key"] and text.startswith('" not found', end):
        return None
    return start, end, MASK, (value, _unescaped(value)) if "\\" in value else (value,)


def _bare(text: str, match: re.Match[str], stem: str, bare: str) -> Finding | None:
    if _is_no_value(bare) or (match["colon"] and _is_no_label(text, match, stem)):
        return None
    if bare[0] == "/" and stem == "pwd":
        return None
    start, end = match.span("bare")
    if match["key"]:
        return _bare_of_quoted_name(text, start, bare, match["key"])
    if end < len(text) and text[end] not in "\r\n":
        end = _end_in_line(text, match, stem, bare)
    return (start, end, MASK, (text[start:end],)) if end else None


def _end_in_line(text: str, match: re.Match[str], stem: str, bare: str) -> int:
    """Where a value ends that has more text after it in its line; 0 if it is none."""
    end = match.end("bare")
    if bare.isdigit() and text.startswith(" bytes", end):
        return 0
    if stem == "secret" and match["colon"] and _GONE.match(text, end):
        return 0
    if _is_whole_line(text, match):
        end = _line_end(text, end)
    if match["colon"] and stem not in names.PASSWORDS and _is_sentence(text, match, end):
        return 0
    return end


def _bare_of_quoted_name(text: str, start: int, bare: str, key: str) -> Finding | None:
    """`"token": 12345`: a JSON value without quotes gets those of its name, so that the JSON stays readable."""
    value = bare.rstrip("}])")
    if not value or value in _NO_VALUES:
        return None
    end = start + len(value)
    mask = f"{key}{MASK}{key}" if _NUMBER.fullmatch(value) else MASK
    return start, end, mask, (text[start:end],)


def _is_no_value(bare: str) -> bool:
    if bare[0].isalpha():
        word = bare.rstrip(".,:;!)]}")
        return word in _NO_VALUES or (word.startswith(_PROSE) and word.isalpha())
    return bare in _NO_VALUES or bare.startswith(_MASKED) or bool(_SHAPES.match(bare))


def _is_no_label(text: str, match: re.Match[str], stem: str) -> bool:
    """Whether it only looks like a label: `volume "api-token" : secret …`, an image's tag, a host's port."""
    if match["gap"]:
        return True
    if match["after"]:
        return False
    before = text[max(0, match.start() - _NEAR) : match.start()]
    word = re.split(r"[\s\"'({\[,;=]", before)[-1] + match["rest"]
    if "/" in word or "-" in word or match["bare"][0] in "/:":
        return True
    return stem not in names.PASSWORDS and bool(_TAGGED.match(match["bare"]))


def _is_whole_line(text: str, match: re.Match[str]) -> bool:
    """Whether the line is only this name and its value, as in YAML, in describe's output or in a list of variables."""
    begin = max(0, match.start() - _NEAR)
    _, line_break, before = text[begin : match.start()].rpartition("\n")
    if begin and not line_break:
        return False
    if match["colon"]:
        return bool(match["after"]) and bool(_LINE_START.match(before))
    name = before + text[match.start() : match.end("rest")]
    return bool(match["equals"] and not match["after"] and _ENVIRONMENT_LINE.match(name))


def _is_sentence(text: str, match: re.Match[str], stop: int) -> bool:
    start, end = match.span("bare")
    if stop > end:
        return bool(_SENTENCE.match(text, start, stop))
    word = match["bare"].rstrip(".,:;")
    return bool(match["after"]) and word.isalpha() and len(word) <= _WORD and text[end] in " ;,"


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start, start + _FAR)
    stop = end if end >= 0 else min(len(text), start + _FAR)
    return start + len(text[start:stop].rstrip())


def _flags(text: str, lower: str) -> Iterator[Finding]:
    for match in _FLAG.finditer(lower):
        if not names.is_sensitive(match[1]):
            continue
        start, end = match.span("word") if match["word"] else match.span("item")
        if not _is_no_value(lower[start:end]):
            yield start, end, MASK, (text[start:end],)


def _blocks(text: str) -> Iterator[Finding]:
    done = 0
    for number, match in enumerate(_BLOCK.finditer(text)):
        if number == _MOST:
            yield 0, len(text), MASK, ()
            return
        if match.start() < done or not names.is_sensitive(match["name"]):
            continue
        start = match.end()
        stop = _dedent(len(match["indent"])).search(text, start)
        done = stop.start() if stop else len(text)
        body = text[start:done].strip()
        if body:
            at = text.index(body, start)
            lines = (line.strip() for line in body.split("\n", _LINES)[:_LINES])
            yield at, at + len(body), MASK, (body, *lines)


@functools.lru_cache(maxsize=64)
def _dedent(level: int) -> re.Pattern[str]:
    return re.compile(rf"^[ ]{{0,{level}}}[^ \n\r\t]", re.MULTILINE)


def _unescaped(value: str) -> str:
    return value.replace('\\"', '"').replace("\\\\", "\\").replace("\\/", "/")
