"""Facts about probes: what they ask, and which ports the container declares."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

KINDS = ("startup", "liveness", "readiness")


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The probes of containers that are not ready or were restarted, and of all where KubeEvents speak of probes."""
    unhealthy = {
        shapes.text(event, "involvedObject", "name")
        for event in shot.events
        if shapes.text(event, "reason") in {"Unhealthy", "ProbeWarning"}
    }
    for pod in shot.focus:
        for item in podstate.containers(pod):
            if item.trouble >= podstate.EXITED or objects.name(pod) in unhealthy:
                yield from _probes(item)


def _probes(item: podstate.Container) -> Iterator[Ranked]:
    ports = _ports(item.spec)
    for kind in KINDS:
        probe = shapes.mapping(item.spec, f"{kind}Probe")
        if not probe:
            continue
        handler, fields = _handler(probe)
        timing = {
            "periodSeconds": shapes.number(probe, "periodSeconds", default=10),
            "timeoutSeconds": shapes.number(probe, "timeoutSeconds", default=1),
            "failureThreshold": shapes.number(probe, "failureThreshold", default=3),
            "initialDelaySeconds": shapes.number(probe, "initialDelaySeconds"),
        }
        text = " ".join(f"{key}={value}" for key, value in timing.items())
        yield ranked(
            76,
            "Probe",
            objects.ref(item.pod),
            f"{kind}Probe: {handler} {text}",
            f"ports of container {item.name}: {', '.join(ports) or 'none declared'}",
            container=item.name,
            probe=kind,
            **fields,
            portDeclared=_declared(item.spec, fields.get("port", "")),
            startupProbe="true" if shapes.mapping(item.spec, "startupProbe") else "false",
            **timing,
        )


def _handler(probe: shapes.Object) -> tuple[str, dict[str, str]]:
    http = shapes.mapping(probe, "httpGet")
    if http:
        scheme = shapes.text(http, "scheme") or "HTTP"
        port, path = shapes.text(http, "port"), shapes.text(http, "path") or "/"
        shown = f"httpGet {scheme.lower()}://:{port}{path}"
        return shown, {"handler": "httpGet", "scheme": scheme, "port": port, "path": path}
    for kind in ("tcpSocket", "grpc"):
        port = shapes.text(probe, kind, "port")
        if port:
            return f"{kind} :{port}", {"handler": kind, "port": port}
    command = objects.words(probe, "exec", "command")
    shown = " ".join(command).replace("\n", "\\n")[:200]
    return f"exec {shown}", {"handler": "exec", "command": shown}


def _ports(spec: shapes.Object) -> list[str]:
    return [
        f"{shapes.text(row, 'containerPort')}/{shapes.text(row, 'protocol') or 'TCP'}"
        + (f" ({shapes.text(row, 'name')})" if shapes.text(row, "name") else "")
        for row in shapes.mappings(spec, "ports")
    ]


def _declared(spec: shapes.Object, port: str) -> str:
    """Whether the container declares the port; "" where it declares none at all or the probe has none."""
    rows = shapes.mappings(spec, "ports")
    if not port or not rows:
        return ""
    known = {shapes.text(row, key) for row in rows for key in ("containerPort", "name")}
    return "true" if port in known else "false"
