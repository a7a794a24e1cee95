"""A small stand-in for kube-state-metrics: the live objects, read at each scrape, under its series names."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

import httpx
import prometheus_client
from prometheus_client import core, registry

import api
import series


class Objects(registry.Collector):
    """What one scrape reads from the API server."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def collect(self) -> Iterator[core.Metric]:
        """The series of all pods, Deployments and ReplicaSets.

        Raises:
            httpx.HTTPError: the API server did not answer, or refused.
        """
        yield from series.pod_families(api.items(self._client, "/api/v1/pods"))
        apps = "/apis/apps/v1"
        yield from series.deployment_families(api.items(self._client, f"{apps}/deployments"))
        yield from series.replicaset_families(api.items(self._client, f"{apps}/replicasets"))


@contextlib.contextmanager
def serving(access: api.Access) -> Iterator[int]:
    """Serve /metrics on a free port of the loopback interface; gives the port."""
    with api.connect(access) as client:
        found = core.CollectorRegistry(auto_describe=False)
        found.register(Objects(client))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(found))
        thread = threading.Thread(target=server.serve_forever, name="exporter", daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(found: core.CollectorRegistry) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/metrics":
                self.send_error(404)
                return
            try:
                body = prometheus_client.generate_latest(found)
            except httpx.HTTPError as error:
                # The scrape fails, and `up` says so; a page without pods would resolve alerts.
                self.send_error(503, explain=str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", prometheus_client.CONTENT_TYPE_LATEST)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: a scrape every two seconds is no news."""

    return Handler
