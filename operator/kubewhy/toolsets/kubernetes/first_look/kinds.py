"""Every kind of fact that first_look can report, for the documentation."""

from __future__ import annotations

from typing import Final

KINDS: Final[dict[str, str]] = {
    "AutoscalerState": "bounds and replica numbers of a HorizontalPodAutoscaler, and its target",
    "BeingDeleted": "the subject has a deletion time; its finalizers",
    "ClaimState": "phase, class, size and access modes of a PersistentVolumeClaim",
    "ConfigSources": "the ConfigMaps and Secrets that the pods use, and where",
    "ContainerCommand": "command, arguments and heap settings of a container in trouble",
    "ContainerImage": "image, pull policy and names of pull secrets of a container in trouble",
    "ContainerResources": (
        "limits and requests of a container in trouble or of a pod that waits for a node"
    ),
    "ContainerRunning": "since when a container runs, whether it is ready, its restarts",
    "ContainerTerminated": "how a container ended: reason, exit code, times, how long it had run",
    "ContainerWaiting": "why a container waits, with the kubelet's message",
    "CronJobState": "schedule, suspension, concurrency, last run and last success of a CronJob",
    "DisruptionBudget": "allowed disruptions of a PodDisruptionBudget and the numbers behind them",
    "EnvironmentAbsent": (
        "a variable that the log names as missing and that the container's spec does not define"
    ),
    "EnvironmentAddress": (
        "a variable that holds the address of a Service which is absent or serves other ports"
    ),
    "EnvironmentTwice": "a variable that is defined more than once; the last one wins",
    "IngressRoute": "one rule of an Ingress, and whether its Service and port exist",
    "JobState": "active, succeeded and failed pods of a Job, its limits",
    "KubeEvent": "Kubernetes Events of one object, reason and message, with their count and age",
    "LimitRangeBound": "one bound of a LimitRange",
    "LoadBalancerState": "whether a Service of type LoadBalancer has an address",
    "LogEmpty": "a container's log that was read and is empty",
    "LogTail": (
        "the telling lines of a container's log: the last error with its context, and the end"
    ),
    "LogUnavailable": "a log that the kubelet could not give, with its words",
    "LookedAt": "the object that was looked at and the workload it belongs to",
    "MissingKey": "a key that a pod needs from a ConfigMap which does not hold it",
    "MissingReference": "an object that is named in a spec and does not exist",
    "NearestPods": (
        "workloads whose pods come nearest to a Service's selector, and the labels that differ"
    ),
    "NetworkPolicyApplies": "a NetworkPolicy that selects the pods, with its rules",
    "NodeCondition": "a condition of a node that matters here",
    "NodeMissing": "a node that a pod is bound to by name and that does not exist",
    "NodeState": "allocatable resources and labels of a node, whether it is cordoned",
    "NodeTaint": "a taint of a node",
    "ObjectCondition": "a condition of an object with reason and message",
    "OwnerChain": "the owners of a pod upwards",
    "PodCondition": "a condition of a pod that speaks of trouble",
    "PodState": "phase, reason and message, node, restarts and age of a pod",
    "PodsOverview": "how many pods there are, how many are ready, and their states",
    "PodsReady": "all pods are ready, and since when",
    "Preemptor": "the pod that took a preempted pod's place, and its priority class",
    "Probe": "what a probe asks, its timing, and the ports that the container declares",
    "Quota": "used and hard limit of one resource in a ResourceQuota",
    "ReadFailed": "a read that gave no answer, with verb, resource and reason",
    "RecentChange": "who wrote to an object in the last day (managedFields)",
    "ReplicaSetState": "revision and replica numbers of a ReplicaSet",
    "RevisionChange": "one difference between the pod templates of two revisions",
    "RolloutPaused": "the Deployment is paused",
    "ScaledToZero": "the workload is scaled to zero, and who did it",
    "SchedulingWishes": (
        "requests, selectors, affinities and spread constraints of a pod that waits for a node"
    ),
    "SecurityContext": "user, group and file system settings of a container in trouble",
    "ServiceEndpoints": "ready and other endpoints of a Service, and their ports",
    "ServiceMixedPods": "pods of more than one workload behind one Service",
    "ServiceNearMiss": "a Service whose selector fits the workload's pods only in part",
    "ServicePort": "a Service's port and target port beside the ports that the pods declare",
    "ServiceSelector": "a Service's selector, and how many pods fit it",
    "SpecSetting": "a setting of a spec that is seldom used and explains much when it is",
    "StorageClasses": "the storage classes there are, and the one that a claim wants",
    "VolumeState": "phase, size, modes and holder of a PersistentVolume",
    "WarningsQuiet": "how long ago the newest warning was, or that there is none",
    "WorkloadReplicas": "desired, updated, ready and available replicas of a workload",
}
