"""Masks credentials in text that comes from outside, before it is stored, shown or sent anywhere.

The one chokepoint is `redact`; callers use it before they cut a text, because a cut credential has no shape left.
Rules look at the text as it came and name spans of it: manifests of Secrets, entries of environments, labelled values
such as `DB_PASSWORD: …`, and the shapes of well-known credentials. What a label gave away is learned and also removed
where it stands without a label, with its Base64 and URL forms. Everything is linear in the length of the text.

Not caught: unlabelled strings without a known shape, values split over lines, all but the first word of an unquoted
value that shares its line with other text, and repetitions of more values than `learning.SEARCH_BUDGET` pays for.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from kubewhy.core.redaction import environments, learning, pairs, secret_json, secret_yaml, shapes
from kubewhy.core.redaction.spans import MASK, Finding, masked

__all__ = ["MASK", "redact"]

MOST = 100_000
"""Credentials in a text; one with more is masked as a whole, so that no text costs more than its length."""

_RULES = (secret_yaml.find, secret_json.find, environments.find, pairs.find, shapes.find)
"""In the order in which their values are learned: the surest first."""


def redact(text: str, *, known: Collection[str] = ()) -> str:
    """The text with each credential in it replaced by `MASK`; masking twice changes nothing more.

    Args:
        text: anything that is going to be stored, shown or sent.
        known: values to remove wherever they occur, such as the operator's own keys; those shorter than
            `learning.SHORTEST_KNOWN` are passed over, since they would hit ordinary words.
    """
    findings: list[Finding] = []
    for find in _RULES:
        findings += itertools.islice(find(text), MOST)
        if len(findings) >= MOST:
            return MASK
    further = [*learning.known_spans(text, known), *learning.learned_spans(text, findings)]
    return masked(text, [*((start, end, mask) for start, end, mask, _ in findings), *further])
