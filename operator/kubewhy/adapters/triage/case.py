"""What a request's messages say, read back into values: the task, the facts, and what was asked already."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubewhy.core import alerts, briefing, conclusion, facts, messages, subjects, tools, transcript

FIRST_LOOK = "kubernetes_first_look"
LOGS = "kubernetes_logs"

_API = {
    "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
    "Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "Service": "v1", "Node": "v1", "ConfigMap": "v1",
    "Secret": "v1", "ServiceAccount": "v1", "PersistentVolumeClaim": "v1", "PersistentVolume": "v1", "Namespace": "v1",
    "ResourceQuota": "v1", "LimitRange": "v1", "StorageClass": "storage.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2", "PodDisruptionBudget": "policy/v1",
    "NetworkPolicy": "networking.k8s.io/v1", "Ingress": "networking.k8s.io/v1",
}  # fmt: skip
_CLUSTER_SCOPED = frozenset({"Node", "PersistentVolume", "StorageClass", "Namespace"})


_ABOUT_ANSWERS = re.compile(
    r"error|latency|slow|5\d\d|fail|refus|unreach|no"
    r" ?request|down|timeout|login|unavailable|target",
    re.IGNORECASE,
)
_ABOUT_OBJECTS = re.compile(
    r"^Kube(?:Pod|Deployment|StatefulSet|DaemonSet|Container|Job|Node|Quota)"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """A fact and the id of the call that showed it."""

    fact: facts.Fact
    call: str

    def get(self, name: str) -> str:
        """A field of the fact, "" where it has none."""
        return self.fact.get(name)

    def number(self, name: str, default: int = 0) -> int:
        """A field as a whole number."""
        value = self.fact.get(name)
        return int(value) if value.isdigit() else default

    @property
    def text(self) -> str:
        """All raw words as one text."""
        return "\n".join(self.fact.words)

    def quote(self, part: str = "") -> conclusion.Evidence:
        """The first line of raw words that contains `part` (the first line where none does) as evidence."""
        line = next((word for word in self.fact.words if part in word), "")
        line = line or (self.fact.words[0] if self.fact.words else "")
        return conclusion.Evidence(call=self.call, quote=line[: conclusion.QUOTE_LENGTH])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call that was made, with its arguments and outcome."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    status: tools.ToolStatus
    text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The task and all that is known so far."""

    task: briefing.Briefing
    attempts: tuple[Attempt, ...] = ()
    seen: tuple[Seen, ...] = ()

    @property
    def namespace(self) -> str:
        """The namespace of the run."""
        return self.task.namespace

    @property
    def alert_names(self) -> str:
        """The names of all alerts as one text."""
        return " ".join(alert.name for alert in self.task.alerts)

    @property
    def about_answers(self) -> bool:
        """Whether the task is about what a program answers, not about its pods and objects."""
        names = [alert.name for alert in self.task.alerts]
        if any(_ABOUT_OBJECTS.search(name) for name in names):
            return False
        return _ABOUT_ANSWERS.search(f"{' '.join(names)} {self.task.question}") is not None

    @property
    def resolved(self) -> bool:
        """Whether every alert of the task is resolved."""
        return bool(self.task.alerts) and not any(alert.firing for alert in self.task.alerts)

    def of(self, kind: str, of: str = "", **fields: str) -> list[Seen]:
        """The facts of a kind, about an object if named, with the given field values; most decisive first."""
        return [
            item
            for item in self.seen
            if item.fact.kind == kind
            and (not of or item.fact.object == of)
            and all(item.get(name) == value for name, value in fields.items())
        ]

    def first(self, kind: str, of: str = "", **fields: str) -> Seen | None:
        """The most decisive of `of`, None where there is none."""
        return next(iter(self.of(kind, of, **fields)), None)

    def owner(self, item: Seen) -> subjects.Subject:
        """The object to name for a fact: of a pod or ReplicaSet its workload, else the object itself."""
        kind, _, name = item.fact.object.partition("/")
        if kind not in {"Pod", "ReplicaSet", "Job"}:
            return self.subject(kind, name)
        chain = self.first("OwnerChain", item.fact.object)
        if chain and chain.get("owner"):
            return self.named(chain.get("owner"))
        look = next((look for look in self.of("LookedAt") if look.call == item.call), None)
        workload = look.get("workload") if look else ""
        stem = workload.partition("/")[2]
        if stem and (name == stem or name.startswith(f"{stem}-")):
            return self.named(workload)
        return self.subject(kind, name)

    def named(self, text: str) -> subjects.Subject:
        """A subject from "Kind/name"."""
        kind, _, name = text.partition("/")
        return self.subject(kind, name)

    def subject(self, kind: str, name: str) -> subjects.Subject:
        """A subject with the API version and namespace that its kind has."""
        return subjects.Subject(
            kind=kind,
            name=name,
            api_version=_API.get(kind, ""),
            namespace="" if kind in _CLUSTER_SCOPED else self.namespace,
        )

    @property
    def asked(self) -> subjects.Subject | None:
        """The object that the newest successful look was about, else the briefing's subject."""
        look = self.first("LookedAt")
        if look:
            return self.named(look.get("workload") or look.fact.object)
        return self.task.subject


def read(request: messages.ModelRequest) -> Case | None:
    """The case of a request; None where no message holds a briefing."""
    task = next((task for task in _briefings(request.messages) if task), None)
    if task is None:
        return None
    attempts = tuple(_attempts(request.messages))
    seen = [
        Seen(fact, attempt.id)
        for attempt in attempts
        if attempt.tool == FIRST_LOOK
        for fact in facts.parse(attempt.text)
    ]
    return Case(task=task, attempts=attempts, seen=tuple(seen))


def firing(found: Sequence[alerts.Alert]) -> list[alerts.Alert]:
    """The alerts that still fire, or all where none does."""
    return [alert for alert in found if alert.firing] or list(found)


def _briefings(found: Sequence[messages.Message]) -> Iterator[briefing.Briefing | None]:
    for message in found:
        if message.role is not messages.Role.USER:
            continue
        try:
            yield briefing.parse(message.text)
        except (ValueError, TypeError):
            yield None


def _attempts(found: Sequence[messages.Message]) -> Iterator[Attempt]:
    calls = {call.id: call for message in found for call in message.calls}
    for message in found:
        if message.role is not messages.Role.TOOL:
            continue
        call = calls.get(message.call_id)
        try:
            shown = transcript.parse(message.text)
        except ValueError:
            continue
        yield Attempt(
            id=shown.call_id,
            tool=shown.tool,
            arguments=_arguments(call),
            status=shown.status,
            text=shown.text,
        )


def _arguments(call: tools.ToolCall | None) -> Mapping[str, Any]:
    try:
        values = json.loads(call.arguments) if call else {}
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
