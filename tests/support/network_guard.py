"""Refuses every network use of this process that leaves the machine, and remembers it.

An audit hook sees connections and name look-ups of every library, whatever it does with the error
it gets; so a test also fails where the code under test swallowed the refusal. Programs that a test
starts are not seen.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable

_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost"})


class NetworkForbiddenError(OSError):
    """A test tried to reach something outside this machine."""


def stays_here(host: object) -> bool:
    """Whether `host`, a name or an address as the socket functions take it, is this machine."""
    if host is None:
        return True
    name = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    name = name.lower().rstrip(".")
    if name in _LOCAL_NAMES or name == socket.gethostname().lower():
        return True
    address = _address(name)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def guard(refused: Callable[[str], None]) -> Callable[[str, tuple[object, ...]], None]:
    """Return an audit hook that calls `refused` with a sentence before it raises."""

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event in _CONNECTS:
            _check_connect(event, args, refused)
        elif event in _LOOKUPS:
            _check_lookup(event, args[0], refused)

    return hook


def install(refused: Callable[[str], None]) -> None:
    """Guard this process from now on; an audit hook can't be taken away again."""
    sys.addaudithook(guard(refused))


def _check_connect(event: str, args: tuple[object, ...], refused: Callable[[str], None]) -> None:
    connection, address = args[0], args[-1]
    family = getattr(connection, "family", None)
    if family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return
    if not stays_here(address[0]):
        _refuse(f"{event} to {address[0]}:{address[1]}", refused)


def _check_lookup(event: str, host: object, refused: Callable[[str], None]) -> None:
    if stays_here(host) or _address(host):
        return  # an address is looked up nowhere; only connecting to it leaves the machine
    if str(host).lower().rstrip(".").endswith(".invalid"):
        # RFC 6761: such a name never exists; a test may say "a host that isn't there" with it.
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    _refuse(f"{event} of {host!r}", refused)


def _refuse(what: str, refused: Callable[[str], None]) -> None:
    message = f"{what}: tests use the loopback interface only; start the other side in the test"
    refused(message)
    raise NetworkForbiddenError(message)
