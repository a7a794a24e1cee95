"""The exporter over HTTP. Goes in: a stand-in for the API server. Observed: the page that Prometheus gets.

Mocked: the API server, because refusals and pages of one object can't be had from a real one at will; the
real one is part of tests/node/test_demo.py.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

import api
import exporter

GOOD = "good"


class Stub:
    """Serves lists, one object to a page, to whoever has the token."""

    def __init__(self) -> None:
        self.objects: dict[str, list[dict[str, Any]]] = {}
        self.refused = ""
        self.url = ""

    def answer(self, path: str, query: dict[str, list[str]], token: str) -> tuple[int, Any]:
        if token != f"Bearer {GOOD}" or path == self.refused:
            return 403, {"kind": "Status", "code": 403}
        at = int(query.get("continue", ["0"])[0])
        objects = self.objects.get(path, [])
        follows = str(at + 1) if at + 1 < len(objects) else ""
        return 200, {"metadata": {"continue": follows}, "items": objects[at : at + 1]}


@pytest.fixture
def stub() -> Iterator[Stub]:
    found = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            code, content = found.answer(
                parts.path, parse_qs(parts.query), self.headers.get("Authorization", "")
            )
            body = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def scrape(stub: Stub, *, token: str = GOOD, path: str = "/metrics") -> httpx.Response:
    access = api.Access(server=stub.url, authority="", token=token)
    with exporter.serving(access) as port:
        return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False)


def test_all_pages_are_read(stub: Stub, pod: dict[str, Any]) -> None:
    other = json.loads(json.dumps(pod))
    other["metadata"]["name"] = "storefront-1"
    stub.objects["/api/v1/pods"] = [pod, other]
    page = scrape(stub)
    assert page.status_code == 200
    lines = [
        line
        for line in page.text.splitlines()
        if line.startswith("kube_pod_container_status_waiting_reason{")
    ]
    assert len(lines) == 2
    assert lines[0] == (
        'kube_pod_container_status_waiting_reason{container="checkout",namespace="shop",'
        'pod="checkout-5f9c-x2x7k",reason="CrashLoopBackOff",uid="0b1c"} 1.0'
    )


@pytest.mark.parametrize("refused", ["/api/v1/pods", "/apis/apps/v1/replicasets"])
def test_a_refused_read_fails_the_scrape(stub: Stub, pod: dict[str, Any], refused: str) -> None:
    """A page without pods would end alerts that still hold."""
    stub.objects["/api/v1/pods"] = [pod]
    stub.refused = refused
    assert scrape(stub).status_code == 503


def test_it_reads_with_the_token_it_was_given(stub: Stub) -> None:
    assert scrape(stub, token="bad").status_code == 503
    assert scrape(stub).status_code == 200


def test_it_serves_nothing_else(stub: Stub) -> None:
    assert scrape(stub, path="/").status_code == 404
