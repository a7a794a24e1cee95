from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any, cast

import jsonschema
import pytest

from kubewhy import errors
from kubewhy.adapters import http_reader
from kubewhy.core import ports, tools
from kubewhy.toolsets import prometheus


class Toolset:
    """The tools by name, run as the engine does, at the end of the backfilled series."""

    def __init__(self, reader: http_reader.HttpReader, url: str, now: datetime.datetime) -> None:
        toolset = prometheus.toolset(reader, url)
        self._tools = {tool.spec.name: tool for tool in toolset.tools}
        self._context = ports.ToolContext(
            namespace="shop", subject=None, kube=cast("ports.KubeReader", None), now=lambda: now
        )

    async def run(self, tool: str, **arguments: str) -> tools.ToolOutput:
        chosen = self._tools[f"prometheus_{tool}"]
        jsonschema.validate(arguments, chosen.spec.parameters)
        return await chosen.run(self._context, cast("Mapping[str, Any]", arguments))


@pytest.fixture
def toolset(server: Any, reader: http_reader.HttpReader) -> Toolset:
    return Toolset(reader, server.url, server.now)


async def test_an_instant_shows_values_and_labels(toolset: Toolset) -> None:
    output = await toolset.run("query", query='kw_memory{namespace="shop"} + 0.25')

    assert output.status is tools.ToolStatus.SUCCESS
    assert '100.25  {namespace="shop",pod="checkout-1"}' in output.text.splitlines()
    assert "query: kw_memory" in output.text
    assert not output.truncated


async def test_the_highest_values_come_first(toolset: Toolset) -> None:
    output = await toolset.run("query", query="kw_jobs")

    rows = [line for line in output.text.splitlines() if "kw_jobs{" in line]
    assert rows[0] == '29  kw_jobs{job_name="j29"}'
    assert len(rows) == 30


async def test_an_empty_vector_is_no_data_and_names_the_query(toolset: Toolset) -> None:
    output = await toolset.run("query", query='kw_memory{namespace="elsewhere"}')

    assert output.status is tools.ToolStatus.NO_DATA
    assert 'kw_memory{namespace="elsewhere"}' in output.text


async def test_the_time_of_a_query_is_kept(toolset: Toolset) -> None:
    spike = await toolset.run("query", query="kw_memory", time="-1h")
    before = await toolset.run("query", query="kw_memory", time="-3h")

    assert "4321" in spike.text
    assert before.status is tools.ToolStatus.NO_DATA


async def test_a_scalar_has_a_value(toolset: Toolset) -> None:
    output = await toolset.run("query", query="scalar(vector(42))")

    assert output.status is tools.ToolStatus.SUCCESS
    assert "42" in output.text


async def test_a_wrong_query_fails_in_the_words_of_prometheus(toolset: Toolset) -> None:
    with pytest.raises(errors.ToolFailure, match=r"\(bad_data\).*parse error") as failure:
        await toolset.run("query", query="sum by (")
    assert failure.value.status == tools.ToolStatus.ERROR


async def test_a_query_that_can_not_be_executed_fails_in_its_words(toolset: Toolset) -> None:
    with pytest.raises(errors.ToolFailure, match=r"\(execution\).*many-to-many"):
        await toolset.run("query", query="kw_jobs * on () kw_jobs")


async def test_a_range_names_minimum_maximum_and_last_value(toolset: Toolset, server: Any) -> None:
    output = await toolset.run("query_range", query="kw_memory", start="-2h", end="now", step="30s")

    spiked = datetime.datetime.fromtimestamp(server.end - 3600, tz=datetime.UTC)
    assert f"max=4321 at {spiked:%Y-%m-%dT%H:%M:%SZ}" in output.text
    assert "min=100 at " in output.text
    assert "last=100" in output.text
    assert "points=241" in output.text


async def test_the_step_is_raised_until_the_points_fit(toolset: Toolset) -> None:
    output = await toolset.run("query_range", query="kw_memory", start="-2h", end="now", step="1s")

    assert "step 25s (raised from 1s: a series has at most 300 points)" in output.text
    assert "points=289" in output.text


async def test_a_table_skips_rows_but_says_so_and_keeps_the_last(
    toolset: Toolset, server: Any
) -> None:
    output = await toolset.run("query_range", query="kw_jobs", start="-2h", end="now", step="30s")

    rows = [line for line in output.text.splitlines() if line.startswith("20")]
    assert "(every 13th time and the last)" in output.text
    assert rows[-1].startswith(f"{server.now:%Y-%m-%dT%H:%M:%SZ} 29 28 ")
    assert len(rows) < 25


async def test_series_beyond_twenty_are_counted(toolset: Toolset) -> None:
    output = await toolset.run("query_range", query="kw_jobs")

    assert "series: 30, of which 10 with lower values are left out" in output.text
    assert output.truncated
    assert 'job_name="j10"' in output.text
    assert 'job_name="j09"' not in output.text


async def test_a_range_without_series_is_no_data(toolset: Toolset) -> None:
    output = await toolset.run("query_range", query="kw_nothing")

    assert output.status is tools.ToolStatus.NO_DATA


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": "now", "end": "-1h"}, "is not after start"),
        ({"start": "yesterday"}, "start: 'yesterday' is no time"),
        ({"step": "often"}, "step: 'often' is no duration"),
        ({"step": "0"}, "longer than 0 seconds"),
    ],
)
async def test_times_that_make_no_sense_are_errors(
    toolset: Toolset, arguments: Mapping[str, str], message: str
) -> None:
    with pytest.raises(errors.ToolFailure, match=message):
        await toolset.run("query_range", query="up", **arguments)


async def test_labels_in_a_query_reach_prometheus_as_they_are(toolset: Toolset) -> None:
    output = await toolset.run(
        "query", query='label_replace(vector(1), "x", "a&b=c +%2F#", "", "")'
    )

    assert '1  {x="a&b=c +%2F#"}' in output.text


async def test_alerts_say_state_labels_value_and_age(toolset: Toolset) -> None:
    output = await toolset.run("alerts")

    assert output.text.startswith("alerts: 1 firing, 1 pending")
    firing = next(
        line for line in output.text.splitlines() if line.startswith("firing AlwaysOn since 20")
    )
    assert 'value=1 {namespace="shop",pod="checkout-1",severity="warning"}' in firing
    assert "  summary: It is on with 1" in output.text
    assert output.text.index("firing AlwaysOn") < output.text.index("pending NotYet")


async def test_alerts_are_filtered_by_any_label_and_by_state(toolset: Toolset) -> None:
    by_pod = await toolset.run("alerts", filter="CHECKOUT-1")
    pending = await toolset.run("alerts", state="pending")
    none = await toolset.run("alerts", filter="checkout-1", state="pending")

    assert "NotYet" not in by_pod.text
    assert "AlwaysOn" in by_pod.text
    assert "AlwaysOn" not in pending.text
    assert none.status is tools.ToolStatus.NO_DATA
    assert "without the filter there are 2" in none.text


async def test_a_healthy_prometheus_has_no_problem(
    server: Any, reader: http_reader.HttpReader
) -> None:
    assert await prometheus.check(reader, server.url) == ""
    assert await prometheus.check(reader, f"{server.url}/") == ""


async def test_an_address_without_the_api_is_a_problem(
    server: Any, reader: http_reader.HttpReader
) -> None:
    assert "answered 404" in await prometheus.check(reader, f"{server.url}/elsewhere")


async def test_no_prometheus_is_a_problem(
    reader: http_reader.HttpReader, unused_tcp_port: int
) -> None:
    problem = await prometheus.check(reader, f"http://127.0.0.1:{unused_tcp_port}")

    assert "no connection" in problem
    assert str(unused_tcp_port) in problem


def test_every_parameter_is_described(reader: http_reader.HttpReader) -> None:
    for tool in prometheus.toolset(reader, "http://127.0.0.1:1").tools:
        for parameter in tool.spec.parameters["properties"].values():
            assert parameter["description"]
        json.dumps(dict(tool.spec.parameters))
