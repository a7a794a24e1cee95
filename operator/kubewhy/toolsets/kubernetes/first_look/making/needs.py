"""Facts about what a pod needs by name and does not get, and about the environment that its program sees."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Reference, Snapshot

MOST_SOURCES = 10
_NAME = re.compile(
    r"(?<![\w.])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w])|(?<=')[A-Z][A-Z0-9]{2,}(?=')|(?<=\$)[A-Z][A-Z0-9_]{2,}"
)
_MISSING = re.compile(
    r"not set|unset|not defined|undefined|missing|required|not found|KeyError|is empty|parameter"
    r" not set"
    r"|unbound variable|must be|not provided|no value|mandatory|expected|NoneType|null",
    re.IGNORECASE,
)
_LOOKS_LIKE_ERRNO = re.compile(
    r"^(?:E[A-Z]{3,}|ERR_\w+|SIG[A-Z]+|CERT_\w+|SSL_\w+|HTTP_\w+|ECONN\w+)$"
)
_ADDRESS = re.compile(
    r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^@/\s]*@)?(?P<host>[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*)(?::(?P<port>\d{1,5}))?(?:/\S*)?$"
)
_ADDRESS_NAME = re.compile(
    r"(?:ADDR|ADDRESS|URL|URI|HOST|ENDPOINT|SERVICE|SERVER|UPSTREAM|BACKEND|BROKER)S?(?:_|$)"
)
_SECRET_NAME = re.compile(r"PASS|SECRET|TOKEN|KEY|CREDENTIAL|DSN|AUTH", re.IGNORECASE)


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """Missing references, missing keys, variables that the log asks for, addresses that no Service serves."""
    owner = objects.ref(shot.focus[0]) if shot.focus else objects.ref(shot.workload)
    for reference in shot.references:
        yield from _reference(shot, owner, reference)
    pod = shot.focus[0] if shot.focus else shot.template
    yield from _sources(shot, owner)
    if pod:
        yield from _asked_for(shot, pod, owner)
        yield from _twice(pod, owner)
        yield from _addresses(shot, pod, owner)


def _reference(shot: Snapshot, owner: objects.Ref, reference: Reference) -> Iterator[Ranked]:
    if reference.optional:
        return
    if reference.ref in shot.missing and not (reference.key and _whole_too(shot, reference)):
        yield ranked(
            95,
            "MissingReference",
            owner,
            reference.via,
            shot.missing[reference.ref],
            referenced=reference.ref,
            key=reference.key,
            container=reference.container,
        )
    found = shot.found.get(reference.ref)
    if (
        found
        and reference.kind == "ConfigMap"
        and reference.key
        and reference.key not in keys(found)
    ):
        yield ranked(
            95,
            "MissingKey",
            owner,
            reference.via,
            f"keys of ConfigMap {reference.name}: {', '.join(keys(found)) or 'none'}",
            referenced=reference.ref,
            key=reference.key,
            container=reference.container,
        )


def _sources(shot: Snapshot, owner: objects.Ref) -> Iterator[Ranked]:
    """Where the pods get their configuration from."""
    used = [item for item in shot.references if item.kind in {"ConfigMap", "Secret"}]
    names = {
        kind: dict.fromkeys(item.name for item in used if item.kind == kind)
        for kind in ("ConfigMap", "Secret")
    }
    if used:
        yield ranked(
            47,
            "ConfigSources",
            owner,
            *dict.fromkeys(item.via for item in used[:MOST_SOURCES]),
            configMaps=",".join(names["ConfigMap"]),
            secrets=",".join(names["Secret"]),
        )


def _whole_too(shot: Snapshot, reference: Reference) -> bool:
    return any(item.ref == reference.ref and not item.key for item in shot.references)


def keys(config_map: shapes.Object) -> list[str]:
    """The keys of a ConfigMap."""
    return sorted({*shapes.mapping(config_map, "data"), *shapes.mapping(config_map, "binaryData")})


def _asked_for(shot: Snapshot, pod: shapes.Object, owner: objects.Ref) -> Iterator[Ranked]:
    """Variables that a failing container's log names as missing and that its spec does not define."""
    specs = {item.name: item for item in podstate.containers(pod)}
    done: set[tuple[str, str]] = set()
    for log in shot.logs:
        item = specs.get(log.container)
        if item is None or log.pod != objects.name(pod) or item.trouble < podstate.EXITED:
            continue
        for line in log.lines[-60:]:
            for name in _NAME.findall(line) if _MISSING.search(line) else ():
                if (item.name, name) not in done and not _LOOKS_LIKE_ERRNO.match(name):
                    done.add((item.name, name))
                    yield from _variable(shot, item, owner, name)


def _variable(
    shot: Snapshot, item: podstate.Container, owner: objects.Ref, name: str
) -> Iterator[Ranked]:
    defined = [shapes.text(row, "name") for row in shapes.mappings(item.spec, "env")]
    sources, opaque = [], False
    for row in shapes.mappings(item.spec, "envFrom"):
        ref = objects.Ref("ConfigMap", shapes.text(row, "configMapRef", "name"))
        prefix = shapes.text(row, "prefix")
        if ref in shot.found:
            sources.append((ref, [prefix + key for key in keys(shot.found[ref])]))
        elif ref.name or shapes.text(row, "secretRef", "name"):
            opaque = True
    mounted = [(ref, keys(found)) for ref, found in shot.found.items() if ref.kind == "ConfigMap"]
    if name in defined or any(name in names for _, names in [*sources, *mounted]):
        return
    words = [f"env of container {item.name}: {', '.join(defined) or 'none'}"]
    words += [
        f"keys of ConfigMap {ref.name}: {', '.join(names) or 'none'}"
        for ref, names in sources or mounted
    ]
    from_map = next((ref.name for ref, _ in sources or mounted), "")
    yield ranked(
        60 if opaque else 85,
        "EnvironmentAbsent",
        owner,
        *words,
        container=item.name,
        variable=name,
        configMap=from_map,
        uncertain="a source of variables was not read" if opaque else "",
    )


def _twice(pod: shapes.Object, owner: objects.Ref) -> Iterator[Ranked]:
    for container in objects.containers(pod):
        rows = shapes.mappings(container, "env")
        counts = collections.Counter(shapes.text(row, "name") for row in rows)
        for name in (name for name, count in counts.items() if count > 1):
            values = [shapes.text(row, "value") for row in rows if shapes.text(row, "name") == name]
            shown = ["[hidden]"] * len(values) if _SECRET_NAME.search(name) else values
            yield ranked(
                81 if len(set(values)) > 1 else 40,
                "EnvironmentTwice",
                owner,
                *(f"env {name}: {value}" for value in shown),
                container=shapes.text(container, "name"),
                variable=name,
                last=shown[-1][:120],
            )


def _addresses(shot: Snapshot, pod: shapes.Object, owner: objects.Ref) -> Iterator[Ranked]:
    """Variables that hold the address of a Service in this namespace which is absent or serves another port."""
    if not shot.services_complete:
        return
    services = {objects.name(item): item for item in shot.services}
    for container in objects.containers(pod):
        for row in shapes.mappings(container, "env"):
            name, value = shapes.text(row, "name"), shapes.text(row, "value")
            if _SECRET_NAME.search(name):
                continue
            fact = _address(shot, services, name, value)
            if fact:
                words, fields, weight = fact
                yield ranked(
                    weight,
                    "EnvironmentAddress",
                    owner,
                    *words,
                    container=shapes.text(container, "name"),
                    **fields,
                )


def _address(
    shot: Snapshot, services: dict[str, shapes.Object], name: str, value: str
) -> tuple[list[str], dict[str, str], int] | None:
    found = _ADDRESS.match(value)
    if not found or not (found["port"] or _ADDRESS_NAME.search(name.upper())):
        return None
    host, port = found["host"], found["port"] or ""
    short, _, rest = host.partition(".")
    if rest and not (rest == shot.namespace or rest.startswith(f"{shot.namespace}.svc")):
        return None
    fields = {"variable": name, "value": value[:200], "service": short, "port": port}
    service = services.get(short)
    if service is None:
        if host in {"localhost", "kubernetes"} or not (port or rest):
            return None
        words = [f"env {name}: {value}", f'no Service "{short}" in namespace {shot.namespace}']
        return words, {**fields, "found": "false"}, 69
    ports = [shapes.text(row, "port") for row in shapes.mappings(service, "spec", "ports")]
    if not port or port in ports:
        return None
    words = [f"env {name}: {value}", f"ports of Service {short}: {', '.join(ports) or 'none'}"]
    return words, {**fields, "found": "true", "servicePorts": ",".join(ports)}, 82
