"""Counted, bounded reads that never raise: what could not be read is kept as a value for the reader of the facts."""

from __future__ import annotations

import asyncio
from typing import Final

from kubewhy import errors
from kubewhy.core import loglines, ports
from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, snapshot

MOST_REQUESTS: Final = 40
"""Requests of one first look (benchmarks: at most 40)."""

READ_SECONDS: Final = 8.0
LOG_SECONDS: Final = 5.0
LOG_LINES: Final = 200
LOG_BYTES: Final = 64 * 1024
"""What is kept of a log's end."""

NOT_AVAILABLE: Final = "NotAvailable"
_KUBELET_REFUSALS: Final = (
    "unable to retrieve container logs for ",
    "failed to try resolving symlinks in path ",
)
"""What the kubelet sends as the log itself when the container or its log file was removed meanwhile."""

LOG_READ_BYTES: Final = 1024 * 1024
"""What is read at most before a shorter tail is asked for."""


class Reads:
    """The reads of one first look."""

    def __init__(self, kube: ports.KubeReader, *, most: int = MOST_REQUESTS) -> None:
        self._kube = kube
        self._most = most
        self.count = 0
        self.failures: list[snapshot.Failure] = []
        self.missing: dict[objects.Ref, str] = {}

    async def get(
        self, resource: ports.Resource, name: str, *, namespace: str = ""
    ) -> shapes.Object | None:
        """One object; None where it is missing or could not be read (`missing`, `failures` tell which)."""
        if not name or not self._take("get", resource, name):
            return None
        try:
            async with asyncio.timeout(READ_SECONDS):
                found = await self._kube.get(resource, name, namespace=namespace)
        except errors.ApiNotFound as error:
            self.missing[objects.Ref(resource.kind, name)] = str(error)
            return None
        except (errors.ApiError, errors.ToolFailure, TimeoutError) as error:
            self._failed("get", resource, name, error)
            return None
        return {**found, "kind": resource.kind}

    async def list(
        self,
        resource: ports.Resource,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        limit: int = 100,
    ) -> tuple[tuple[shapes.Object, ...], int]:
        """One page of objects, and how many were left out."""
        if not self._take("list", resource, ""):
            return (), 0
        try:
            async with asyncio.timeout(READ_SECONDS):
                page = await self._kube.list(
                    resource,
                    namespace=namespace,
                    label_selector=labels,
                    field_selector=fields,
                    limit=limit,
                )
        except (errors.ApiError, errors.ToolFailure, TimeoutError) as error:
            self._failed("list", resource, "", error)
            return (), 0
        left = (page.remaining or 1) if page.continue_token else 0
        return tuple({**item, "kind": resource.kind} for item in page.items), left

    async def resource(self, word: str) -> ports.Resource | None:
        """A kind that is not built in; None where the API server serves none of that name."""
        self.count += 1
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._kube.resource(word)
        except (errors.ApiError, errors.ToolFailure, TimeoutError):
            return None

    async def log(self, pod: str, container: str, *, previous: bool) -> snapshot.Log:
        """The end of a container's log; of one whose lines are huge, the end of fewer lines."""
        tails = [1, 20, LOG_LINES]
        kept, total, problem = b"", LOG_READ_BYTES + 1, ""
        tail = LOG_LINES
        while tails and not problem and total > LOG_READ_BYTES:
            tail = tails.pop()
            kept, total, problem = await self._log_bytes(pod, container, previous, tail)
        lines = kept.decode("utf-8", "replace").splitlines()
        if len(lines) == 1 and lines[0].startswith(_KUBELET_REFUSALS):
            problem, lines = f"{NOT_AVAILABLE}: {loglines.clean(lines[0])}", []
        return snapshot.Log(
            pod=pod,
            container=container,
            previous=previous,
            lines=tuple(cleaned for line in lines if (cleaned := loglines.clean(line)).strip()),
            total_bytes=total,
            cut=total > len(kept) or len(lines) >= tail,
            problem=problem,
        )

    async def _log_bytes(
        self, pod: str, container: str, previous: bool, tail: int
    ) -> tuple[bytes, int, str]:
        resource = ports.Resource(
            group="", version="v1", name="pods/log", kind="Pod", namespaced=True
        )
        if not self._take("get", resource, pod):
            return b"", 0, "BudgetSpent"
        kept, total, problem = bytearray(), 0, ""
        stream = self._kube.logs(pod, container=container, previous=previous, tail_lines=tail)
        try:
            async with asyncio.timeout(LOG_SECONDS):
                async for chunk in stream:
                    total += len(chunk)
                    kept += chunk
                    del kept[: max(0, len(kept) - LOG_BYTES)]
                    if total > LOG_READ_BYTES:
                        break
        except (
            errors.ApiInvalid
        ) as error:  # the kubelet's answer for "no such log": a fact, not a failure
            problem = f"{NOT_AVAILABLE}: {error}"
        except errors.ApiNotFound as error:
            problem = f"NotFound: {error}"
        except (errors.ApiError, errors.ToolFailure, TimeoutError) as error:
            problem = reason(error)
            self._failed("get", resource, f"{pod} container {container}", error)
        finally:
            close = getattr(stream, "aclose", None)
            if close:
                await close()
        return bytes(kept), total, problem

    def _take(self, verb: str, resource: ports.Resource, name: str) -> bool:
        if self.count < self._most:
            self.count += 1
            return True
        self.failures.append(
            snapshot.Failure(
                verb=verb,
                resource=resource.name,
                name=name,
                reason="BudgetSpent",
                message=f"not read: the limit of {self._most} requests was reached",
            )
        )
        return False

    def _failed(self, verb: str, resource: ports.Resource, name: str, error: Exception) -> None:
        message = str(error) or f"no answer within {READ_SECONDS:.0f} s"
        failure = snapshot.Failure(
            verb=verb,
            resource=resource.name,
            name=name,
            reason=reason(error),
            message=message[:500],
        )
        if failure not in self.failures:
            self.failures.append(failure)


def reason(error: Exception) -> str:
    """One word for why a read failed."""
    if isinstance(error, TimeoutError):
        return "TimedOut"
    if isinstance(error, errors.ToolFailure):
        return error.status
    return type(error).__name__.removeprefix("Api")
