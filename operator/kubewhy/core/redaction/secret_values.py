"""What a value of a Secret gives to learn."""

from __future__ import annotations

import base64
import binascii
import re

from kubewhy.core.redaction.spans import MASK

_SHORTEST = 6
_LINES = 64
_LINE_LENGTH = 20
_PUBLIC = re.compile(r"-----BEGIN [A-Z ]*(?:CERTIFICATE|PUBLIC KEY)-----")
_LABELLED = re.compile(
    r"(?i)(?:passw|passphrase|secret|token|key)[\w.-]*[\"']?\s*[:=]\s*[\"']?([^\s\"',;]{6,})"
)


def learned(value: str, *, encoded: bool) -> tuple[str, ...]:
    """The plain values behind one entry of `data` (`encoded`: in Base64) or `stringData`."""
    if len(value) < _SHORTEST or MASK in value:
        return ()
    plain = _plain(value) if encoded else value
    if plain is None:
        return (value,)
    if _PUBLIC.search(plain) and "PRIVATE KEY" not in plain:
        return ()
    if "\n" not in plain.strip():
        return (value, plain, plain.strip()) if encoded else (plain, plain.strip())
    lines = [line.strip() for line in plain.split("\n")[:_LINES]]
    long = [
        line
        for line in lines
        if len(line) >= _LINE_LENGTH and " " not in line and "-----" not in line
    ]
    return (plain, *long, *_LABELLED.findall(plain)[:_LINES])


def _plain(value: str) -> str | None:
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
