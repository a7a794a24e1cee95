"""Texts from the cluster, made fit to be shown: nothing invisible, bounded, and no credential cut in half.

The engine redacts every result, but a credential that was cut before has no shape left that it could find. So whatever
is cut here is redacted first.
"""

from __future__ import annotations

from kubewhy.core import redaction, untrusted


def line(text: str, most: int) -> str:
    """One line of at most `most` characters; blanks before it stay."""
    clean = untrusted.clean_line(text).rstrip()
    return clean if len(clean) <= most else redaction.redact(clean)[: most - 1] + "…"


def block(text: str, most: int) -> tuple[str, bool]:
    """At most `most` characters, cut at a line's end where one is near, and whether something was cut away."""
    clean = untrusted.clean(text)
    if len(clean) <= most:
        return clean, False
    kept = redaction.redact(clean)[:most]
    end = kept.rfind("\n") + 1
    return (kept[:end] if end > most // 2 else f"{kept}…\n"), True
