"""A scenario through the product: its alert becomes an Investigation, whose status and records hold the answer.

The manifest is the one that the webhook makes of the payload. What the operator wrote is all that is scored; the quotes
are checked against the outputs in the journal, not against the operator's word that it checked them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
from typing import Any

import incident_cluster
import incident_scenarios
from kubewhy.adapters.kube import client, journal
from kubewhy.core import events, ports
from kubewhy.core.alerting import alert_plan, alertmanager
from kubewhy.engine import codec

ANSWER_SECONDS = 60.0
INVESTIGATIONS = "/apis/kubewhy.internal/v1alpha1/namespaces/{}/investigations"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a scenario: the finished object, its answer and its score."""

    scenario: incident_scenarios.Scenario
    found: dict[str, Any]
    answer: incident_scenarios.Answer
    score: incident_scenarios.Score
    seconds: float


async def run(api: client.KubeClient, scenario: incident_scenarios.Scenario) -> Outcome:
    """Create the scenario, post its alert's Investigation once the symptom is there, and score the answer.

    Raises:
        TimeoutError: the symptom or the answer did not come in time.
    """
    async with incident_cluster.running(api, scenario):
        began = asyncio.get_running_loop().time()
        path = await _create(api, scenario)
        found = await _ended(api, path)
        seconds = asyncio.get_running_loop().time() - began
        outputs = await _outputs(api, found)
    answer = answer_of(found, outputs)
    return Outcome(
        scenario=scenario,
        found=found,
        answer=answer,
        score=incident_scenarios.score(scenario, answer),
        seconds=seconds,
    )


async def _create(api: client.KubeClient, scenario: incident_scenarios.Scenario) -> str:
    """Create the Investigation as the webhook does; its path."""
    message = alertmanager.read(json.dumps(scenario.alert).encode())
    policy = alert_plan.Policy(fallback_namespace=scenario.namespace)
    creation = alert_plan.plan(
        message, policy, at=datetime.datetime.now(tz=datetime.UTC)
    ).creations[0]
    manifest = creation.manifest(scenario.namespace)
    path = INVESTIGATIONS.format(scenario.namespace)
    await api.request("POST", path, query={"fieldValidation": "Strict"}, body=manifest)
    return f"{path}/{creation.name}"


async def _ended(api: client.KubeClient, path: str) -> dict[str, Any]:
    async with asyncio.timeout(ANSWER_SECONDS):
        while True:
            found: dict[str, Any] = await api.request("GET", path)
            status = found.get("status", {})
            if status.get("finished") and "report" in status:
                return found
            await asyncio.sleep(0.1)


async def _outputs(api: client.KubeClient, found: dict[str, Any]) -> dict[str, str]:
    """The recorded output of every call, from the journal."""
    metadata = found["metadata"]
    key = ports.RunKey(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"])
    stored = journal.KubeJournal(api)
    outputs: dict[str, str] = {}
    for batch in await stored.load(key):
        wanted = codec.references(batch.data)
        large = {digest: await stored.fetch(key, digest) for digest in wanted}
        for event in codec.decode(batch.data, large):
            if isinstance(event, events.ToolReturned):
                outputs[event.call] = event.result.text
    return outputs


def answer_of(found: dict[str, Any], outputs: dict[str, str]) -> incident_scenarios.Answer:
    """The status in the form that is scored; the verdict is the reason of the condition Succeeded."""
    status = found["status"]
    cause = status.get("rootCause") or {}
    of = cause.get("subject") or {}
    claims = [cause] if cause else []
    claims += [*status.get("findings", ()), *status.get("ruledOut", ())]
    succeeded = next(row for row in status["conditions"] if row["type"] == "Succeeded")
    return incident_scenarios.Answer(
        verdict=succeeded["reason"],
        summary=status.get("summary", ""),
        statement=cause.get("statement", ""),
        subject=(of.get("kind", ""), of.get("name", "")),
        claims=[
            (
                claim["statement"],
                [(item["call"], item["quote"]) for item in claim.get("evidence", ())],
            )
            for claim in claims
        ],
        outputs=outputs,
        steps=status.get("steps", 0),
    )
