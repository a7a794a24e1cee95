"""URL paths of the Kubernetes API, built from checked and percent-encoded parts.

Names come from models, alerts and users. A name that breaks the Kubernetes grammar is refused before any request, so
`../` or `%2e` never reach a URL.
"""

from __future__ import annotations

import re
import urllib.parse

from kubewhy import errors
from kubewhy.core import ports

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SEGMENT = re.compile(r"[^/%\x00-\x20\x7f]+")
_NAME_LENGTH = 253
_SELECTOR_LENGTH = 2048


def of(
    resource: ports.Resource, *, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """The path of a kind's list, of one object (`name`), or of one of its subresources.

    Raises:
        errors.ApiInvalid: namespace or name break the Kubernetes grammar.
    """
    root = f"/apis/{_quote(resource.group)}" if resource.group else "/api"
    parts = [root, _quote(resource.version)]
    if resource.namespaced and namespace:
        parts += ["namespaces", _quote(check_namespace(namespace))]
    parts.append(_quote(resource.name))
    if name:
        parts.append(_quote(check_name(name, resource)))
    if subresource:
        parts.append(_quote(subresource))
    return "/".join(parts)


def check_namespace(namespace: str) -> str:
    """Return it if it is a DNS label.

    Raises:
        errors.ApiInvalid: it is not.
    """
    if not _LABEL.fullmatch(namespace):
        raise errors.ApiInvalid(
            f"{_shown(namespace)} is no namespace name: use lower-case letters, digits and '-', at most 63"
        )
    return namespace


def check_name(name: str, resource: ports.Resource) -> str:
    """Return it if the API server could know an object of that name.

    RBAC objects may have nearly any name that fits into one path segment; all others are DNS subdomains.

    Raises:
        errors.ApiInvalid: it breaks the grammar.
    """
    free = resource.group == "rbac.authorization.k8s.io"
    fits = (
        _SEGMENT.fullmatch(name) and name not in {".", ".."} if free else _SUBDOMAIN.fullmatch(name)
    )
    if not fits or len(name) > _NAME_LENGTH:
        raise errors.ApiInvalid(
            f"{_shown(name)} is no name of a {resource.kind}: use lower-case letters, digits, '-' and '.', "
            f"at most {_NAME_LENGTH}"
        )
    return name


def check_selector(selector: str) -> str:
    """Return it if its length is bounded; its grammar is the API server's matter.

    Raises:
        errors.ApiInvalid: longer than 2,048 characters.
    """
    if len(selector) > _SELECTOR_LENGTH:
        raise errors.ApiInvalid(
            f"selector of {len(selector)} characters; at most {_SELECTOR_LENGTH} are read"
        )
    return selector


def _quote(part: str) -> str:
    return urllib.parse.quote(part, safe=":")


def _shown(text: str) -> str:
    return ascii(text[:80])
