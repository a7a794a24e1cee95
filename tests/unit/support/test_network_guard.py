"""The guard itself: what it lets through, what it refuses, and that a swallowed refusal is kept."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import network_guard

_TESTS = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        (b"localhost", True),
        (None, True),
        ("0.0.0.0", True),  # noqa: S104
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("192.0.2.7", False),
        ("2001:db8::1", False),
        ("example.com", False),
        ("localhost.example.com", False),
    ],
)
def test_only_this_machine_is_local(host: object, local: bool) -> None:
    assert network_guard.stays_here(host) is local


def test_connect_abroad_is_refused_and_remembered() -> None:
    remembered: list[str] = []
    hook = network_guard.guard(remembered.append)
    with socket.socket() as connection, contextlib.suppress(OSError):
        hook("socket.connect", (connection, ("192.0.2.7", 443)))
    assert remembered == [
        "socket.connect to 192.0.2.7:443: tests use the loopback interface only; "
        "start the other side in the test"
    ]


def test_lookup_abroad_is_refused() -> None:
    remembered: list[str] = []
    hook = network_guard.guard(remembered.append)
    with pytest.raises(network_guard.NetworkForbiddenError, match=r"api\.example\.com"):
        hook("socket.getaddrinfo", ("api.example.com", 443, 0, 0, 0))
    assert len(remembered) == 1


def test_an_invalid_name_is_simply_not_known() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("model.invalid", 443)


def test_unix_sockets_and_loopback_pass() -> None:
    left, right = socket.socketpair()
    with left, right, socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_the_guard_is_installed_in_this_process(refused_network_uses: list[str]) -> None:
    with socket.socket() as connection, contextlib.suppress(OSError):
        connection.settimeout(1)
        connection.connect(("192.0.2.7", 9))
    assert any("192.0.2.7:9" in text for text in refused_network_uses)
    refused_network_uses.clear()


def test_a_swallowed_refusal_fails_the_test_that_caused_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((_TESTS / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(
        "import contextlib, socket\n"
        "def test_swallows():\n"
        "    with contextlib.suppress(OSError):\n"
        "        socket.create_connection(('192.0.2.7', 9), timeout=1)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(_TESTS / "support"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # loading them would take most of the time
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "192.0.2.7:9: tests use the loopback interface only" in done.stdout
