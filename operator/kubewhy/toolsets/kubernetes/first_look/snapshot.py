"""What one first look gathered, as a value. Facts are made from it by pure functions."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A read that gave no answer. `reason` is one word: Forbidden, TimedOut, Unavailable, BudgetSpent…"""

    verb: str
    resource: str
    name: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The end of one container's log. `cut` says that earlier lines were left out; `problem` why it is empty."""

    pod: str
    container: str
    previous: bool
    lines: tuple[str, ...] = ()
    total_bytes: int = 0
    cut: bool = False
    problem: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Something that a pod spec needs by name. `key` is "" where the whole object is meant; `via` tells the place."""

    kind: str
    name: str
    key: str = ""
    via: str = ""
    container: str = ""
    optional: bool = False

    @property
    def ref(self) -> objects.Ref:
        """What is referred to."""
        return objects.Ref(self.kind, self.name)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that was read, by kind. Lists are bounded by the gatherer.

    `subject` is the object asked for; `owners` lead from it upwards; `workload` is the uppermost object that runs the
    pods. `focus` are the pods looked at closely, the worst first. `missing` maps what is not there to the API's words.
    `pods_left_out` counts pods that were not read. `neighbours` are pods of the namespace, read where one of them may
    have preempted ours.
    """

    now: datetime.datetime
    namespace: str
    subject: shapes.Object
    replaced: str = ""
    owners: tuple[shapes.Object, ...] = ()
    workload: shapes.Object = dataclasses.field(default_factory=dict)
    replica_sets: tuple[shapes.Object, ...] = ()
    jobs: tuple[shapes.Object, ...] = ()
    pods: tuple[shapes.Object, ...] = ()
    pods_left_out: int = 0
    focus: tuple[shapes.Object, ...] = ()
    events: tuple[shapes.Object, ...] = ()
    logs: tuple[Log, ...] = ()
    references: tuple[Reference, ...] = ()
    found: Mapping[objects.Ref, shapes.Object] = dataclasses.field(default_factory=dict)
    missing: Mapping[objects.Ref, str] = dataclasses.field(default_factory=dict)
    nodes: tuple[shapes.Object, ...] = ()
    quotas: tuple[shapes.Object, ...] = ()
    limit_ranges: tuple[shapes.Object, ...] = ()
    services: tuple[shapes.Object, ...] = ()
    services_complete: bool = False
    slices: tuple[shapes.Object, ...] = ()
    candidates: tuple[shapes.Object, ...] = ()
    policies: tuple[shapes.Object, ...] = ()
    autoscalers: tuple[shapes.Object, ...] = ()
    budgets: tuple[shapes.Object, ...] = ()
    storage_classes: tuple[shapes.Object, ...] = ()
    volumes: tuple[shapes.Object, ...] = ()
    neighbours: tuple[shapes.Object, ...] = ()
    failures: tuple[Failure, ...] = ()
    requests: int = 0

    @property
    def template(self) -> shapes.Object:
        """The pod template in force: the workload's, or the pod itself."""
        return objects.pod_template(self.workload) if self.workload else {}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The subject does not exist: what was looked for, names that come near it, and what its KubeEvents still tell.

    `namespace` is "" for a cluster-scoped kind.
    """

    now: datetime.datetime
    namespace: str
    kind: str
    name: str
    message: str
    near: tuple[str, ...] = ()
    events: tuple[shapes.Object, ...] = ()
    failures: tuple[Failure, ...] = ()
