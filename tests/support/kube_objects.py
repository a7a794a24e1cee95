"""Objects as the API server gives them, small enough to read, for tests of what reads them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
CREATED = "2026-11-30T08:00:00Z"


def thing(
    kind: str, name: str, *, api_version: str = "v1", namespace: str = "shop", **parts: Any
) -> Object:
    """Any object; `labels` and `owner` (an object) go into its metadata, other parts to the top."""
    meta: Object = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{kind}-{name}",
        "resourceVersion": "77",
        "creationTimestamp": CREATED,
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": '{"canary": "LAST-APPLIED"}'
        },
    }
    if "labels" in parts:
        meta["labels"] = parts.pop("labels")
    if "owner" in parts:
        owner = parts.pop("owner")
        meta["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **parts}


def deployment(name: str = "checkout", **spec: Any) -> Object:
    """A Deployment that selects app=<name>."""
    return thing(
        "Deployment",
        name,
        api_version="apps/v1",
        spec={"replicas": 2, "selector": {"matchLabels": {"app": name}}, **spec},
        status={
            "replicas": 2,
            "conditions": [
                {
                    "type": "Available",
                    "status": "False",
                    "reason": "MinimumReplicasUnavailable",
                    "message": "Deployment does not have minimum availability.",
                    "lastTransitionTime": "2026-11-30T11:57:00Z",
                }
            ],
        },
    )


def replica_set(owner: Object, suffix: str = "7d9f") -> Object:
    """A ReplicaSet of a Deployment."""
    name = owner["metadata"]["name"]
    selector = {"matchLabels": {"app": name}}
    return thing(
        "ReplicaSet",
        f"{name}-{suffix}",
        api_version="apps/v1",
        owner=owner,
        spec={"selector": selector},
    )


def pod(
    name: str = "checkout-7d9f-abc",
    *,
    app: str = "checkout",
    owner: Object | None = None,
    **more: Any,
) -> Object:
    """A Pod with one container `app` that runs and is ready, unless `status` says otherwise."""
    statuses = more.pop("statuses", [running("app")])
    spec = {
        "containers": [
            {
                "name": "app",
                "image": "busybox:1",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "resources": {"limits": {"memory": "20Mi"}, "requests": {"cpu": "10m"}},
                "ports": [{"name": "web", "containerPort": 8080, "protocol": "TCP"}],
                "livenessProbe": {
                    "httpGet": {"path": "/healthz", "port": "web"},
                    "periodSeconds": 5,
                },
                "env": [
                    {"name": "DB_PASSWORD", "value": "hunter2-CANARY"},
                    {"name": "MODE", "value": "fast"},
                ],
                "volumeMounts": [{"name": "kube-api-access-x1", "mountPath": "/var/run/secrets"}],
            }
        ],
        "volumes": [{"name": "kube-api-access-x1", "projected": {}}],
        "dnsPolicy": "ClusterFirst",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {"key": "team", "operator": "Exists"},
        ],
        **more.pop("spec", {}),
    }
    status = {"phase": "Running", "containerStatuses": statuses, **more.pop("status", {})}
    parts: Object = {"labels": {"app": app}, "spec": spec, "status": status, **more}
    if owner:
        parts["owner"] = owner
    return thing("Pod", name, **parts)


def running(name: str, *, restarts: int = 0, ready: bool = True) -> Object:
    """The status of a container that runs."""
    return {
        "name": name,
        "ready": ready,
        "restartCount": restarts,
        "containerID": "containerd://1",
        "state": {"running": {"startedAt": "2026-11-30T11:59:30Z"}},
    }


def crashing(
    name: str = "app", *, code: int = 1, reason: str = "Error", restarts: int = 5
) -> Object:
    """The status of a container in a crash loop."""
    return {
        "name": name,
        "ready": False,
        "restartCount": restarts,
        "containerID": "containerd://1",
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting"}},
        "lastState": {
            "terminated": {
                "exitCode": code,
                "reason": reason,
                "startedAt": "2026-11-30T11:58:00Z",
                "finishedAt": "2026-11-30T11:58:03Z",
            }
        },
    }


def event(
    about: Object, reason: str, message: str, *, last: str = "2026-11-30T11:58:00Z", **more: Any
) -> Object:
    """A KubeEvent about an object, of core/v1 as the kubelet writes it."""
    name = f"{about['metadata']['name']}.{reason.lower()}{more.pop('suffix', len(message))}"
    meta = about["metadata"]
    return thing(
        "Event",
        name,
        involvedObject={
            "kind": about["kind"],
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
            "fieldPath": more.pop("path", ""),
        },
        reason=reason,
        message=message,
        type=more.pop("type", "Warning"),
        count=more.pop("count", 1),
        firstTimestamp=more.pop("first", last),
        lastTimestamp=last,
        source={"component": more.pop("source", "kubelet")},
    )
