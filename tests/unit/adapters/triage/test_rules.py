"""Rules on facts that a test node can't make: other nodes, clouds, drivers, registries, long times.

Each row holds the facts in their text form, as first_look writes them, with the messages of release 1.34.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import triage_talk as talk

LOOK = "## LookedAt Deployment/web namespace=shop workload=Deployment/web\n"
SICK = LOOK + (
    "## WorkloadReplicas Deployment/web desired=1 current=1 updated=1 ready=0 available=0 generation=1 observed=1\n"
    "> status: replicas=1 readyReplicas=0\n"
    "## PodsOverview Deployment/web pods=1 ready=0 restarts=0 troubled=1\n> pods: 1 seen, 0 ready\n"
    "## OwnerChain Pod/web-1-a owner=Deployment/web\n"
)
WELL = LOOK + (
    "## WorkloadReplicas Deployment/web desired=1 current=1 updated=1 ready=1 available=1 generation=1 observed=1\n"
    "> status: replicas=1 readyReplicas=1\n"
    "## PodsOverview Deployment/web pods=1 ready=1 restarts=0 troubled=0\n> pods: 1 seen, 1 ready\n"
    "## PodsReady Deployment/web pods=1 restarts=0 sinceSeconds=900\n> all 1 pods have condition Ready=True\n"
    "## ContainerRunning Pod/web-1-a container=app ready=true restarts=0 upSeconds=900\n> state.running: ready=true\n"
)
ENDED = (
    "## ContainerTerminated Pod/web-1-a container=app current=true exitCode={} reason={} restarts=3 lifeSeconds=1 agoSeconds=9\n"
    "> state.terminated: reason={} exitCode={}\n"
)


def waiting(reason: str, message: str) -> str:
    return f"## ContainerWaiting Pod/web-1-a container=app reason={reason}\n> state.waiting: reason={reason}\n> {message}\n"


def event(of: str, reason: str, message: str, kind: str = "Warning") -> str:
    return f"## KubeEvent {of} type={kind} reason={reason} count=2 agoSeconds=30\n> {message}\n"


def crashed(*lines: str, code: int = 1) -> str:
    log = "".join(f"> {line}\n" for line in lines)
    ended = ENDED.format(code, "Error", "Error", code)
    return f"{SICK}{ended}## LogTail Pod/web-1-a container=app previous=false lines={len(lines)}\n{log}"


def unscheduled(message: str, more: str = "") -> str:
    head = "## PodCondition Pod/web-1-a type=PodScheduled status=False reason=Unschedulable\n"
    return f"{SICK}{head}> 0/3 nodes are available: {message} preemption: 0/3 nodes are available.\n{more}"


def pulled(message: str, more: str = "") -> str:
    image = "## ContainerImage Pod/web-1-a container=app image=reg.shop/web:9 pullSecrets=none\n> image: reg.shop/web:9\n> imagePullSecrets: none\n"
    return SICK + waiting("ImagePullBackOff", "Back-off pulling image \"reg.shop/web:9\"") + image + event(
        "Pod/web-1-a", "Failed", f'Failed to pull image "reg.shop/web:9": {message}'
    ) + more  # fmt: skip


def claim(
    event_text: str,
    more: str = "",
    fields: str = "phase=Pending storageClass=fast storage=1Gi accessModes=ReadWriteOnce",
) -> str:
    return (
        "## LookedAt PersistentVolumeClaim/data namespace=shop\n"
        f"## ClaimState PersistentVolumeClaim/data {fields}\n> phase: Pending\n"
        + (
            event("PersistentVolumeClaim/data", "ProvisioningFailed", event_text)
            if event_text
            else ""
        )
        + more
    )


def service(*settings: str) -> str:
    return (
        "## LookedAt Service/web namespace=shop workload=Deployment/web\n"
        "## ServiceSelector Service/web selector=app=web pods=1 ready=1\n> pods that fit the selector: 1, ready: 1\n"
        "## ServiceEndpoints Service/web ready=1 notReady=0 ports=80\n> EndpointSlices of Service web: 1 ready endpoints\n"
        + "".join(settings)
    )


ROWS: dict[str, tuple[str, str, list[str]]] = {
    "S02": (pulled("pull access denied, repository does not exist or may require authorization: 401 Unauthorized"), "ImagePullUnauthorized", ["imagePullSecret|credential", "pull"]),
    "S03": (pulled("401 Unauthorized", event("Pod/web-1-a", "FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (reg-login); attempting to pull the image may not succeed.")), "ImagePullUnauthorized", ["reg-login", "not found|missing"]),
    "S06": (pulled('Head "https://reg.shop/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority'), "RegistryCertificate", ["x509|certificate", "registry"]),
    "S07": (pulled("toomanyrequests: You have reached your pull rate limit"), "RegistryRateLimited", ["rate limit|429"]),
    "S08": (pulled("no match for platform in manifest: not found"), "ImagePlatformMismatch", ["architecture"]),
    "S15": (crashed("open /data/key: Permission denied") + "## SecurityContext Pod/web-1-a container=app runAsUser=1001\n> securityContext.runAsUser: 1001\n", "PermissionDenied", ["permission", "fsGroup|runAsUser"]),
    "S17": (SICK + event("Pod/web-1-a", "FailedCreatePodSandBox", "Failed to create pod sandbox: plugin type=\"calico\" failed (add): dial unix: no such file"), "SandboxFailed", ["CNI|sandbox"]),
    "S18": (SICK + event("Pod/web-1-a", "FailedCreatePodSandBox", "failed to allocate for range 0: no more free IP addresses in range"), "PodAddressesExhausted", ["IP", "exhausted"]),
    "C18": (crashed("connect: Cannot assign requested address") + "## SpecSetting Pod/web-1-a setting=securityContext.sysctls\n> securityContext.sysctls: net.ipv4.ip_local_port_range=1024 1030\n", "EphemeralPortsExhausted", ["ip_local_port_range|ephemeral"]),
    "R03": (SICK + ENDED.format(137, "OOMKilled", "OOMKilled", 137) + "## ContainerResources Pod/web-1-a container=app limitMemory=1Gi\n> limits.memory: 1Gi\n## ContainerCommand Pod/web-1-a container=app\n> command: ['java', '-Xmx2g', '-jar', 'web.jar']\n", "OOMKilled", ["Xmx2g|heap", "1Gi"]),
    "R04": (SICK + ENDED.format(137, "Error", "Error", 137) + event("Node/n1", "SystemOOM", "System OOM encountered, victim process: java"), "NodeOutOfMemory", ["node", "out of memory|ran out of memory"]),
    "R09": (SICK.replace("ready=0", "ready=0") + event("Pod/web-1-a", "Unhealthy", 'Liveness probe failed: Get "http://10.0.0.9:80/": context deadline exceeded') + "## ContainerRunning Pod/web-1-a container=app ready=false restarts=5 upSeconds=2\n> state.running: ready=false\n## Probe Pod/web-1-a container=app probe=liveness handler=httpGet port=80 path=/ portDeclared=true startupProbe=false periodSeconds=1 timeoutSeconds=1 failureThreshold=1 initialDelaySeconds=0\n> livenessProbe: httpGet\n", "LivenessProbeTimeout", ["failureThreshold|aggressive"]),
    "R14": (unscheduled("3 node(s) didn't have free ports for the requested pod ports.", "## SpecSetting Pod/web-1-a setting=hostPort value=9100\n> hostPort: 9100\n"), "HostPortConflict", ["hostPort", "9100"]),
    "R20": (crashed("accept: Too many open files"), "TooManyOpenFiles", ["file descriptor|too many open"]),
    "R21": (crashed("write /dev/shm/seg: No space left on device"), "NoSpaceLeft", ["shm"]),
    "R22": (SICK + "## PodState Pod/web-1-a phase=Failed reason=Evicted\n> status.phase: Failed reason: Evicted\n> status.message: Pod ephemeral local storage usage exceeds the total limit of containers 50Mi.\n", "EphemeralStorageExceeded", ["ephemeral-storage", "limit"]),
    "R23": (crashed("could not write WAL: No space left on device"), "NoSpaceLeft", ["disk|PVC", "full|100"]),
    "P07": (unscheduled("3 node(s) had untolerated taint(s).", "## NodeTaint Node/n1 key=team value=ml effect=NoSchedule\n> taint: team=ml:NoSchedule\n"), "UntoleratedTaint", ["team"]),
    "P08": (unscheduled("3 node(s) were unschedulable.", "## NodeState Node/n1 unschedulable=true\n> spec.unschedulable: true\n"), "NodesCordoned", ["cordon|unschedulable"]),
    "P16": (SICK + event("Pod/web-1-a", "Preempted", "Preempted by pod 7d0c on node n1", "Normal") + "## Preemptor Pod/big-0 priorityClass=urgent\n> uid: 7d0c priorityClassName: urgent\n", "Preempted", ["preempt", "urgent"]),
    "P18": (SICK + "## PodState Pod/web-1-a phase=Pending\n> status.phase: Pending\n", "SchedulerSilent", ["scheduler", "down"]),
    "W02": (SICK + "## ContainerRunning Pod/web-1-a container=migrate init=true ready=false upSeconds=300\n> state.running: ready=false\n## LogTail Pod/web-1-a container=migrate previous=false\n> waiting for lock\n## SpecSetting Deployment/web setting=maxUnavailable value=100%\n> strategy.rollingUpdate.maxUnavailable: 100%\n", "InitContainerWaits", ["maxUnavailable"]),
    "W12": ("## LookedAt CronJob/web namespace=shop workload=CronJob/web\n## CronJobState CronJob/web suspended=false policy=Allow lastScheduleSeconds=999999\n> schedule: * * * * *\n> status.lastScheduleTime: 2026-11-01T00:00:00Z\n" + event("CronJob/web", "TooManyMissedTimes", "too many missed start times: 101. Set or decrease .spec.startingDeadlineSeconds"), "MissedSchedule", ["missed"]),
    "W13": ("## LookedAt CronJob/web namespace=shop workload=CronJob/web\n## CronJobState CronJob/web suspended=false policy=Forbid active=web-1\n> schedule: x\n> status.active: web-1\n" + event("CronJob/web", "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid", "Normal") + "## ContainerTerminated Pod/web-1-a container=main current=true exitCode=0 reason=Completed\n> state.terminated: reason=Completed\n## ContainerRunning Pod/web-1-a container=proxy ready=true upSeconds=900\n> state.running: ready=true\n", "CronJobBlocked", ["sidecar", "running|never"]),
    "W15": ("## LookedAt HorizontalPodAutoscaler/web namespace=shop workload=Deployment/web\n## ObjectCondition HorizontalPodAutoscaler/web type=ScalingActive status=False reason=FailedGetResourceMetric\n> the HPA was unable to compute the replica count: failed to get cpu utilization: missing request for cpu in container app of Pod web-1-a\n", "MissingRequests", ["HPA", "requests"]),
    "W16": ("## LookedAt HorizontalPodAutoscaler/web namespace=shop workload=Deployment/web\n## ObjectCondition HorizontalPodAutoscaler/web type=ScalingActive status=False reason=FailedGetResourceMetric\n> unable to fetch metrics from resource metrics API: the server could not find the requested resource\n", "MetricsUnavailable", ["metrics-server|metrics API"]),
    "W17": ("## LookedAt HorizontalPodAutoscaler/web namespace=shop workload=Deployment/web\n## AutoscalerState HorizontalPodAutoscaler/web maxReplicas=4 current=4 desired=4\n> minReplicas: 1 maxReplicas: 4\n## ObjectCondition HorizontalPodAutoscaler/web type=ScalingLimited status=True reason=TooManyReplicas\n> the desired replica count is more than the maximum replica count\n", "MaxReplicasReached", ["maxReplicas"]),
    "W18": ("## LookedAt HorizontalPodAutoscaler/web namespace=shop\n## ObjectCondition HorizontalPodAutoscaler/web type=AbleToScale status=False reason=FailedGetScale\n> the HPA controller was unable to get the target's current scale: deployments.apps \"wep\" not found\n", "ScaleTargetNotFound", ["scaleTargetRef|not found"]),
    "W19": ("## LookedAt PodDisruptionBudget/web namespace=shop\n## DisruptionBudget PodDisruptionBudget/web allowed=0 healthy=2 expected=2\n> disruptionsAllowed: 0 minAvailable: 2\n> status: currentHealthy=2\n", "DisruptionBudgetBlocks", ["PDB", "0"]),
    "W20": ("## LookedAt Namespace/old namespace=shop\n## BeingDeleted Namespace/old finalizers=kubernetes\n> metadata.deletionTimestamp: 2026-11-30T20:00:00Z\n> finalizers: kubernetes\n## ObjectCondition Namespace/old type=NamespaceFinalizersRemaining status=True reason=SomeFinalizersRemain\n> Some content in the namespace has finalizers remaining: shop.io/cleanup in 1 resource instances\n", "FinalizersRemain", ["finalizer", "shop.io/cleanup"]),
    "N02": (service("## ServiceMixedPods Service/web workloads=web,batch pods=2\n> pods of batch: app=web\n> pods of web: app=web\n"), "SelectorTooBroad", ["extra|wrong pod"]),
    "N07": (service("## SpecSetting Service/web setting=clusterIP value=None\n> clusterIP: None\n"), "HeadlessService", ["headless"]),
    "N08": (service("## SpecSetting Service/web setting=internalTrafficPolicy value=Local\n> internalTrafficPolicy: Local\n"), "InternalTrafficPolicyLocal", ["internalTrafficPolicy"]),
    "N10": (service("## LoadBalancerState Service/web address=false\n> status.loadBalancer.ingress: empty\n", event("Service/web", "SyncLoadBalancerFailed", "Error syncing load balancer: failed to ensure load balancer: quota exceeded")), "LoadBalancerPending", ["load balancer", "error"]),
    "N12": (WELL + "## LogTail Pod/web-1-a container=app previous=false\n> ERROR dial tcp: lookup cart on 10.96.0.10:53: read udp: i/o timeout\n## NetworkPolicyApplies NetworkPolicy/lockdown types=Egress egressRules=1 egressPorts=5432\n> {\"policyTypes\": [\"Egress\"]}\n", "NetworkPolicyBlocks", ["lockdown", "DNS|egress"]),
    "N14": (service("## NetworkPolicyApplies NetworkPolicy/deny types=Ingress ingressRules=0\n> {\"podSelector\": {}}\n"), "NetworkPolicyBlocks", ["deny"]),
    "N19": ("## LookedAt Ingress/web namespace=shop\n## MissingReference Ingress/web referenced=IngressClass/fancy\n> ingressClassName: fancy\n> ingressclasses \"fancy\" not found\n", "IngressClassNotFound", ["fancy", "not exist"]),
    "N20": ("## LookedAt Ingress/web namespace=shop\n## IngressRoute Ingress/web service=cart port=81 found=true fits=false\n> route: shop.io/cart -> cart:81\n> ports of Service cart: 80\n", "IngressBackendMissing", ["cart", "81"]),
    "V06": (claim("no persistent volumes available for this claim and no storage class is set", fields="phase=Pending storage=1Gi accessModes=ReadWriteOnce selector=tier=gold staticOnly=true").replace("ProvisioningFailed", "FailedBinding") + "## VolumeState PersistentVolume/pv phase=Available storage=1Gi accessModes=ReadWriteOnce labels=tier=tin\n> phase: Available\n> labels: tier=tin\n", "VolumeSelectorMismatch", ["selector"]),
    "V07": (claim("no persistent volumes available for this claim and no storage class is set", fields="phase=Pending storage=1Gi accessModes=ReadWriteOnce staticOnly=true") + "## VolumeState PersistentVolume/pv phase=Released storage=1Gi accessModes=ReadWriteOnce claim=data claimNamespace=shop\n> phase: Released\n> claimRef: shop/data uid=1\n", "VolumeReleased", ["Released|claimRef"]),
    "V08": (unscheduled("3 node(s) didn't match PersistentVolume's node affinity.", "## VolumeState PersistentVolume/pv phase=Bound\n> nodeAffinity: zone-b\n"), "VolumeNodeAffinity", ["node affinity"]),
    "V09": (SICK + event("Pod/web-1-a", "FailedAttachVolume", 'Multi-Attach error for volume "pv" Volume is already used by pod(s) web-0-z'), "MultiAttach", ["Multi-Attach", "web-0-z"]),
    "V10": (SICK + event("Pod/web-1-a", "FailedMount", "MountVolume.MountDevice failed: driver name ebs.csi not found in the list of registered CSI drivers"), "CSIDriverMissing", ["CSI"]),
    "V11": (SICK + event("Pod/web-1-a", "FailedMount", "MountVolume.MountDevice failed: mount failed: exit status 32: wrong fs type, bad option, bad superblock"), "WrongFilesystem", ["mount", "fs"]),
    "V15": (SICK + event("Pod/web-1-a", "FailedMount", "mount.nfs: Connection timed out for 10.1.2.3:/export"), "NFSUnreachable", ["NFS", "host|10.1.2.3"]),
    "K01": ("## LookedAt Node/n1 namespace=shop\n## NodeCondition Node/n1 type=Ready status=Unknown reason=NodeStatusUnknown\n> Kubelet stopped posting node status.\n", "KubeletStopped", ["kubelet", "n1"]),
    "K02": ("## LookedAt Node/n1 namespace=shop\n## NodeCondition Node/n1 type=Ready status=False reason=KubeletNotReady\n> container runtime is down\n", "ContainerRuntimeDown", ["runtime|containerd"]),
    "K03": ("## LookedAt Node/n1 namespace=shop\n## NodeCondition Node/n1 type=DiskPressure status=True reason=KubeletHasDiskPressure\n> kubelet has disk pressure\n", "DiskPressure", ["DiskPressure", "n1"]),
    "K08": ("## LookedAt Node/n1 namespace=shop\n## NodeCondition Node/n1 type=Ready status=False reason=KubeletNotReady\n> container runtime network not ready: cni plugin not initialized\n", "NetworkPluginNotReady", ["cni"]),
    "K10": ("## LookedAt Node/n1 namespace=shop\n## KubeEvent Node/n1 type=Normal reason=NodeNotReady count=7 agoSeconds=20\n> Node n1 status is now: NodeNotReady\n## KubeEvent Node/n1 type=Normal reason=NodeReady count=7 agoSeconds=10\n> Node n1 status is now: NodeReady\n", "NodeFlapping", ["flap", "n1"]),
    "K12": (LOOK + "## WorkloadReplicas Deployment/web desired=2 current=0 ready=0\n> status: x\n" + event("ReplicaSet/web-1", "FailedCreate", 'Error creating: Internal error occurred: failed calling webhook "v.policy.io": failed to call webhook: Post "https://policy.sys.svc:443/v": service "policy" not found'), "WebhookUnavailable", ["v.policy.io", "policy"]),
    "K13": (LOOK + "## WorkloadReplicas Deployment/web desired=2 current=0 ready=0\n> status: x\n" + event("ReplicaSet/web-1", "FailedCreate", 'Error creating: Internal error occurred: failed calling webhook "v.policy.io": tls: failed to verify certificate: x509: certificate signed by unknown authority'), "WebhookCertificate", ["caBundle"]),
    "K22": (crashed('Error from server (Forbidden): pods is forbidden: User "system:serviceaccount:shop:web" cannot list resource "pods" in API group ""'), "RBACForbidden", ["list", "role"]),
    "H22": ("## LookedAt Gizmo/web namespace=shop\n## ObjectCondition Gizmo/web type=Synced status=False reason=UpstreamRejected\n> upstream rejected the plan\n", "UpstreamRejected", ["UpstreamRejected|upstream rejected"]),
    "C06": (WELL + "## EnvironmentTwice Pod/web-1-a container=app variable=API_URL last=http://b\n> env API_URL: http://a\n> env API_URL: http://b\n", "EnvironmentVariableTwice", ["twice|duplicate", "API_URL"]),
    "C07": (WELL + "## EnvironmentAddress Pod/web-1-a container=app variable=CART_ADDR value=cart:8082 service=cart port=8082 found=true servicePorts=3550\n> env CART_ADDR: cart:8082\n> ports of Service cart: 3550\n## LogTail Pod/web-1-a container=app previous=false\n> ERROR dial cart:8082: connection refused\n", "WrongServicePort", ["port", "CART_ADDR"]),
    "D03": (WELL + "## LogTail Pod/web-1-a container=app previous=false\n> ERROR connection pool exhausted: 100/100 in use\n", "ApplicationError", ["pool", "100"]),
}  # fmt: skip

ALERTS = {"N02", "N07", "N08", "N10", "N12", "N14", "C06", "C07", "D03"}
"""Rows whose alert is about answers, not about pods."""

INCONCLUSIVE = {"P18"}


def _task(row: str) -> dict[str, Any]:
    return {"alert": [talk.firing("HighRequestErrorRate" if row in ALERTS else "KubeObjectUnwell")]}


@pytest.mark.parametrize("row", ROWS)
async def test_row(row: str) -> None:
    facts, mechanism, keys = ROWS[row]
    values = await talk.verdict_on(facts, **_task(row))
    assert values["rootCause"]["mechanism"] == mechanism, values["rootCause"]
    for key in keys:
        assert re.search(key, values["rootCause"]["statement"], re.IGNORECASE), (
            key,
            values["rootCause"]["statement"],
        )
    assert values["verdict"] == ("Inconclusive" if row in INCONCLUSIVE else "RootCauseFound")
    for item in values["rootCause"]["evidence"]:
        assert item["quote"] in facts


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(WELL + "## NetworkPolicyApplies NetworkPolicy/deny types=Ingress ingressRules=0\n> {}\n", id="default deny"),
        pytest.param(WELL + "## ServicePort Service/web targetPort=9090 declared=80 fits=false\n> targetPort: 9090\n", id="undeclared port of a neighbour"),
        pytest.param(WELL + "## MissingReference Pod/web-1-a referenced=ConfigMap/old\n> volumes[x]\n", id="reference lost after the start"),
        pytest.param(WELL + "## DisruptionBudget PodDisruptionBudget/web allowed=0 healthy=1 expected=1\n> disruptionsAllowed: 0\n", id="tight budget"),
        pytest.param(WELL + "## EnvironmentTwice Pod/web-1-a container=app variable=A last=b\n> env A: a\n> env A: b\n", id="variable twice"),
        pytest.param(WELL + event("Pod/web-1-a", "FailedMount", "not yet").replace("agoSeconds", "readyNow=true agoSeconds"), id="old mount warning"),
        pytest.param(WELL + "## LogTail Pod/web-1-a container=app previous=false\n> ERROR one request failed\n", id="noisy log"),
        pytest.param(WELL + "## ReplicaSetState ReplicaSet/web-0 newest=false desired=0 ready=0\n> revision 1\n", id="old failed rollout"),
        pytest.param(WELL + "## KubeEvent Pod/web-0-z type=Warning reason=Failed count=9 agoSeconds=300 gone=true\n> Error: ErrImagePull\n", id="events of gone pods"),
    ],
)  # fmt: skip
async def test_what_harms_nobody_is_no_cause(facts: str) -> None:
    values = await talk.verdict_on(
        facts, alert=[talk.firing("KubePodCrashLooping", deployment="web")]
    )
    assert values["verdict"] == "NoProblemFound", values.get("rootCause")


async def test_two_faults_are_both_named() -> None:
    facts = pulled("manifest unknown") + (
        "## MissingReference Pod/web-1-a referenced=ConfigMap/web-env\n> envFrom.configMapRef.name: web-env\n"
    )
    values = await talk.verdict_on(facts)
    told = values["rootCause"]["statement"] + " ".join(
        item["statement"] for item in values["findings"]
    )
    assert "web-env" in told
    assert "reg.shop/web:9" in told


async def test_a_deleted_jobs_events_still_tell_the_cause() -> None:
    text = 'Job "night" not found in namespace shop: x\nno name comes near\n' + event(
        "Job/night", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    ).replace("agoSeconds", "gone=true agoSeconds")
    gone = talk.step(1, text, status=talk.tools.ToolStatus.NOT_FOUND, kind="Job", name="night")
    values = await talk.concluded(talk.opening("Job/night"), *gone)
    assert values["verdict"] == "RootCauseFound"
    assert values["rootCause"]["confidence"] == "Low"
    assert "gone" in values["rootCause"]["statement"]
    assert "backoff limit" in values["rootCause"]["statement"]
