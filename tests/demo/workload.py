"""What runs in the demo's cluster: a shop whose checkout can't start, and what else is needed around it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]

NAMESPACE = "shop"
MONITORING = "monitoring"
IMAGE = "kubewhy.local/busybox:1"

CHECKOUT = "checkout"
STOREFRONT = "storefront"
SETTING = "PAYMENT_GATEWAY_URL"
VALUE = "https://payments.example/v2"
EXCEPTION = "checkout.settings.MissingSettingError"
MESSAGE = f"{SETTING} is not set"
"""What the exception says; the right root cause repeats it."""

EXPORTER = "kube-state-metrics"
"""Service account of the exporter, in MONITORING."""

SETTINGS = f"{CHECKOUT}-env"
"""The ConfigMap whose keys are checkout's environment, and which lacks the setting."""

_SERVE = "touch /tmp/serving\nexec sleep 2147483647"
_CHECKOUT = f"""\
echo "INFO  checkout.main: checkout 2.7.1 is starting"
if [ -z "${SETTING}" ]; then
  cat >&2 <<'TRACE'
Traceback (most recent call last):
  File "/app/checkout/main.py", line 12, in <module>
    serve(settings.load(os.environ))
  File "/app/checkout/settings.py", line 31, in load
    gateway = required(environment, "{SETTING}")
  File "/app/checkout/settings.py", line 18, in required
    raise MissingSettingError(f"{{name}} is not set")
{EXCEPTION}: {MESSAGE}
TRACE
  exit 1
fi
echo "INFO  checkout.main: serving, payments go to ${SETTING}"
{_SERVE}
"""
_STOREFRONT = f"""\
echo "INFO  storefront: serving"
{_SERVE}
"""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the answer must say."""

    namespace: str
    name: str
    words: tuple[str, ...]


CRASH = Expected(namespace=NAMESPACE, name=CHECKOUT, words=(EXCEPTION, MESSAGE))


def monitoring() -> list[Manifest]:
    """A namespace for the exporter's account, which may list what the exporter shows and nothing else."""
    labels = {"app.kubernetes.io/part-of": "kubewhy-demo"}
    role = f"demo-{EXPORTER}"
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": EXPORTER, "namespace": MONITORING}
    return [
        namespace(MONITORING),
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": EXPORTER, "namespace": MONITORING, "labels": labels},
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role, "labels": labels},
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
                {
                    "apiGroups": ["apps"],
                    "resources": ["deployments", "replicasets"],
                    "verbs": ["list"],
                },
            ],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role, "labels": labels},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [subject],
        },
    ]


def namespace(name: str) -> Manifest:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def shop() -> list[Manifest]:
    """The shop: a checkout that ends at once, since a setting is missing, and a healthy storefront."""
    return [
        namespace(NAMESPACE),
        _config_map(SETTINGS, {"CATALOG_URL": "http://catalog", "LOG_LEVEL": "info"}),
        *_deployment(CHECKOUT, _CHECKOUT, settings=SETTINGS),
        *_deployment(STOREFRONT, _STOREFRONT),
    ]


def repair() -> str:
    """The merge patch of SETTINGS that adds what is missing."""
    return json.dumps({"data": {SETTING: VALUE}})


def stateful_shop() -> list[Manifest]:
    """The shop where no node is: a checkout that no node can take. Its pod has a name known in advance."""
    stateful = _workload("StatefulSet", CHECKOUT)
    stateful["spec"]["serviceName"] = CHECKOUT
    return [namespace(NAMESPACE), _program(CHECKOUT, _CHECKOUT), stateful]


def _deployment(name: str, script: str, *, settings: str = "") -> list[Manifest]:
    return [_program(name, script), _workload("Deployment", name, settings=settings)]


def _program(name: str, script: str) -> Manifest:
    """The program's source: in a ConfigMap, so that its words are in no pod's manifest."""
    return _config_map(f"{name}-program", {"main.sh": script})


def _config_map(name: str, data: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": data,
    }


def _workload(kind: str, name: str, *, settings: str = "") -> Manifest:
    labels = {"app": name}
    container = {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "/app/main.sh"],
        "envFrom": [{"configMapRef": {"name": settings}}] if settings else [],
        "readinessProbe": {
            "exec": {"command": ["test", "-e", "/tmp/serving"]},
            "initialDelaySeconds": 5,  # longer than a life of the broken one: no probe fails beside the crash
            "periodSeconds": 1,
        },
        "resources": {
            "requests": {"cpu": "10m", "memory": "16Mi"},
            "limits": {"memory": "64Mi"},
        },
        "volumeMounts": [{"name": "program", "mountPath": "/app"}],
    }
    pod = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "program", "configMap": {"name": f"{name}-program"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
