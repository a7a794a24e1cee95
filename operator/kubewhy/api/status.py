"""The status of an Investigation: a projection of its journal, written by the operator only.

It has no defaults: what is absent has not been seen. Lists are empty rather than absent when they are
written, so that a merge patch empties them.
"""

from typing import Annotated

from kubewhy.api import base, bounds, values
from kubewhy.api.base import Count, items, text
from kubewhy.api.conditions import Condition


class ObjectReference(base.ApiModel):
    """An object as far as a model could name it."""

    api_version: Annotated[str, text(bounds.API_VERSION)] | None = None
    """apiVersion is the object's API group and version, where known."""
    kind: Annotated[str, text(bounds.KIND, min_length=1)]
    """kind is the object's kind."""
    namespace: Annotated[str, text(bounds.LABEL)] | None = None
    """namespace is the object's namespace, where it has one."""
    name: Annotated[str, text(bounds.NAME, min_length=1)]
    """name is the object's name."""


class Evidence(base.ApiModel):
    """A quote of a tool's output."""

    call: Annotated[str, text(bounds.EVIDENCE_CALL)]
    """call is the id, in the trace, of the tool call that is quoted."""
    quote: Annotated[str, text(bounds.QUOTE)]
    """quote is the text that proves the statement."""
    verified: bool
    """verified says that the operator found the quote, word for word, in that call's output."""


EvidenceList = Annotated[tuple[Evidence, ...], items(bounds.EVIDENCE)]


class RootCause(base.ApiModel):
    """The explanation that the run came to."""

    statement: Annotated[str, text(bounds.STATEMENT, min_length=1)]
    """statement is the root cause in one or two sentences."""
    mechanism: Annotated[str, text(bounds.MECHANISM)] | None = None
    """mechanism is the kind of fault in one word, such as OOMKilled."""
    subject: ObjectReference | None = None
    """subject is the object at fault; it may be another one than the subject investigated."""
    confidence: values.Confidence | None = None
    """confidence is how sure the model says that it is."""
    evidence: EvidenceList = ()
    """evidence are the quotes that the statement rests on."""


class Finding(base.ApiModel):
    """A fact that was observed, or a cause that was excluded, with its evidence."""

    statement: Annotated[str, text(bounds.STATEMENT, min_length=1)]
    """statement is the fact in one or two sentences."""
    evidence: EvidenceList = ()
    """evidence are the quotes that the statement rests on."""


class BlindSpot(base.ApiModel):
    """Something that could not be looked at, so that the answer does not rest on it."""

    call: Annotated[str, text(bounds.EVIDENCE_CALL)] | None = None
    """call is the id of the tool call that failed, where there was one."""
    tool: Annotated[str, text(bounds.TOOL_NAME)] | None = None
    """tool is the tool that failed."""
    status: values.ToolStatus | None = None
    """status is how the call ended."""
    message: Annotated[str, text(bounds.BLIND_SPOT_MESSAGE, min_length=1)]
    """message says what could not be seen, and why."""


class Action(base.ApiModel):
    """A next step for a person."""

    description: Annotated[str, text(bounds.ACTION_DESCRIPTION, min_length=1)]
    """description says what to do."""
    command: Annotated[str, text(bounds.ACTION_COMMAND)] | None = None
    """command is ready to paste, where the step is a command."""
    risk: values.Risk | None = None
    """risk is what the step may break."""


class Todo(base.ApiModel):
    """A task on the run's own list."""

    text: Annotated[str, base.text(bounds.TODO_TEXT, min_length=1)]
    """text says what is to be looked at."""
    status: values.TodoStatus
    """status is how far the task is."""


class TraceCall(base.ApiModel):
    """One tool call, shortened; its record holds all of it."""

    id: base.CallId
    """id is the step and the call's index in it, such as 2-0."""
    step: Count
    """step is the model request that asked for the call, counted from 1."""
    tool: Annotated[str, text(bounds.TOOL_NAME, min_length=1)]
    """tool is the tool's name."""
    arguments: Annotated[str, text(bounds.ARGUMENTS)] | None = None
    """arguments are the call's arguments as canonical JSON text, cut at its bound."""
    status: values.ToolStatus | None = None
    """status is how the call ended; absent while it runs."""
    started_at: base.Time | None = None
    """startedAt is when the call began."""
    duration_ms: Count | None = None
    """durationMs is how long the call took, in milliseconds."""
    bytes: Count | None = None
    """bytes is the size of the whole output."""
    excerpt: Annotated[str, text(bounds.EXCERPT)] | None = None
    """excerpt is the output's beginning and end."""
    truncated: bool | None = None
    """truncated says that the excerpt is not all of the output."""
    record: Annotated[str, text(bounds.NAME)] | None = None
    """record names the InvestigationRecord that holds the output."""


class PendingApproval(base.ApiModel):
    """A call that waits for a person's decision."""

    id: base.RequestId
    """id is the request's own id, which the approval's annotation key ends with."""
    call: base.CallId | None = None
    """call is the tool call's id in the trace."""
    tool: Annotated[str, text(bounds.TOOL_NAME, min_length=1)]
    """tool is the tool's name."""
    rendered: Annotated[str, text(bounds.RENDERED_CALL, min_length=1)]
    """rendered is exactly what would run: the argument list or the request, with escapes."""
    diff: Annotated[str, text(bounds.DIFF)] | None = None
    """diff is what the call would change, where the API server can tell in advance."""
    digest: base.Digest
    """digest binds the approval to exactly this call; the decision repeats it."""
    requested_at: base.Time
    """requestedAt is when the approval was asked for."""
    expires_at: base.Time
    """expiresAt is when the request lapses; the run then goes on without the call."""
    command: Annotated[str, text(bounds.APPROVE_COMMAND)] | None = None
    """command approves the call when it is run."""


class Approval(base.ApiModel):
    """A decision that was accepted."""

    id: base.RequestId
    """id is the id of the request that was decided."""
    decision: values.Decision
    """decision is Approve or Deny."""
    by: Annotated[str, text(bounds.USER, min_length=1)]
    """by is the user who decided."""
    at: base.Time
    """at is when the operator saw the decision."""
    digest: base.Digest
    """digest is the digest of the call that was decided."""


class Usage(base.ApiModel):
    """What the model used."""

    input_tokens: Count
    """inputTokens counts the tokens sent to the model."""
    output_tokens: Count
    """outputTokens counts the tokens the model wrote."""
    cached_tokens: Count | None = None
    """cachedTokens counts the sent tokens that the provider had in its cache."""
    cost_micro_usd: Count
    """costMicroUSD is the cost in millionths of a US dollar."""
    unaccounted_calls: Count | None = None
    """unaccountedCalls counts model requests whose reply, and bill, a restart hid."""


class Claim(base.ApiModel):
    """Which replica works on the Investigation."""

    holder: Annotated[str, text(bounds.HOLDER)]
    """holder is the replica; empty when it has let go."""
    epoch: Count
    """epoch rises with each claim; a writer with an older one is refused."""


class Records(base.ApiModel):
    """How much the journal holds."""

    count: Count
    """count is the number of InvestigationRecords."""
    events: Count
    """events is the number of events in them."""


class EffectiveLimits(base.ApiModel):
    """The limits the run began with, defaults filled in."""

    steps: Count
    """steps bounds the requests to the model."""
    tool_calls: Count
    """toolCalls bounds the tool calls."""
    tokens: Count
    """tokens bounds input and output tokens together."""
    cost_micro_usd: Count
    """costMicroUSD bounds the money spent, in millionths of a US dollar."""
    seconds: Count
    """seconds bounds the working time."""
    approval_seconds: Count
    """approvalSeconds bounds the wait for each approval."""


class Runtime(base.ApiModel):
    """What the run was made with, written once at its start."""

    version: Annotated[str, text(bounds.RUNTIME_VERSION)] | None = None
    """version is the operator's version."""
    model: Annotated[str, text(bounds.NAME)] | None = None
    """model is the model that was used, as its provider names it."""
    prompt_digest: base.Digest | None = None
    """promptDigest identifies the prompt."""
    toolset_digest: base.Digest | None = None
    """toolsetDigest identifies the tools and their definitions."""
    limits: EffectiveLimits | None = None
    """limits are the limits in force."""


class InvestigationStatus(base.ApiModel):
    """What was found, with its evidence and its cost. Written by the operator only."""

    observed_generation: Count | None = None
    """observedGeneration is the generation of the spec that this status is about."""
    conditions: Annotated[
        tuple[Condition, ...],
        items(bounds.CONDITIONS, kind="map", keys=["type"]),
        base.unique(lambda condition: str(condition.type)),
    ] = ()
    """conditions tell where the Investigation stands; Succeeded is the first to look at."""
    start_time: base.Time | None = None
    """startTime is when the work began."""
    completion_time: base.Time | None = None
    """completionTime is when the Investigation finished."""
    subject: Annotated[str, text(bounds.SUBJECT)] | None = None
    """subject is the object under investigation, for display, such as Deployment/checkout."""
    cost: Annotated[str, text(bounds.COST)] | None = None
    """cost is the money spent, for display, such as $0.021."""
    steps: Count | None = None
    """steps is the number of requests to the model so far."""
    tool_calls: Count | None = None
    """toolCalls is the number of tool calls so far."""
    usage: Usage | None = None
    """usage is what the model used so far."""
    todo: Annotated[tuple[Todo, ...], items(bounds.TODO)] = ()
    """todo is the run's own list of tasks."""
    summary: Annotated[str, text(bounds.SUMMARY)] | None = None
    """summary is the answer in one line."""
    root_cause: RootCause | None = None
    """rootCause is the explanation, where one was found."""
    findings: Annotated[tuple[Finding, ...], items(bounds.FINDINGS)] = ()
    """findings are facts that were observed."""
    ruled_out: Annotated[tuple[Finding, ...], items(bounds.RULED_OUT)] = ()
    """ruledOut are causes that were excluded."""
    blind_spots: Annotated[tuple[BlindSpot, ...], items(bounds.BLIND_SPOTS)] = ()
    """blindSpots are what could not be looked at."""
    actions: Annotated[tuple[Action, ...], items(bounds.ACTIONS)] = ()
    """actions are next steps for a person."""
    report: Annotated[str, text(bounds.REPORT)] | None = None
    """report is the whole answer as Markdown."""
    trace: Annotated[tuple[TraceCall, ...], items(bounds.TRACE)] = ()
    """trace lists the tool calls in order, shortened."""
    pending_approvals: Annotated[tuple[PendingApproval, ...], items(bounds.PENDING_APPROVALS)] = ()
    """pendingApprovals are calls that wait for a person's decision."""
    approvals: Annotated[tuple[Approval, ...], items(bounds.APPROVALS)] = ()
    """approvals are the decisions that were accepted."""
    finished: bool | None = None
    """finished is true once Succeeded is True or False; objects can be selected by it."""
    claim: Claim | None = None
    """claim tells which replica works on the Investigation."""
    records: Records | None = None
    """records tell how much the journal holds."""
    runtime: Runtime | None = None
    """runtime is what the run was made with."""
