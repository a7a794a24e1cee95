"""Prometheus' HTTP API: queries and alerts as values, failures as `ToolFailure` in Prometheus' own words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kubewhy import errors
from kubewhy.core import ports, tools

LIMIT_BYTES = 8 * 1024 * 1024
"""Most bytes of one reply that are read."""

TIMEOUT_SECONDS = 20.0
"""For one request, and given to Prometheus as the query's own limit."""

_SHOWN = 500


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series: its labels and its points, each Unix seconds and the value as Prometheus writes it."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, str]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a query returned: `kind` is vector, matrix, scalar or string; `bytes` is the reply's size."""

    kind: str
    series: Sequence[Series]
    warnings: Sequence[str]
    bytes: int


class Api:
    """The API below one base address."""

    def __init__(self, reader: ports.HttpReader, base_url: str, headers: Mapping[str, str]) -> None:
        self._reader = reader
        self._base = base_url.rstrip("/")
        self._headers = headers

    async def query(
        self, query: str, *, time: float | None = None, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> Answer:
        """Evaluate at one time (Unix seconds; None: now).

        Raises:
            errors.ToolFailure: refused, failed, forbidden, timed out, too large or unreadable.
        """
        params = {"query": query, "timeout": f"{timeout_seconds:g}s"}
        if time is not None:
            params["time"] = f"{time:.3f}"
        return await self._answer("query", params, timeout_seconds)

    async def query_range(self, query: str, *, start: float, end: float, step: float) -> Answer:
        """Evaluate at each `step` seconds from `start` to `end` (Unix seconds).

        Raises:
            errors.ToolFailure: as `query`.
        """
        params = {
            "query": query,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step:g}",
            "timeout": f"{TIMEOUT_SECONDS:g}s",
        }
        return await self._answer("query_range", params, TIMEOUT_SECONDS)

    async def alerts(self) -> Sequence[Mapping[str, Any]]:
        """All pending and firing alerts as Prometheus describes them.

        Raises:
            errors.ToolFailure: as `query`.
        """
        reply, _ = await self._get("alerts", {}, TIMEOUT_SECONDS)
        found = reply["data"].get("alerts")
        if not isinstance(found, list):
            raise _failure("Prometheus answered without a list of alerts")
        return [alert for alert in found if isinstance(alert, dict)]

    async def _answer(self, path: str, params: Mapping[str, str], seconds: float) -> Answer:
        reply, size = await self._get(path, params, seconds)
        data = reply["data"]
        kind = str(data.get("resultType", ""))
        try:
            series = _series(kind, data.get("result"))
        except (KeyError, TypeError, ValueError) as error:
            raise _failure(f"Prometheus' result of type {kind!r} can't be read") from error
        notes = [*_texts(reply.get("warnings")), *_texts(reply.get("infos"))]
        return Answer(kind=kind, series=series, warnings=notes, bytes=size)

    async def _get(
        self, path: str, params: Mapping[str, str], seconds: float
    ) -> tuple[Mapping[str, Any], int]:
        reply = await self._reader.get(
            f"{self._base}/api/v1/{path}",
            params=params,
            headers=self._headers,
            timeout_seconds=seconds,
            limit_bytes=LIMIT_BYTES,
        )
        if reply.truncated:
            raise _failure(
                f"the reply is larger than {LIMIT_BYTES // 1024 // 1024} MiB: ask for fewer series "
                "(more labels, sum by (…), topk) or a shorter range"
            )
        value = _json(reply.body)
        if value.get("status") == "success" and isinstance(value.get("data"), dict):
            return value, len(reply.body)
        raise _refusal(reply, value)


def _series(kind: str, result: Any) -> list[Series]:
    if kind in {"scalar", "string"}:
        return [Series(labels={}, points=[(float(result[0]), str(result[1]))])]
    if kind not in {"vector", "matrix"}:
        raise ValueError(kind)
    return [_one_series(item) for item in result]


def _one_series(item: Mapping[str, Any]) -> Series:
    labels = {str(name): str(value) for name, value in item["metric"].items()}
    plain = item.get("values") or ([item["value"]] if "value" in item else [])
    histograms = item.get("histograms") or ([item["histogram"]] if "histogram" in item else [])
    points = [(float(at), str(value)) for at, value in plain]
    points += [
        (float(at), f"count={value['count']} sum={value['sum']}") for at, value in histograms
    ]
    return Series(labels=labels, points=sorted(points))


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _refusal(reply: ports.HttpReply, value: Mapping[str, Any]) -> errors.ToolFailure:
    """What an answer other than success means."""
    kind = str(value.get("errorType") or "")
    message = str(value.get("error") or "")[:_SHOWN]
    if kind == "timeout":
        return _failure(f"the query took too long: {message}", tools.ToolStatus.TIMED_OUT)
    if kind:
        return _failure(f"Prometheus refused the query ({kind}): {message}")
    said = reply.body[:_SHOWN].decode("utf-8", "replace").strip() or "no text"
    if reply.status in {401, 403}:
        text = f"Prometheus answered {reply.status}: {said}. Its address needs other credentials."
        return _failure(text, tools.ToolStatus.FORBIDDEN)
    if 300 <= reply.status < 400:  # noqa: PLR2004 - the redirects of HTTP
        said = f"a redirect to {reply.headers.get('location', 'nowhere')[:_SHOWN]}, which is not followed"
    return _failure(f"Prometheus answered {reply.status}, not as its API does: {said}")


def _failure(message: str, status: tools.ToolStatus = tools.ToolStatus.ERROR) -> errors.ToolFailure:
    return errors.ToolFailure(status, message)


def _texts(value: Any) -> list[str]:
    return [str(text)[:_SHOWN] for text in value[:5]] if isinstance(value, list) else []
