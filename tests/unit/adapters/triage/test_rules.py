"""Rules on facts that a test node can't make: other nodes, clouds, drivers, registries, long times.

The rows stand in tests/fixtures/triage/rows.yaml: facts in their text form, as first_look writes them, with the
messages of Kubernetes 1.34.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import triage_talk as talk
from kubewhy.core import tools

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "triage"
LOOK = "## LookedAt Deployment/web namespace=shop workload=Deployment/web\n"
NUMBERS = (
    "## WorkloadReplicas Deployment/web desired=1 current=1 updated=1 ready={0} available={0}"
    " generation=1 observed=1\n"
)
SICK = LOOK + (
    NUMBERS.format(0) + "> status: replicas=1 readyReplicas=0\n"
    "## PodsOverview Deployment/web pods=1 ready=0 restarts=0 troubled=1\n> pods: 1 seen, 0 ready\n"
    "## OwnerChain Pod/web-1-a owner=Deployment/web\n"
)
WELL = LOOK + (
    NUMBERS.format(1)
    + "> status: replicas=1 readyReplicas=1\n## PodsOverview Deployment/web pods=1 ready=1"
    " restarts=0 troubled=0\n> pods: 1 seen, 1 ready\n## PodsReady Deployment/web pods=1"
    " restarts=0 sinceSeconds=900\n> all 1 pods have condition Ready=True\n## ContainerRunning"
    " Pod/web-1-a container=app ready=true restarts=0 upSeconds=900\n> state.running:"
    " ready=true\n"
)
BASES = {"sick": SICK, "well": WELL, "look": LOOK, "none": ""}
ROWS: list[dict[str, Any]] = yaml.safe_load((FIXTURES / "rows.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=[row["row"] for row in ROWS])
async def test_row(row: dict[str, Any]) -> None:
    facts = BASES[row["base"]] + row["facts"]
    alert = talk.firing(row.get("alert", "KubeObjectUnwell"))
    values = await talk.verdict_on(facts, alert=[alert])
    cause = values["rootCause"]
    assert cause["mechanism"] == row["mechanism"], cause
    for key in row["statement"]:
        assert re.search(key, cause["statement"], re.IGNORECASE), (key, cause["statement"])
    assert values["verdict"] == row.get("verdict", "RootCauseFound")
    assert cause["evidence"]
    assert all(item["quote"] in facts for item in cause["evidence"])


HARMLESS = {
    "default deny": (
        "## NetworkPolicyApplies NetworkPolicy/deny types=Ingress ingressRules=0\n> {}\n"
    ),
    "undeclared port of a neighbour": (
        "## ServicePort Service/web targetPort=9090 declared=80 fits=false\n> targetPort: 9090\n"
    ),
    "reference lost after the start": (
        "## MissingReference Pod/web-1-a referenced=ConfigMap/old\n> volumes[x]\n"
    ),
    "tight budget": (
        "## DisruptionBudget PodDisruptionBudget/web allowed=0 healthy=1 expected=1\n>"
        " disruptionsAllowed: 0\n"
    ),
    "variable twice": (
        "## EnvironmentTwice Pod/web-1-a container=app variable=A last=b\n> env A: a\n> env A: b\n"
    ),
    "old mount warning": (
        "## KubeEvent Pod/web-1-a type=Warning reason=FailedMount count=1 readyNow=true"
        " agoSeconds=30\n> not yet\n"
    ),
    "noisy log": (
        "## LogTail Pod/web-1-a container=app previous=false\n> ERROR one request failed\n"
    ),
    "old failed rollout": (
        "## ReplicaSetState ReplicaSet/web-0 newest=false desired=0 ready=0\n> revision 1\n"
    ),
    "events of gone pods": (
        "## KubeEvent Pod/web-0-z type=Warning reason=Failed count=9 agoSeconds=300 gone=true\n>"
        " Error: ErrImagePull\n"
    ),
}


@pytest.mark.parametrize("facts", HARMLESS.values(), ids=HARMLESS.keys())
async def test_what_harms_nobody_is_no_cause(facts: str) -> None:
    alert = talk.firing("KubePodCrashLooping", deployment="web")
    values = await talk.verdict_on(WELL + facts, alert=[alert])
    assert values["verdict"] == "NoProblemFound", values.get("rootCause")


async def test_two_faults_are_both_named() -> None:
    pull = next(row for row in ROWS if row["row"] == "S07")
    facts = (
        SICK + pull["facts"] + "## MissingReference Pod/web-1-a referenced=ConfigMap/web-env\n>"
        " envFrom.configMapRef.name: web-env\n"
    )
    values = await talk.verdict_on(facts)
    told = values["rootCause"]["statement"] + " ".join(
        item["statement"] for item in values["findings"]
    )
    assert "web-env" in told
    assert "reg.shop/web:9" in told


async def test_a_deleted_jobs_events_still_tell_the_cause() -> None:
    text = (
        'Job "night" not found in namespace shop: x\nno name comes near\n## KubeEvent Job/night'
        " type=Warning reason=BackoffLimitExceeded count=1 gone=true agoSeconds=30\n> Job has"
        " reached the specified backoff limit\n"
    )
    gone = talk.step(1, text, status=tools.ToolStatus.NOT_FOUND, kind="Job", name="night")
    values = await talk.concluded(talk.opening("Job/night"), *gone)
    assert values["verdict"] == "RootCauseFound"
    assert values["rootCause"]["confidence"] == "Low"
    assert "gone" in values["rootCause"]["statement"]
    assert "backoff limit" in values["rootCause"]["statement"]
