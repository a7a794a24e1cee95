"""Objects of any shape: controllers of strangers write odd ones, and facts are made of them all the same."""

from __future__ import annotations

import copy
from typing import Any

import hypothesis
from hypothesis import strategies

import first_look_world as world
from kubewhy.core import facts
from kubewhy.toolsets.kubernetes.first_look import (
    look,
    objects,
    podstate,
    ranking,
    references_read,
    snapshot,
)

JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=8),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        found += _paths(inner, (*path, key))
    return found


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    changed = copy.deepcopy(value)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return changed


@hypothesis.given(strategies.data())
def test_facts_of_damaged_objects(data: strategies.DataObject) -> None:
    owner = world.deployment(
        container={"livenessProbe": {"httpGet": {"port": 80}}, "ports": [{"containerPort": 80}]}
    )
    between = world.replica_set(owner)
    whole = {"deployment": owner, "set": between, "pod": world.pod(between), "node": world.node()}
    whole["event"] = world.event(whole["pod"], "Unhealthy", "Liveness probe failed")
    path = data.draw(
        strategies.sampled_from(
            [path for path in _paths(whole) if len(path) > 1 and path[-1] != "kind"]
        )
    )
    broken = _with(whole, path, data.draw(JSON))
    pods = (broken["pod"],)
    shot = snapshot.Snapshot(
        now=world.NOW,
        namespace="shop",
        subject=broken["deployment"],
        workload=broken["deployment"],
        replica_sets=(broken["set"],),
        pods=pods,
        focus=podstate.focus(pods, subject=objects.Ref("Pod", ""), newest=""),
        events=(broken["event"],),
        references=references_read.of_pod(broken["pod"]),
        nodes=(broken["node"],),
    )
    text, _ = ranking.render(look.facts(shot))
    assert len(text) <= ranking.MOST_CHARACTERS
    assert facts.parse(text)
