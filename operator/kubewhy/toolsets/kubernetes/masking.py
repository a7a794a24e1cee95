"""Masks values whose name says that they are secret: environment variables, ConfigMap keys, annotations, fields.

This is structure, seen before it becomes text. The redaction of all tool output comes after it and knows the shapes of
keys and tokens themselves.
"""

from __future__ import annotations

import re

MASK = "[REDACTED]"

_SECRET = re.compile(
    r"passw(?:or)?d|passphrase|secret|token|credential|api[-_.]?key|private[-_.]?key|access[-_.]?key"
    r"|encryption[-_.]?key|signing[-_.]?key|\bdsn\b|connection[-_.]?string|\bauth\b|_auth$|^pwd$|[-_.]pwd$|\.dockerconfig",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:name|namespace|names|ref|refs|selector|path|dir|file|url|uri|host|hostname|port|endpoint|issuer|type|kind|policy|mode"
    r"|provider|version|algorithm|length|size|count|limit|ttl|timeout|interval|age|duration|period|expir\w*|seconds|minutes"
    r"|hours|enabled|disabled|required|method|format|header|audience|scope|template|class|store|manager|controller|rotation)$",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"(?:true|false|yes|no|on|off|null|none|-?\d{1,7}(?:ms|s|m|h|d)?)?", re.IGNORECASE
)
_FILE = re.compile(
    r"\.(?:ya?ml|json|conf|cfg|cnf|ini|properties|toml|xml|sh|sql|lua|js|py|tmpl|tpl|rules|txt|md)$"
)


def sensitive(name: str) -> bool:
    """Whether a value under this name is likely a secret: `DB_PASSWORD` is, `secretName` and `TOKEN_TTL` are not."""
    return bool(_SECRET.search(name)) and not _ABOUT.search(name)


def value(name: str, found: str) -> str:
    """The value, or the mask in its place.

    Switches and small numbers stay, they tell more than they hide. A configuration file of several lines stays as well:
    its secrets have names of their own, which the redaction of text finds.
    """
    if not sensitive(name) or _HARMLESS.fullmatch(found):
        return found
    return found if _FILE.search(name) and "\n" in found.strip() else MASK
