"""Free ports on loopback, a free network for pods, and the links of pods."""

import json
import random
import socket
import subprocess
from collections.abc import Collection, Iterable, Iterator
from ipaddress import IPv4Network
from typing import Any

from localcluster.errors import ClusterError

# Below Linux's default range for outgoing connections (32768 up), which could take a port between
# choice and use, and above the well-known ones.
_PORTS = range(20000, 30000)
_PORT_ATTEMPTS = 200
_SECONDS = 20

_POOLS = (
    IPv4Network("10.244.0.0/16"),
    IPv4Network("172.28.0.0/16"),
    IPv4Network("192.168.192.0/18"),
    IPv4Network("198.18.0.0/15"),
)
# Routes this wide are "everything else" (a default route, or the halves a VPN makes of it).
_WIDE = 4


def free_port(taken: Collection[int]) -> int:
    """A port on 127.0.0.1 that nobody listens on and that is not in `taken`. Raises ClusterError."""
    for port in random.sample(_PORTS, _PORT_ATTEMPTS):
        if port not in taken and is_free(port):
            return port
    raise ClusterError(
        f"No free port between {_PORTS.start} and {_PORTS.stop} on 127.0.0.1: free some."
    )


def is_free(port: int) -> bool:
    """Whether nobody listens on `port` of 127.0.0.1 or of all addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_subnet(covered: Collection[IPv4Network]) -> IPv4Network:
    """The first /24 of the private pools that overlaps none of `covered`. Raises ClusterError.

    CNI's host-local would else hand out addresses that the machine itself has or must reach.
    """
    for pool in _POOLS:
        for candidate in pool.subnets(new_prefix=24):
            if not any(candidate.overlaps(network) for network in covered):
                return candidate
    raise ClusterError(
        "No free /24 for pods: every private network is covered by a line of `ip route`."
    )


def parse_routes(listing: str) -> Iterator[tuple[IPv4Network, str]]:
    """Destination and device of each route in `ip -json -4 route`, but for default routes."""
    for line in json.loads(listing or "[]"):
        match line:
            case {"dst": str(destination)} if destination != "default":
                network = IPv4Network(destination, strict=False)
                if network.prefixlen >= _WIDE:
                    yield network, str(line.get("dev", ""))


def covered() -> list[IPv4Network]:
    """The networks of all routing tables, the machine's own addresses among them."""
    return [
        network for network, _ in parse_routes(_ip("-json", "-4", "route", "show", "table", "all"))
    ]


def remove_links(subnet: IPv4Network) -> None:
    """Delete the host's ends of the pod links, known by their routes into `subnet`.

    The kernel deletes them too when the last process of the pod's network namespace is gone, but
    takes its time.
    """
    for device in pod_links(parse_routes(_ip("-json", "-4", "route", "show")), subnet):
        _run("link", "delete", "dev", device)


def pod_links(routes: Iterable[tuple[IPv4Network, str]], subnet: IPv4Network) -> set[str]:
    return {device for network, device in routes if device and network.subnet_of(subnet)}


def _ip(*arguments: str) -> str:
    done = _run(*arguments)
    if done.returncode != 0:
        raise ClusterError(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()[:200]}")
    return str(done.stdout)


def _run(*arguments: str) -> Any:
    try:
        return subprocess.run(
            ["ip", *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise ClusterError(
            "The program ip is missing: install the Debian package iproute2."
        ) from None
