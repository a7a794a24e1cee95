"""Just enough of a client to see that an API server works."""

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECONDS = 5.0
_LARGEST_ANSWER = 1 << 20


@dataclass(frozen=True)
class Api:
    """The API server on `port` of loopback, its authority's file and a token."""

    port: int
    authority: Path
    token: str

    def is_ready(self) -> bool:
        """Whether /readyz says ok."""
        return self._get("/readyz") == b"ok"

    def has_default_account(self) -> bool:
        """Whether pods can be made in the namespace `default`: it has its ServiceAccount."""
        return self._get("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def is_node_ready(self, node: str) -> bool:
        """Whether `node` is there and its condition Ready is True."""
        answer = self._get(f"/api/v1/nodes/{node}")
        return answer is not None and node_ready(json.loads(answer))

    def _get(self, path: str) -> bytes | None:
        """The body of a 200; None for any other outcome, since the caller only waits for this one."""
        try:
            context = ssl.create_default_context(cafile=str(self.authority))
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=_SECONDS, context=context
            )
            try:
                connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
                response = connection.getresponse()
                body = response.read(_LARGEST_ANSWER)
                return body if response.status == http.client.OK else None
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return None


def node_ready(node: Any) -> bool:
    """Whether a Node object has the condition Ready with status True."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )
