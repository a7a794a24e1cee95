"""An answer in plain text, read as far as it goes.

Models that can't give JSON still write "Root cause: …" and quote call outputs with their ids. Both
are kept; everything else becomes the summary. The engine verifies the quotes like any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_READ = 64 * 1024
_MARKUP = re.compile(r"^[\s#>*_\-\d.)]+|[*_:\s]+$")
_CAUSE = re.compile(
    r"^[\s#>*_\-\d.)]*(?:most likely |probable |likely )?root[ -]cause\b[*_\s]*(?:is|[:\-\u2013\u2014])?[*_\s]*"
    r"(?P<same>[^\n]*)\n*(?P<next>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_CONFIDENCE = re.compile(r"\bconfidence\b\W{0,8}(?P<level>high|medium|low)\b", re.IGNORECASE)
_VERDICT = re.compile(r"\b(?P<verdict>RootCauseFound|NoProblemFound|Inconclusive)\b")
_CALL_ID = re.compile(r"(?<![\w-])(?P<id>\d{1,4}-\d{1,4})(?![\w-])")
_QUOTE = re.compile(
    r'`(?P<ticked>[^`\n]{3,1024})`|"(?P<plain>[^"\n]{3,1024})"|“(?P<curly>[^”\n]{3,1024})”'
)


def read(text: str) -> dict[str, Any]:
    """The text in the form of the `conclude` tool's arguments; empty for a text without words."""
    text = text[:_READ]
    lines = [line for line in (_MARKUP.sub("", line) for line in text.splitlines()) if line]
    if not lines:
        return {}
    answer: dict[str, Any] = {"summary": lines[0]}
    cause = _cause(text)
    if cause:
        answer |= {
            "summary": cause,
            "rootCause": {"statement": cause, "evidence": list(_evidence(text))},
        }
        answer["rootCause"] |= _named(_CONFIDENCE, text, "level", "confidence")
    verdict = _named(_VERDICT, text, "verdict", "verdict")
    return answer | (verdict or ({} if cause else {"verdict": "Inconclusive"}))


def _cause(text: str) -> str:
    found = _CAUSE.search(text)
    if not found:
        return ""
    return _MARKUP.sub("", found["same"]) or _MARKUP.sub("", found["next"])


def _named(pattern: re.Pattern[str], text: str, group: str, name: str) -> dict[str, str]:
    found = pattern.search(text)
    return {name: found[group]} if found else {}


def _evidence(text: str) -> Iterator[dict[str, str]]:
    """Quotes on a line that also names a call id."""
    for line in text.splitlines():
        call = _CALL_ID.search(_QUOTE.sub("", line))
        for quote in _QUOTE.finditer(line) if call else ():
            words = quote["ticked"] or quote["plain"] or quote["curly"]
            yield {"call": call["id"] if call else "", "quote": words}
