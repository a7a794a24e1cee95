"""Objects as a real cluster of release 1.34 shows them, cut to what matters, for tests of first_look."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import fake_kube
from kubewhy.core import facts, ports, subjects, tools
from kubewhy.toolsets.kubernetes import first_look

NOW = datetime.datetime(2026, 11, 30, 21, 0, 0, tzinfo=datetime.UTC)


def stamp(seconds_ago: int) -> str:
    """A time so long before NOW, as the API writes it."""
    return (NOW - datetime.timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(name: str, *, owner: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Metadata with a UID made of the name."""
    found: dict[str, Any] = {
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": stamp(600),
        **more,
    }
    if owner:
        of = owner["metadata"]
        reference = {
            "kind": owner["kind"],
            "name": of["name"],
            "uid": of["uid"],
            "controller": True,
        }
        found["ownerReferences"] = [reference]
    return found


def deployment(
    name: str = "checkout",
    *,
    replicas: int = 1,
    ready: int = 0,
    container: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A Deployment with one container `app`."""
    spec = {"name": "app", "image": "shop/checkout:1", **(container or {})}
    return {
        "kind": "Deployment",
        "metadata": metadata(name, generation=1),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [spec]}},
        },
        "status": {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "conditions": [
                {
                    "type": "Available",
                    "status": "True" if ready >= replicas else "False",
                    "reason": "MinimumReplicas",
                }
            ],
        },
    }


def replica_set(
    owner: Mapping[str, Any], *, revision: int = 1, ready: int = 0, **more: Any
) -> dict[str, Any]:
    """A ReplicaSet of a Deployment."""
    name = f"{owner['metadata']['name']}-{revision}aaaa"
    return {
        "kind": "ReplicaSet",
        "metadata": metadata(
            name,
            owner=owner,
            labels=owner["spec"]["template"]["metadata"]["labels"],
            annotations={"deployment.kubernetes.io/revision": str(revision)},
        ),
        "spec": {
            "replicas": more.get("replicas", 1),
            "template": more.get("template", owner["spec"]["template"]),
        },
        "status": {"readyReplicas": ready},
    }


def pod(
    owner: Mapping[str, Any], suffix: str = "bbbbb", *, status: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A pod of a ReplicaSet, crash looping with exit code 1 unless `status` says otherwise."""
    return {
        "kind": "Pod",
        "metadata": metadata(
            f"{owner['metadata']['name']}-{suffix}",
            owner=owner,
            labels=owner["spec"]["template"]["metadata"]["labels"],
        ),
        "spec": {**owner["spec"]["template"]["spec"], "nodeName": "node-1"},
        "status": dict(status or crashing()),
    }


def crashing(*, restarts: int = 5, reason: str = "Error", code: int = 1) -> dict[str, Any]:
    """The status of a pod whose container crash loops."""
    ended = {"reason": reason, "exitCode": code, "startedAt": stamp(42), "finishedAt": stamp(40)}
    back_off = {
        "reason": "CrashLoopBackOff",
        "message": "back-off 40s restarting failed container=app",
    }
    return {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [
            {
                "name": "app",
                "ready": False,
                "restartCount": restarts,
                "state": {"waiting": back_off},
                "lastState": {"terminated": ended},
            }
        ],
    }


def running(*, restarts: int = 0) -> dict[str, Any]:
    """The status of a pod that is well."""
    return {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(500)}],
        "containerStatuses": [
            {
                "name": "app",
                "ready": True,
                "restartCount": restarts,
                "state": {"running": {"startedAt": stamp(500)}},
            }
        ],
    }


def event(
    of: Mapping[str, Any], reason: str, message: str, *, kind: str = "Warning", ago: int = 20
) -> dict[str, Any]:
    """A KubeEvent."""
    name = of["metadata"]["name"]
    return {
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{abs(hash(message)) % 10**8}"},
        "involvedObject": {"kind": of["kind"], "name": name},
        "type": kind,
        "reason": reason,
        "message": message,
        "count": 3,
        "lastTimestamp": stamp(ago),
    }


def node(name: str = "node-1") -> dict[str, Any]:
    """A node that is ready."""
    return {
        "kind": "Node",
        "metadata": metadata(name),
        "status": {
            "allocatable": {"cpu": "2"},
            "conditions": [{"type": "Ready", "status": "True", "message": "ok"}],
        },
    }


def crash_loop(log: bytes = b"") -> fake_kube.FakeKubeReader:
    """A namespace with the Deployment `checkout`, whose only pod crash loops."""
    owner = deployment()
    between = replica_set(owner)
    kube = fake_kube.FakeKubeReader(owner, between, pod(between), node())
    kube.log("checkout-1aaaa-bbbbb", "app", log, previous=True)
    return kube


async def look(
    kube: fake_kube.FakeKubeReader, kind: str = "Deployment", name: str = "checkout"
) -> tools.ToolOutput:
    """Run the tool for a subject."""
    context = ports.ToolContext(
        namespace="shop",
        subject=subjects.Subject(kind=kind, name=name, namespace="shop"),
        kube=kube,
        now=lambda: NOW,
    )
    return await first_look.tool().run(context, {})


def kinds(output: tools.ToolOutput) -> list[str]:
    """The kinds of the facts in their order."""
    return [fact.kind for fact in facts.parse(output.text)]


def fact(output: tools.ToolOutput, kind: str) -> facts.Fact:
    """The first fact of a kind."""
    return next(fact for fact in facts.parse(output.text) if fact.kind == kind)
