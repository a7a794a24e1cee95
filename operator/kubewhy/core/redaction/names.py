"""Which names speak of a credential: `DB_PASSWORD` does, `secretName` and `tokenExpirationSeconds` don't."""

from __future__ import annotations

import functools
import re

_WORDS_OF_KEYS = ("api", "access", "account", "private", "encryption", "signing", "master")

STEMS = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    *(f"{word}{joint}key" for word in _WORDS_OF_KEYS for joint in ("_", "-", "")),
    "client-key-data",
    *(f"connection{joint}string" for joint in ("_", "-", "")),
    "dsn",
    "dockerconfigjson",
    "dockercfg",
)
"""Lower-case words that make a name sensitive, wherever they stand in it."""

MARKS = ("pass", "pwd", "secret", "token", "credential", "key", "connection", "dsn", "docker")
"""Of these each stem holds one: a text without them has no stem."""

PASSWORDS = frozenset({"password", "passwd", "passphrase", "pwd"})
"""Stems whose value is hardly ever prose."""

SHORT = frozenset({"pwd", "dsn"})
"""Stems that also occur inside ordinary words and so must begin a word of the name."""

_REST = re.compile(
    r"""(?:
      s | names? | refs? | references? | paths? | files? | filename | dir | directory | ur[il]s? | endpoints? | hosts?
    | ports? | seconds | secs | minutes | hours | days | ms | expir\w* | ttl | timeouts? | lifetime | age | max_?age
    | types? | kinds? | namespaces? | versions? | len | length | size | counts? | total | limits? | min | max
    | polic(?:y|ies) | providers? | stores? | audiences? | issuers? | rotat\w* | enabled | required | disabled
    | reviews? | requests? | mounts? | volumes? | templates? | readers? | controllers? | cleaner | managers? | sync
    | labels? | selectors? | fields? | mode | status | states? | errors? | exceptions? | failures? | not_?found
    | missing | invalid | expired | failed | denied | used | usage | bucket | rate | resources? | class | drivers?
    | id | ids | prefix | suffix | strength | hint | reset | updated_?at | created_?at | changed | iz\w* | ary | ly
    | list | informer | cache | watcher | generation | owner | annotations? | optional | hash_?algorithm | encoding
    )\Z""",
    re.VERBOSE,
)
_WORDS = re.compile(r"[a-z]+")


@functools.lru_cache(maxsize=4096)
def is_harmless_rest(rest: str) -> bool:
    """Whether what follows the stem in a lower-case name turns it into a name, path, time, count or the like."""
    plain = rest.strip("_.-0123456789")
    if not plain:
        return False
    last = _WORDS.findall(plain)[-1:]
    return bool(_REST.match(plain.replace("-", "_")) or (last and _REST.match(last[0]))) or any(
        plain.endswith(word) for word in _ENDINGS
    )


_ENDINGS = (
    "name",
    "names",
    "ref",
    "refs",
    "path",
    "file",
    "url",
    "uri",
    "seconds",
    "timeout",
    "policy",
    "provider",
    "version",
    "namespace",
    "enabled",
    "required",
    "manager",
)
"""Endings that are harmless also without a boundary before them, as in `tokenexpirationseconds`."""


@functools.lru_cache(maxsize=4096)
def is_sensitive(name: str) -> bool:
    """Whether a value under this name is a credential; `name` as written, at most some 100 characters."""
    lower = name.lower()
    for stem in STEMS:
        at = lower.rfind(stem)
        if at < 0 or (stem in SHORT and not begins_word(name, at)):
            continue
        if not is_harmless_rest(lower[at + len(stem) :]):
            return True
    return False


def begins_word(text: str, at: int) -> bool:
    """Whether a word begins at this place, as in `DB_DSN`, `sentryDsn` and `dsn`."""
    if at == 0 or not text[at - 1].isalpha():
        return True
    return text[at - 1].islower() and text[at].isupper()
