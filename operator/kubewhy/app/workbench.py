"""What each run works with: its frozen input, its model, its tools under its identity."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence

import kubewhy
from kubewhy import errors
from kubewhy.adapters.kube import accounts, client, reader
from kubewhy.api import investigation
from kubewhy.app import models, toolbox
from kubewhy.app.settings import Settings
from kubewhy.core import alerts, briefing, events, limits, ports, redaction, snapshots, subjects
from kubewhy.engine import perform, prompts

Redact = Callable[[str], str]


class Workbench:
    """Implements `engine.investigate.Workbench` from settings, model list and toolsets."""

    def __init__(
        self,
        settings: Settings,
        api: client.KubeClient,
        clock: ports.Clock,
        *,
        catalogue: models.Catalogue,
        toolbox: toolbox.Toolbox,
    ) -> None:
        self._settings = settings
        self._api = api
        self._clock = clock
        self._catalogue = catalogue
        self._toolbox = toolbox

    async def open(self, snapshot: snapshots.Snapshot) -> events.Opened:
        """See `engine.investigate.Workbench.open`."""
        spec = _spec(snapshot)
        model = self._catalogue.find(spec.model)
        chosen = self._chosen(spec.toolsets)
        await self._identity(snapshot.key.namespace, spec)
        fence = secrets.token_hex(6)
        return events.Opened(
            at=self._clock.now(),
            task=_task(snapshot, spec, self._redact),
            model=model.name,
            limits=_limits(spec.limits),
            system=prompts.system(
                chosen,
                off=[toolset for toolset in self._toolbox.toolsets if toolset.problem],
                namespace=snapshot.key.namespace,
                mode=spec.mode.value,
                fence=fence,
                cluster=self._settings.cluster,
            ),
            fence=fence,
            tools=tuple(tool.spec for toolset in chosen for tool in toolset.tools),
            mode=spec.mode.value,
            version=kubewhy.__version__,
        )

    def unusable(self, snapshot: snapshots.Snapshot) -> events.Opened:
        """See `engine.investigate.Workbench.unusable`."""
        spec = snapshot.spec
        task = briefing.Briefing(namespace=snapshot.key.namespace)
        return events.Opened(
            at=self._clock.now(),
            task=_task(snapshot, spec, self._redact) if spec else task,
            model=spec.model if spec else "unknown",
            limits=_limits(spec.limits) if spec else limits.Limits(),
            system="",
            fence="",
            tools=(),
            version=kubewhy.__version__,
        )

    async def performer(
        self, snapshot: snapshots.Snapshot, opened: events.Opened
    ) -> perform.Performer:
        """See `engine.investigate.Workbench.performer`."""
        namespace = snapshot.key.namespace
        who = await self._identity(namespace, snapshot.spec)
        kube = reader.KubeReader(
            self._api, namespace=namespace, account=who.user, bounded=who.bounded
        )
        offered = {spec.name for spec in opened.tools}
        return perform.Performer(
            model=self._catalogue.find(opened.model),
            toolbox={
                tool.spec.name: tool
                for toolset in self._toolbox.toolsets
                for tool in toolset.tools
                if tool.spec.name in offered
            },
            context=ports.ToolContext(
                namespace=namespace, subject=opened.task.subject, kube=kube, now=self._clock.now
            ),
            clock=self._clock,
            redact=self._redact,
            parallel=asyncio.Semaphore(self._settings.parallel_tools),
        )

    def _redact(self, text: str) -> str:
        return redaction.redact(text, known=self._catalogue.keys)

    async def _identity(
        self, namespace: str, spec: investigation.InvestigationSpec | None
    ) -> accounts.Identity:
        requested = (spec.service_account_name if spec else None) or ""
        return await accounts.identity(
            self._api,
            namespace,
            requested,
            self._settings.allowed_accounts,
            home=self._settings.namespace,
            trusted=self._settings.trusted_namespaces,
        )

    def _chosen(self, asked: Sequence[str]) -> list[ports.Toolset]:
        """The toolsets that the spec names, or all healthy ones.

        Raises:
            errors.ConfigError: a named one doesn't exist or is off.
        """
        if not asked:
            return [toolset for toolset in self._toolbox.toolsets if not toolset.problem]
        by_name = {toolset.name: toolset for toolset in self._toolbox.toolsets}
        for name in asked:
            if name not in by_name:
                known = ", ".join(sorted(by_name))
                raise errors.ConfigError(
                    f"spec.toolsets: there is no toolset {name!r}; the toolsets are: {known}"
                )
            if by_name[name].problem:
                raise errors.ConfigError(f"spec.toolsets: {name} is off: {by_name[name].problem}")
        return [by_name[name] for name in dict.fromkeys(asked)]


def _spec(snapshot: snapshots.Snapshot) -> investigation.InvestigationSpec:
    if snapshot.spec is None:
        raise errors.ConfigError(snapshot.problem)
    return snapshot.spec


def _task(
    snapshot: snapshots.Snapshot, spec: investigation.InvestigationSpec, redact: Redact
) -> briefing.Briefing:
    return briefing.Briefing(
        namespace=snapshot.key.namespace,
        question=redact(spec.question or ""),
        subject=_subject(snapshot.key.namespace, spec.subject),
        alerts=tuple(_alerts(spec.alerts, redact)),
    )


def _subject(namespace: str, subject: investigation.Subject | None) -> subjects.Subject | None:
    if subject is None:
        return None
    return subjects.Subject(
        kind=subject.kind, name=subject.name, api_version=subject.api_version, namespace=namespace
    )


def _alerts(found: Iterable[investigation.Alert], redact: Redact) -> Iterable[alerts.Alert]:
    for alert in found:
        manifest = alert.manifest()
        yield alerts.Alert(
            status=alert.status.value,
            labels={key: redact(value) for key, value in alert.labels.items()},
            annotations={key: redact(value) for key, value in alert.annotations.items()},
            starts_at=manifest.get("startsAt", ""),
            ends_at=manifest.get("endsAt", ""),
            generator_url=redact(alert.generator_url or ""),
            fingerprint=alert.fingerprint or "",
            truncated=alert.truncated,
        )


def _limits(found: investigation.Limits) -> limits.Limits:
    return limits.Limits(
        steps=found.steps,
        tool_calls=found.tool_calls,
        tokens=found.tokens,
        cost_micro_usd=found.cost_micro_usd,
        seconds=found.seconds,
        approval_seconds=found.approval_seconds,
    )
