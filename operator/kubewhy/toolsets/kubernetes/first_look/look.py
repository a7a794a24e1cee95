"""The tool itself: arguments in, ranked facts out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes.first_look import gather, objects, ranking, reads, snapshot
from kubewhy.toolsets.kubernetes.first_look.making import (
    batch,
    history,
    kube_events,
    logs,
    needs,
    placement,
    plain,
    pods,
    probes,
    scaling,
    serving,
    states,
    storing,
    workloads,
)

SPEC: Final = tools.ToolSpec(
    name="kubernetes_first_look",
    toolset="kubernetes",
    description=(
        "Facts an expert looks at first about one object and what belongs to it: owner chain,"
        " container states and last exits, log tail of the failing container, warning events,"
        " missing references, probes, scheduling, quotas, Service endpoints, rollout changes. Start"
        " here. Without arguments: the subject of the investigation."
    ),
    parameters={
        "type": "object",
        "properties": {
            "kind": {"type": "string", "description": "Such as Deployment, Pod, Service, Job."},
            "name": {"type": "string"},
            "namespace": {"type": "string", "description": "Default: the investigation's."},
        },
        "additionalProperties": False,
    },
    timeout_seconds=30,
)

_MAKERS = (
    plain.facts, pods.facts, states.facts, logs.facts, kube_events.facts, workloads.facts, history.facts,
    needs.facts, probes.facts, placement.facts, serving.facts, storing.facts, batch.facts, scaling.facts,
)  # fmt: skip


class FirstLook:
    """Implements `core.ports.Tool`."""

    spec = SPEC

    async def run(
        self, context: ports.ToolContext, arguments: Mapping[str, Any]
    ) -> tools.ToolOutput:
        """Look at the named object, or at the subject.

        Raises:
            errors.ToolFailure: `Error` where neither names an object, `NotFound` for a kind that is not served,
                `Forbidden` for another namespace than the Investigation's.
        """
        kind, name = _target(context, arguments)
        namespace = arguments.get("namespace") or context.namespace
        if namespace != context.kube.namespace:
            raise errors.ToolFailure(
                "Forbidden",
                f"first_look reads only namespace {context.kube.namespace}, not {namespace}; "
                f"an investigation in namespace {namespace} can look there",
            )
        source = reads.Reads(context.kube)
        found = await gather.gather(
            source, kind=kind, name=name, namespace=namespace, now=context.now()
        )
        if isinstance(found, snapshot.Gone):
            return tools.ToolOutput(text=_gone(found), status=tools.ToolStatus.NOT_FOUND)
        text, cut = ranking.render(facts(found))
        return tools.ToolOutput(text=text, truncated=cut)


def tool() -> ports.Tool:
    """The tool, ready for a toolset."""
    return FirstLook()


def facts(shot: snapshot.Snapshot) -> Iterator[ranking.Ranked]:
    """All facts of a snapshot, in no order."""
    for make in _MAKERS:
        yield from make(shot)


def _target(context: ports.ToolContext, arguments: Mapping[str, Any]) -> tuple[str, str]:
    subject = context.subject
    kind, name = str(arguments.get("kind") or ""), str(arguments.get("name") or "")
    if "/" in name:
        kind, name = name.split("/", 1)
    if not kind and not name and subject:
        return subject.kind, subject.name
    if subject and not kind and name == subject.name:
        kind = subject.kind
    if not kind or not name:
        raise errors.ToolFailure(
            "Error",
            "name the object: kind and name are both needed, such as kind=Deployment name=checkout",
        )
    return kind, name


def _gone(found: snapshot.Gone) -> str:
    """What was looked for and what is left of it: near names and KubeEvents."""
    where = f" in namespace {found.namespace}" if found.namespace else ""
    lines = [f'{found.kind} "{found.name}" not found{where}: {found.message}']
    lines.append(
        f"names that come near: {', '.join(found.near)}" if found.near else "no name comes near"
    )
    events = [
        kube_events.fact(item, now=found.now, gone=True)
        for item in kube_events.merged(found.events)
    ]
    failed = [
        ranking.ranked(
            40, "ReadFailed", objects.Ref(item.resource, item.name or "*"), item.message,
            verb=item.verb, resource=item.resource, reason=item.reason,
        )
        for item in found.failures
    ]  # fmt: skip
    text, _ = ranking.render([*events, *failed])
    return "\n".join([*lines, text]) if text else "\n".join(lines)
