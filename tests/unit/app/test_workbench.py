"""What a run works with: its frozen input, its model, its tools under its identity.

The API server is a fake that knows which service accounts exist; models, prompts and redaction are the real ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import pytest

import crash_world as world_
from kubewhy import errors, testing
from kubewhy.adapters.kube import client, reader
from kubewhy.api import investigation
from kubewhy.app import models, settings, toolbox, workbench
from kubewhy.core import limits, ports, redaction, snapshots

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
"""The shape of a credential; nobody's."""


class Accounts:
    """An API server with these service accounts, as `namespace/name`."""

    def __init__(self, *names: str) -> None:
        self._paths = {
            "/api/v1/namespaces/{}/serviceaccounts/{}".format(*name.split("/")) for name in names
        }

    async def request(self, _method: str, path: str, **_: Any) -> Any:
        if path not in self._paths:
            raise errors.ApiNotFound(f"{path} is not there", status=404)
        return {}


@dataclasses.dataclass
class Toolsets:
    toolsets: Sequence[ports.Toolset]


def _toolset(name: str, *tools: str, problem: str = "") -> ports.Toolset:
    return ports.Toolset(
        name=name,
        description=name,
        tools=[testing.FakeTool(tool) for tool in tools],
        instructions=f"how to use {name}",
        problem=problem,
    )


TOOLSETS = (
    _toolset("alpha", "alpha_get", "alpha_first_look"),
    _toolset("beta", "beta_get"),
    _toolset("gamma", "gamma_get", problem="gamma is not installed"),
)


def _bench(*accounts: str, keys: tuple[str, ...] = (), **more: Any) -> workbench.Workbench:
    catalogue = models.load("", {})
    if keys:
        catalogue = cast("models.Catalogue", _WithKeys(catalogue, keys))
    return workbench.Workbench(
        settings.Settings(holder="me", **more),
        cast("client.KubeClient", Accounts(*accounts)),
        world_.Clock(),
        catalogue=catalogue,
        toolbox=cast("toolbox.Toolbox", Toolsets(TOOLSETS)),
    )


@dataclasses.dataclass
class _WithKeys:
    catalogue: models.Catalogue
    keys: tuple[str, ...]

    def find(self, name: str) -> ports.Model:
        return self.catalogue.find(name)


def _snapshot(**spec: Any) -> snapshots.Snapshot:
    return snapshots.Snapshot(
        key=world_.KEY,
        resource_version="1",
        generation=1,
        created=world_.START,
        spec=investigation.InvestigationSpec.model_validate({"question": "why?"} | spec),
    )


# --- opening a run ----------------------------------------------------------------------------------------------------


async def test_all_healthy_toolsets_are_offered_and_the_others_named_with_their_problem() -> None:
    opened = await _bench().open(_snapshot())
    assert [spec.name for spec in opened.tools] == ["alpha_get", "alpha_first_look", "beta_get"]
    assert "Off: gamma (gamma is not installed)" in opened.system
    assert "how to use beta" in opened.system
    assert "Start with alpha_first_look" in opened.system


async def test_the_chosen_toolsets_are_offered_once_and_in_order() -> None:
    opened = await _bench().open(_snapshot(toolsets=["beta", "alpha"]))
    assert [spec.toolset for spec in opened.tools] == ["fake"] * 3
    assert [spec.name for spec in opened.tools] == ["beta_get", "alpha_get", "alpha_first_look"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"toolsets": ["delta"]}, "spec.toolsets: there is no toolset 'delta'.*alpha, beta, gamma"),
        ({"toolsets": ["alpha", "gamma"]}, "spec.toolsets: gamma is off: gamma is not installed"),
        ({"model": "gpt-9"}, "gpt-9.*default, triage"),
        ({"serviceAccountName": "admin"}, "spec.serviceAccountName: 'admin' is not listed"),
    ],
)
async def test_what_is_not_there_is_refused_by_name(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        await _bench().open(_snapshot(**spec))


async def test_each_run_has_a_fence_of_its_own_and_its_prompt_names_it() -> None:
    bench = _bench()
    first, second = await bench.open(_snapshot()), await bench.open(_snapshot())
    assert first.fence != second.fence
    assert len(first.fence) >= 12
    assert first.fence in first.system


async def test_the_prompt_names_cluster_and_namespace() -> None:
    opened = await _bench(cluster="blue").open(_snapshot())
    assert "cluster named blue" in opened.system
    assert "Your namespace is shop" in opened.system


async def test_the_input_is_that_of_the_spec() -> None:
    opened = await _bench().open(
        _snapshot(
            subject={"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout"},
            limits={"steps": 3, "toolCalls": 4, "tokens": 5000, "costMicroUSD": 6, "seconds": 70},
        )
    )
    assert opened.limits == limits.Limits(
        steps=3, tool_calls=4, tokens=5000, cost_micro_usd=6, seconds=70
    )
    assert str(opened.task.subject) == "Deployment/checkout"
    assert opened.task.namespace == "shop"
    assert opened.model == "default"
    assert opened.mode == "ReadOnly"


async def test_credentials_in_question_and_alerts_are_masked() -> None:
    alert = {
        "status": "firing",
        "labels": {"alertname": "X", "token": TOKEN},
        "annotations": {"description": f"failed with {TOKEN}"},
        "startsAt": "2026-01-01T00:00:00Z",
        "generatorURL": f"https://prometheus/graph?token={TOKEN}",
    }
    opened = await _bench().open(_snapshot(question=f"why is {TOKEN} refused?", alerts=[alert]))
    assert redaction.MASK in opened.task.question
    assert TOKEN not in str(opened)


async def test_the_operators_own_keys_are_masked_in_the_question() -> None:
    opened = await _bench(keys=("plain-looking-key",)).open(
        _snapshot(question="is plain-looking-key valid?")
    )
    assert "plain-looking-key" not in str(opened)


# --- what can't be run ------------------------------------------------------------------------------------------------


def test_a_spec_that_cannot_be_read_has_a_record_of_its_own() -> None:
    broken = dataclasses.replace(_snapshot(), spec=None, problem="spec.limits: too small")
    opened = _bench().unusable(broken)
    assert (opened.model, opened.tools, opened.task.namespace) == ("unknown", (), "shop")


async def test_a_spec_that_cannot_be_read_cannot_be_opened() -> None:
    broken = dataclasses.replace(_snapshot(), spec=None, problem="spec.limits: too small")
    with pytest.raises(errors.ConfigError, match="too small"):
        await _bench().open(broken)


def test_what_was_asked_is_kept_also_where_it_cannot_be_run() -> None:
    opened = _bench().unusable(_snapshot(model="gpt-9", question="why me?"))
    assert (opened.model, opened.task.question) == ("gpt-9", "why me?")


# --- performing -------------------------------------------------------------------------------------------------------


async def test_only_the_offered_tools_can_be_run() -> None:
    """Also after a restart with other toolsets: what is gone is missing, what is new is not offered."""
    opened = await _bench().open(_snapshot(toolsets=["beta"]))
    performer = await _bench().performer(_snapshot(toolsets=["beta"]), opened)
    assert set(performer.toolbox) == {"beta_get"}


@pytest.mark.parametrize(
    ("accounts", "more", "user", "bounded"),
    [
        ((), {}, "system:serviceaccount:kubewhy-system:kubewhy-investigator", True),
        (("shop/kubewhy-investigator",), {}, "system:serviceaccount:shop:kubewhy-investigator", False),
        ((), {"trusted_namespaces": ("shop",)}, "system:serviceaccount:kubewhy-system:kubewhy-investigator", False),
    ],
)  # fmt: skip
async def test_reads_run_under_the_identity_of_the_investigation(
    accounts: tuple[str, ...], more: dict[str, Any], user: str, bounded: bool
) -> None:
    bench = _bench(*accounts, **more)
    performer = await bench.performer(_snapshot(), await bench.open(_snapshot()))
    kube = performer.context.kube
    assert isinstance(kube, reader.KubeReader)
    assert (kube.namespace, kube._account, kube._bounded) == ("shop", user, bounded)


async def test_what_is_performed_is_redacted_with_the_operators_own_keys() -> None:
    bench = _bench(keys=("plain-looking-key",))
    performer = await bench.performer(_snapshot(), await bench.open(_snapshot()))
    assert performer.redact(f"a {TOKEN} b plain-looking-key") == (
        f"a {redaction.MASK} b {redaction.MASK}"
    )


async def test_a_run_keeps_the_model_that_it_was_opened_with() -> None:
    opened = dataclasses.replace(await _bench().open(_snapshot()), model="gone")
    with pytest.raises(errors.ConfigError, match="gone"):
        await _bench().performer(_snapshot(), opened)


async def test_tools_at_work_at_once_are_limited_as_the_installation_says() -> None:
    bench = _bench(parallel_tools=2)
    performer = await bench.performer(_snapshot(), await bench.open(_snapshot()))
    await performer.parallel.acquire()
    assert not performer.parallel.locked()
    await performer.parallel.acquire()
    assert performer.parallel.locked()
