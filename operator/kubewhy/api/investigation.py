"""The Investigation: its spec, and the object as the API server serves it.

Alert labels and annotations are maps, although the API conventions prefer lists of named objects:
they are maps at their source, their keys are unique by nature, `labels.alertname` reads as people
know it, and an atomic owner writes them once. A map's keys have no length in a schema, so a rule
bounds the sum of all keys and values.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from kubewhy.api import base, bounds, names, values
from kubewhy.api.base import items, text
from kubewhy.api.status import InvestigationStatus

MUTABLE_SPEC_FIELDS: Final = ("suspend", "cancel", "ttlSecondsAfterFinished")
"""All other fields of the spec are immutable: to ask again, create another Investigation."""

QUESTION_OR_ALERTS: Final = "one of question and alerts is required"


class Subject(base.ApiModel):
    """The object under investigation, in the Investigation's namespace or cluster-scoped."""

    api_version: base.ApiVersion
    """apiVersion is the object's API group and version, such as apps/v1."""
    kind: base.KindName
    """kind is the object's kind, such as Deployment."""
    name: base.ObjectName
    """name is the object's name."""


class _Written(base.ApiModel):
    """A part of a spec: what was left empty is left out when it is written."""

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value not in ((), [], {})}


class Alert(_Written):
    """One alert in Alertmanager's form, bounded."""

    status: values.AlertStatus = values.AlertStatus.FIRING
    """status tells whether the alert fired or had resolved when it was received."""
    labels: Annotated[
        dict[str, Annotated[str, text(bounds.ALERT_VALUE)]],
        base.pairs(bounds.ALERT_PAIRS, min_pairs=1, total=bounds.ALERT_PAIRS_TOTAL),
        base.at_most_total(bounds.ALERT_PAIRS_TOTAL),
    ]
    """labels identify the alert's series; alertname names its rule."""
    annotations: Annotated[
        dict[str, Annotated[str, text(bounds.ALERT_VALUE)]],
        base.pairs(bounds.ALERT_PAIRS, total=bounds.ALERT_PAIRS_TOTAL),
        base.at_most_total(bounds.ALERT_PAIRS_TOTAL),
    ] = Field(default_factory=dict)
    """annotations describe the alert to people."""
    starts_at: base.Time | None = None
    """startsAt is when the alert began to fire."""
    ends_at: base.Time | None = None
    """endsAt is when the alert resolved; absent while it fires."""
    generator_url: Annotated[str, text(bounds.GENERATOR_URL)] | None = None
    """generatorURL leads to the rule's expression at the alert's source."""
    fingerprint: Annotated[str, text(bounds.LABEL)] | None = None
    """fingerprint is the source's hash of the labels: the same for every firing of one series."""
    truncated: bool = False
    """truncated says that labels or annotations were cut to their bounds."""

    @field_validator("ends_at")
    @classmethod
    def _absent_while_firing(cls, value: datetime | None) -> datetime | None:
        """Alertmanager writes year 1 where there is no end."""
        return None if value is not None and value.year == 1 else value


class ClientTool(base.ApiModel):
    """A tool that someone outside runs and answers."""

    name: base.ToolName
    """name is what the model calls the tool."""
    description: Annotated[str, text(bounds.TOOL_DESCRIPTION, min_length=1)]
    """description tells the model what the tool does and when to call it."""
    parameters: Annotated[str, text(bounds.TOOL_PARAMETERS, min_length=2)] = "{}"
    """parameters is the JSON schema of the arguments, an object, as JSON text."""


class Limits(base.ApiModel):
    """What one run may use. A run that reaches a limit still concludes with what it knows."""

    steps: Annotated[int, base.integer(1, 200)] = 30
    """steps bounds the requests to the model."""
    tool_calls: Annotated[int, base.integer(1, 1000)] = 100
    """toolCalls bounds the tool calls of the whole run."""
    tokens: Annotated[int, base.integer(1000, 100_000_000)] = 400_000
    """tokens bounds input and output tokens together."""
    cost_micro_usd: Annotated[int, base.integer(1, 1_000_000_000)] = 2_000_000
    """costMicroUSD bounds the money spent on the model, in millionths of a US dollar."""
    seconds: Annotated[int, base.integer(1, 86_400)] = 600
    """seconds bounds the working time. Waiting for a person or a client tool does not count."""
    approval_seconds: Annotated[int, base.integer(1, 2_592_000)] = 3600
    """approvalSeconds bounds the wait for each approval; then the run goes on without the call."""


class InvestigationSpec(_Written):
    """What to find out, about what, and within which bounds.

    All of it is immutable, except suspend, cancel and ttlSecondsAfterFinished.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "has(self.question) || (has(self.alerts) && size(self.alerts) > 0)",
                    "message": QUESTION_OR_ALERTS,
                    "fieldPath": ".question",
                    "reason": "FieldValueRequired",
                }
            ]
        }
    )

    question: Annotated[str, text(bounds.QUESTION, min_length=1)] | None = None
    """question is what to find out, in plain words. One of question and alerts is required."""
    subject: Subject | None = None
    """subject is the object to begin with. Absent, it is sought from the question or the alerts."""
    alerts: Annotated[tuple[Alert, ...], items(bounds.ALERTS)] = ()
    """alerts are what fired, as Alertmanager sent it. One of question and alerts is required."""
    severity: values.Severity | None = None
    """severity is how urgent the problem is; objects can be selected by it."""
    model: base.CatalogueName = "default"
    """model is a name in the operator's list of models."""
    toolsets: Annotated[
        tuple[base.CatalogueName, ...], items(bounds.TOOLSETS, kind="set"), base.unique()
    ] = ()
    """toolsets names the groups of tools that may be used. Absent: all that are healthy."""
    runbooks: Annotated[
        tuple[base.CatalogueName, ...], items(bounds.RUNBOOKS, kind="set"), base.unique()
    ] = ()
    """runbooks names guidance to give to the model besides what its matchers choose."""
    client_tools: Annotated[
        tuple[ClientTool, ...],
        items(bounds.CLIENT_TOOLS, kind="map", keys=["name"]),
        base.unique(lambda tool: str(tool.name)),
    ] = ()
    """clientTools are tools that someone outside runs and answers."""
    mode: values.Mode = values.Mode.READ_ONLY
    """mode is ReadOnly, or Approve: writes are offered to the model and each waits for approval."""
    limits: Annotated[Limits, Field(json_schema_extra={"default": {}})] = Limits()
    """limits bound what the run may use."""
    service_account_name: base.Name | None = None
    """serviceAccountName is the account, in this namespace, that reads run as.

    Absent: kubewhy-investigator. Another name needs the verb use on that service account.
    """
    requester: Annotated[str, text(bounds.USER, min_length=1)] | None = None
    """requester is the user who asks. Where the four-eyes rule is on, it must be given."""
    suspend: bool = False
    """suspend holds the run before its next step until it is false again."""
    cancel: bool = False
    """cancel ends the run. What is known by then is kept; a finished run does not start again."""
    ttl_seconds_after_finished: Annotated[int, base.integer(0, 315_360_000)] = 604_800
    """ttlSecondsAfterFinished is how long a finished Investigation is kept, with its records."""

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.question is None and not self.alerts:
            raise ValueError(QUESTION_OR_ALERTS)
        return self


class OwnerReference(base.ApiModel):
    """The part of an owner reference that the operator reads and writes."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(base.ApiModel):
    """The part of an object's metadata that the operator reads and writes."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: base.Time | None = None
    deletion_timestamp: base.Time | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Investigation(base.ApiModel):
    """One question or alert episode about one subject, run to a conclusion."""

    api_version: str = names.API_VERSION
    kind: str = names.INVESTIGATION.kind
    metadata: ObjectMeta = ObjectMeta()
    spec: InvestigationSpec
    status: InvestigationStatus | None = None
