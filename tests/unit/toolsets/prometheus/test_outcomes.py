from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.toolsets import prometheus
from kubewhy.toolsets.prometheus import queries, times

NOW = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


@dataclasses.dataclass
class Canned:
    """A reader with one answer; what was asked is kept."""

    reply: ports.HttpReply
    asked: list[tuple[str, Mapping[str, str], Mapping[str, str]]] = dataclasses.field(
        default_factory=list
    )

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 20.0,
        limit_bytes: int = 0,
    ) -> ports.HttpReply:
        assert 0 < timeout_seconds <= 20
        assert limit_bytes > 0
        self.asked.append((url, params or {}, headers or {}))
        return self.reply


def _reply(body: object, status: int = 200, *, truncated: bool = False) -> ports.HttpReply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ports.HttpReply(
        status=status, headers={"location": "http://login"}, body=data, truncated=truncated
    )


def _success(kind: str, result: object, **more: object) -> ports.HttpReply:
    return _reply({"status": "success", "data": {"resultType": kind, "result": result}, **more})


async def _run(reader: Canned, tool: str, **arguments: Any) -> tools.ToolOutput:
    toolset = prometheus.toolset(reader, "http://p/base/", {"X-Scope-OrgID": "shop"})
    chosen = next(found for found in toolset.tools if found.spec.name == f"prometheus_{tool}")
    context = ports.ToolContext(
        namespace="shop", subject=None, kube=cast("ports.KubeReader", None), now=lambda: NOW
    )
    return await chosen.run(context, arguments)


def _error(kind: str, text: str) -> dict[str, str]:
    return {"status": "error", "errorType": kind, "error": text}


@pytest.mark.parametrize(
    ("reply", "status", "message"),
    [
        (_reply(_error("timeout", "query timed out"), 503), "TimedOut", "query timed out"),
        (_reply(_error("unavailable", "not ready"), 503), "Error", r"\(unavailable\): not ready"),
        (_reply(b"<html>gateway</html>", 502), "Error", "answered 502.*gateway"),
        (_reply(b"", 503), "Error", "answered 503.*no text"),
        (_reply(b"who are you", 401), "Forbidden", "answered 401: who are you"),
        (_reply(b"no", 403), "Forbidden", "answered 403"),
        (_reply(b"", 302), "Error", "redirect to http://login, which is not followed"),
        (_reply(b"[" * 100_000), "Error", "answered 200, not as its API does"),
        (_reply({"status": "success"}), "Error", "not as its API does"),
        (_reply(b"{}", truncated=True), "Error", "larger than 8 MiB"),
        (_success("vector", [{"metric": {}, "value": ["x", 1]}]), "Error", "can't be read"),
        (_success("marvel", []), "Error", "'marvel' can't be read"),
    ],
)
async def test_each_failure_is_told_apart(
    reply: ports.HttpReply, status: str, message: str
) -> None:
    with pytest.raises(errors.ToolFailure, match=message) as failure:
        await _run(Canned(reply), "query", query="up")
    assert failure.value.status == status


async def test_headers_and_path_are_sent() -> None:
    reader = Canned(_success("vector", []))

    await _run(reader, "query", query="up", time="2026-01-31T11:00:00Z")

    url, params, headers = reader.asked[0]
    assert url == "http://p/base/api/v1/query"
    assert headers == {"X-Scope-OrgID": "shop"}
    assert params == {"query": "up", "timeout": "20s", "time": "1769857200.000"}


async def test_values_that_are_no_numbers_survive() -> None:
    values = ["NaN", "+Inf", "-Inf", "1e300", "0.1234567", "12345678"]
    result = [{"metric": {"v": value}, "value": [1, value]} for value in values]

    output = await _run(Canned(_success("vector", result)), "query", query="x")

    rows = output.text.splitlines()[3:]
    assert rows[:4] == [
        '+Inf  {v="+Inf"}',
        '1e+300  {v="1e300"}',
        '12345678  {v="12345678"}',
        '0.123457  {v="0.1234567"}',
    ]
    assert set(rows[4:]) == {'-Inf  {v="-Inf"}', 'NaN  {v="NaN"}'}


async def test_minimum_and_maximum_pass_over_nan() -> None:
    values = [[0, "NaN"], [60, "2"], [120, "7"], [180, "NaN"]]
    reader = Canned(_success("matrix", [{"metric": {"a": "b"}, "values": values}]))

    output = await _run(reader, "query_range", query="x")

    assert "min=2 at 1970-01-01T00:01:00Z max=7 at 1970-01-01T00:02:00Z" in output.text
    assert "last=NaN" in output.text


async def test_native_histograms_show_count_and_sum() -> None:
    histogram = {"count": "3", "sum": "4.5", "buckets": []}
    reader = Canned(_success("vector", [{"metric": {"a": "b"}, "histogram": [1, histogram]}]))

    output = await _run(reader, "query", query="x")

    assert 'count=3 sum=4.5  {a="b"}' in output.text


async def test_warnings_reach_the_reader() -> None:
    reader = Canned(_success("vector", [], warnings=["a store is away"]))

    output = await _run(reader, "query", query="x")

    assert output.status is tools.ToolStatus.NO_DATA
    assert "warning: a store is away" in output.text


async def test_many_alerts_are_cut_and_counted() -> None:
    alerts = [
        {
            "labels": {"alertname": f"A{number:03}"},
            "state": "firing",
            "activeAt": f"2026-01-31T11:{number % 60:02}:00.123456789Z",
            "value": "1e+00",
        }
        for number in range(70)
    ]

    output = await _run(Canned(_reply({"status": "success", "data": {"alerts": alerts}})), "alerts")

    assert output.truncated
    assert "70 firing, of which 20 are left out" in output.text
    assert "firing A059 since 2026-01-31T11:59:00Z (59s) value=1 {}" in output.text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("now", 0), ("-1h", 3600), ("now-90s", 90), ("1h30m ago", 5400), ("- 5m", 300)],
)
def test_relative_times(text: str, seconds: int) -> None:
    assert times.moment(text, NOW) == NOW.timestamp() - seconds


@pytest.mark.parametrize(
    "text",
    ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-01-31T12:00:00", "1769860800"],
)
def test_absolute_times(text: str) -> None:
    assert times.moment(text, NOW) == NOW.timestamp()


@pytest.mark.parametrize("text", ["soon", "-", "-1x", "13:00", "99999-01-01", "--1h"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        times.moment(text, NOW)


@pytest.mark.parametrize("span", [1, 299, 300, 3600, 86400, 31_536_000])
@pytest.mark.parametrize("asked", [None, 0.001, 15.0, 1e9])
def test_no_step_gives_more_than_300_points(span: float, asked: float | None) -> None:
    step, note = queries.fitting_step(span, asked)

    assert span // step + 1 <= 300
    assert bool(note) == (asked is not None and step != asked)
