from __future__ import annotations

import datetime
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from kubewhy.toolsets.kubernetes import containers, description, objects, pruning

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=8),
    lambda inner: strategies.lists(inner, max_size=3)
    | strategies.dictionaries(
        strategies.sampled_from(
            ["metadata", "status", "spec", "containers", "containerStatuses", "conditions", "name", "state",
             "lastState", "terminated", "waiting", "ports", "resources", "limits", "livenessProbe", "httpGet",
             "annotations", "key", "matchExpressions", "selector", "message", "finishedAt", "ownerReferences", "x"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (200, "3m20s"), (660, "11m"), (3600, "1h"), (14_700, "4h5m"), (86_400, "1d"),
     (100_800, "1d4h"), (34_560_000, "400d"), (-5, "0s")],
)  # fmt: skip
def test_ages_are_short(seconds: int, text: str) -> None:
    assert objects.age(NOW, NOW - datetime.timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        ({"selector": {"app": "a", "b": "c"}}, "app=a,b=c"),
        ({"selector": {"matchLabels": {"app": "a"}}}, "app=a"),
        (
            {
                "selector": {
                    "matchExpressions": [
                        {"key": "a", "operator": "In", "values": ["x", "y"]},
                        {"key": "b", "operator": "NotIn", "values": ["z"]},
                        {"key": "c", "operator": "Exists"},
                        {"key": "d", "operator": "DoesNotExist"},
                    ]
                }
            },
            "a in (x,y),b notin (z),c,!d",
        ),
        ({}, ""),
        ({"selector": "odd"}, ""),
    ],
)
def test_selectors_are_written_as_the_api_takes_them(spec: Any, selector: str) -> None:
    assert objects.selector({"spec": spec}) == selector


def test_a_scaled_custom_kind_has_its_selector_in_status() -> None:
    assert objects.selector({"status": {"selector": "app=x"}}) == "app=x"


@hypothesis.given(JSON)
def test_no_shape_of_an_object_breaks_its_description(value: Any) -> None:
    made = {"kind": "Pod", "metadata": {"name": "x"}, "extra": value}
    if isinstance(value, dict):
        made = {**value, "kind": "Pod", "metadata": {"name": "x", "annotations": value}}
    shown = description.object_text(made, NOW)
    assert shown.lines
    assert list(containers.lines(made, NOW)) is not None
    assert pruning.whole(made)["kind"] == "Pod"
    objects.selector(made)
    objects.controller(made)
