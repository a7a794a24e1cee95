"""Credentials that are known by their shape, wherever they stand."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from kubewhy.core.redaction.spans import MASK, Finding

_TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (mark, re.compile(pattern))
    for mark, pattern in (
        ("AKIA", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("ASIA", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("gh", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}+"),
        ("glpat-", r"glpat-[A-Za-z0-9_-]{16,}+"),
        ("xox", r"xox[abprs]-[A-Za-z0-9-]{10,}+"),
        ("xapp-", r"xapp-[A-Za-z0-9-]{10,}+"),
        ("AIza", r"AIza[A-Za-z0-9_-]{35}"),
        ("sk_", r"sk_(?:live|test)_[A-Za-z0-9]{10,}+"),
        ("rk_", r"rk_(?:live|test)_[A-Za-z0-9]{10,}+"),
        ("sk-", r"sk-(?:(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{12,}+|[A-Za-z0-9]{20,}+)"),
        ("npm_", r"npm_[A-Za-z0-9]{30,}+"),
        ("hf_", r"hf_[A-Za-z0-9]{30,}+"),
        ("hv", r"hv[sb]\.[A-Za-z0-9_-]{20,}+"),
        ("dop_v1_", r"dop_v1_[a-f0-9]{40,}+"),
        ("SG.", r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
        ("H4sI", r"H4sI[A-Za-z0-9+/=]{100,}+"),
        ("SDRzS", r"SDRzS[A-Za-z0-9+/=]{100,}+"),
    )
)
"""A literal beginning, which makes the search fast, and the whole shape. The last two are releases of Helm."""

_VALUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("AccountKey=", re.compile(r"AccountKey=([A-Za-z0-9+/=%]{16,}+)")),
    ("SharedAccessKey=", re.compile(r"SharedAccessKey=([A-Za-z0-9+/=%]{16,}+)")),
    ("://", re.compile(r"://[^/\s:@\"'<>\\]*+:([^/\s\"'<>\\]+)@")),
    (
        "hooks.slack.com/",
        re.compile(r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]++)"),
    ),
    ("auth", re.compile(r"\"auth\\*+\"\s*+:\s*+\\*+\"([A-Za-z0-9+/=]{8,}+)")),
)

_HEADER = re.compile(
    r"(?i:\b(?:proxy-)?authorization\\*[\"']?[ \t]*[:=][ \t]*\[?\\*[\"']?"
    r"(?:(?:basic|bearer|token|digest|negotiate|apikey|aws4-hmac-sha256)[ \t]+(?P<rest>[^\n\"'\\]++)"
    r"|(?P<bare>[^\s\"'\\]{16,}+)))"
)
_COOKIE = re.compile(
    r"(?i:\b(?:set-)?cookie\\*[\"']?[ \t]*:[ \t]*\\*[\"']?)([^\n\"'\\=]++=[^\n\"'\\]++)"
)
_BEARER = re.compile(r"\b(?i:bearer)[ \t]++([A-Za-z0-9._~+/=-]{8,}+)")
_KEY_HEADER = re.compile(
    r"(?i:\bx-(?:api-key|auth-token|vault-token|access-token|amz-security-token)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?)"
    r"([^\s\"'\\,;]++)"
)
_RUN = re.compile(r"eyJ[A-Za-z0-9_-]*+((?:\.[A-Za-z0-9_-]*+){1,4})?")
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(
    r"(?:(?:\s|\\[nr]|\\\\n)*+(?:[A-Za-z0-9+/=]{16,}+|(?:Proc-Type|DEK-Info): [^\n\\]*+))*+"
)
_PEM_BASE64 = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]++")
_PEM_PIECE = re.compile(r"[A-Za-z0-9+/=]+")
_PEM_LINE = 100
_PEM_FULL = 40
_PEM_LIMIT = 32 * 1024
_LINE_BREAKS = frozenset({"\\n", "\\r", "\\t"})
"""Escapes in JSON, whose letter belongs to no word."""

_JWT_PART = 8
_LONG_WORD = 32


def find(text: str) -> Iterator[Finding]:
    """All credentials with a known shape."""
    for mark, pattern in _TOKENS:
        if mark in text:
            yield from _whole(pattern, text)
    for mark, pattern in _VALUES:
        if mark in text:
            yield from _first_group(pattern, text)
    yield from _headers(text)
    if "eyJ" in text:
        yield from _tokens_of_json(text)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "LS0tLS1CRUdJTi" in text:
        yield from _encoded_private_keys(text)


def _whole(pattern: re.Pattern[str], text: str) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        start = match.start()
        if not start or not text[start - 1].isalnum() or text[start - 2 : start] in _LINE_BREAKS:
            yield start, match.end(), MASK, ()


def _first_group(pattern: re.Pattern[str], text: str) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        yield match.start(1), match.end(1), MASK, (match[1],)


def _headers(text: str) -> Iterator[Finding]:
    lower = text.lower()
    if "authorization" in lower:
        for match in _HEADER.finditer(text):
            group = 1 if match[1] else 2
            yield match.start(group), match.end(group), MASK, (match[group],)
    if "cookie" in lower:
        yield from _first_group(_COOKIE, text)
    if "x-" in lower:
        yield from _first_group(_KEY_HEADER, text)
    if "bearer" in lower:
        for found in _first_group(_BEARER, text):
            value = found[3][0]
            if not value.isalpha() or len(value) > _LONG_WORD:
                yield found


def _tokens_of_json(text: str) -> Iterator[Finding]:
    """JWTs. A run of their letters is looked at once, so that runs full of beginnings cost no more."""
    for match in _RUN.finditer(text):
        parts = match[0].split(".")
        if len(parts) > 1 and len(parts[0]) > _JWT_PART and len(parts[1]) > _JWT_PART:
            yield match.start(), match.end(), MASK, ()


def _private_keys(text: str) -> Iterator[Finding]:
    at = 0
    end = _PEM_END.search(text)
    while begin := _PEM_BEGIN.search(text, at):
        while end and end.start() < begin.end():
            end = _PEM_END.search(text, end.end())
        if end and end.start() < begin.end() + _PEM_LIMIT:
            at = end.end()
        else:
            lines = _PEM_LINES.match(text, begin.end())
            at = max(lines.end() if lines else 0, begin.end())
        yield begin.start(), at, MASK, ()
    for end in _PEM_END.finditer(text):
        yield _orphan_start(text, end.start()), end.end(), MASK, ()


def _orphan_start(text: str, end: int) -> int:
    """Where the lines begin that belong to the end of a key whose beginning was cut off."""
    start = end
    while start > 0 and end - start < _PEM_LIMIT:
        line = text.rfind("\n", max(0, start - _PEM_LINE), start - 1) + 1
        piece = text[line:start].strip()
        if not _PEM_PIECE.fullmatch(piece) or (len(piece) < _PEM_FULL and start < end):
            break
        start = line
    return start


def _encoded_private_keys(text: str) -> Iterator[Finding]:
    for match in _PEM_BASE64.finditer(text):
        head = match[0][:96]
        try:
            plain = base64.b64decode(head[: len(head) // 4 * 4])
        except (binascii.Error, ValueError):
            plain = b""
        if b"PRIVATE KEY" in plain:
            yield match.start(), match.end(), MASK, ()
