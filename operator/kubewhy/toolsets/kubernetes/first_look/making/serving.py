"""Facts about Services: whom they select, which ports they lead to, and what stands between."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, podstate
from kubewhy.toolsets.kubernetes.first_look.ranking import Ranked, ranked
from kubewhy.toolsets.kubernetes.first_look.snapshot import Snapshot

MOST_NEAR = 3


def facts(shot: Snapshot) -> Iterator[Ranked]:
    """The Service asked for, or the Services that lead (or nearly lead) to the workload's pods."""
    if objects.kind(shot.subject) == "Service":
        yield from _asked(shot, shot.subject)
    elif objects.kind(shot.subject) == "Ingress":
        yield from _ingress(shot)
    else:
        yield from _leading(shot)
    yield from _policies(shot)


def _asked(shot: Snapshot, service: shapes.Object) -> Iterator[Ranked]:
    yield from _kind_of_service(service)
    selector = objects.labels(service, "spec", "selector")
    matching = [
        pod for pod in shot.pods if selector and podstate.phase(pod) not in {"Succeeded", "Failed"}
    ]
    ready = sum(podstate.ready(pod) for pod in matching)
    if selector:
        yield _selection(service, selector, pods=len(matching), ready=ready)
    yield _endpoints(shot, service)
    if selector and not matching:
        yield from _nearest(shot, selector)
    if matching:
        yield from _ports(service, matching)
        yield from _mixed(shot, service, matching)


def _selection(
    service: shapes.Object, selector: dict[str, str], *, pods: int, ready: int
) -> Ranked:
    text = objects.selector_text(selector)
    return ranked(
        54 if ready else 90,
        "ServiceSelector",
        objects.ref(service),
        f"selector: {text}",
        *(f"selector {key}: {value}" for key, value in sorted(selector.items())),
        f"pods that fit the selector: {pods}, ready: {ready}",
        selector=text,
        pods=pods,
        ready=ready,
    )


def _endpoints(shot: Snapshot, service: shapes.Object) -> Ranked:
    rows = [row for item in shot.slices for row in shapes.mappings(item, "endpoints")]
    ready = [row for row in rows if shapes.dig(row, "conditions", "ready") is not False]
    ports = [
        shapes.text(row, "port")
        for item in shot.slices
        for row in shapes.mappings(item, "ports")
        if row.get("port")
    ]
    return ranked(
        53 if ready and ports else 83,
        "ServiceEndpoints",
        objects.ref(service),
        f"EndpointSlices of Service {objects.name(service)}: {len(ready)} ready endpoints,"
        f" {len(rows) - len(ready)} not ready, ports: {', '.join(dict.fromkeys(ports)) or 'none'}",
        ready=len(ready),
        notReady=len(rows) - len(ready),
        ports=",".join(dict.fromkeys(ports)),
    )


def _nearest(shot: Snapshot, selector: dict[str, str]) -> Iterator[Ranked]:
    scored = []
    for item in shot.candidates:
        labels = objects.labels(objects.pod_template(item), "metadata", "labels")
        shared = [key for key, value in selector.items() if labels.get(key) == value]
        other = [key for key in selector if key in labels and labels[key] != selector[key]]
        score = (len(shared), len(other), objects.name(item) in selector.values())
        if any(score):
            scored.append((score, item, labels))
    scored.sort(key=lambda entry: entry[0], reverse=True)
    for _, item, labels in scored[:MOST_NEAR]:
        yield _near(item, labels, selector)


def _near(item: shapes.Object, labels: dict[str, str], selector: dict[str, str]) -> Ranked:
    differs = [key for key, value in selector.items() if labels.get(key) != value]
    words = [f"pod labels of {objects.ref(item)}: {objects.selector_text(labels)}"]
    return ranked(
        89,
        "NearestPods",
        objects.ref(item),
        *words,
        labels=objects.selector_text(labels),
        differs=",".join(differs),
        wanted=objects.selector_text({key: selector[key] for key in differs}),
        actual=objects.selector_text({key: labels.get(key, "") for key in differs}),
        ready=shapes.number(item, "status", "readyReplicas")
        or shapes.number(item, "status", "numberReady"),
    )


def _ports(service: shapes.Object, pods: list[shapes.Object]) -> Iterator[Ranked]:
    declared = [
        (
            shapes.text(row, "containerPort"),
            shapes.text(row, "name"),
            shapes.text(row, "protocol") or "TCP",
        )
        for item in shapes.mappings(pods[0], "spec", "containers")
        for row in shapes.mappings(item, "ports")
    ]
    shown = ", ".join(
        f"{port}/{protocol}" + (f" ({name})" if name else "") for port, name, protocol in declared
    )
    for row in shapes.mappings(service, "spec", "ports"):
        target = shapes.text(row, "targetPort") or shapes.text(row, "port")
        protocol = shapes.text(row, "protocol") or "TCP"
        known = any(target in {port, name} and protocol == used for port, name, used in declared)
        fits = "" if not declared and target.isdigit() else "true" if known else "false"
        yield ranked(
            88 if fits == "false" else 49,
            "ServicePort",
            objects.ref(service),
            f"port {shapes.text(row, 'port')}/{protocol}: targetPort: {target}",
            f"ports of {objects.ref(pods[0])}: {shown or 'none declared'}",
            port=shapes.text(row, "port"),
            targetPort=target,
            protocol=protocol,
            declared=",".join(port for port, _, _ in declared),
            declaredNames=",".join(name for _, name, _ in declared if name),
            fits=fits,
        )


def _mixed(shot: Snapshot, service: shapes.Object, pods: list[shapes.Object]) -> Iterator[Ranked]:
    """More than one workload behind one Service."""
    stems: dict[str, str] = {}
    for pod in pods:
        owner = objects.controller(pod)
        stem = objects.name(pod) if owner is None else owner.name
        if owner is not None and owner.kind == "ReplicaSet":
            stem = owner.name.rsplit("-", 1)[0]
        stems.setdefault(stem, objects.selector_text(objects.labels(pod, "metadata", "labels")))
    if len(stems) > 1:
        yield ranked(
            67,
            "ServiceMixedPods",
            objects.ref(service),
            *(f"pods of {stem}: {labels}" for stem, labels in sorted(stems.items())),
            workloads=",".join(sorted(stems)),
            pods=len(shot.pods),
        )


def _kind_of_service(service: shapes.Object) -> Iterator[Ranked]:
    spec = shapes.mapping(service, "spec")
    telling = {
        "type": ("", "ClusterIP"),
        "clusterIP": None,
        "externalName": ("",),
        "internalTrafficPolicy": ("", "Cluster"),
        "externalTrafficPolicy": ("", "Cluster"),
        "publishNotReadyAddresses": ("", "false"),
        "sessionAffinity": ("", "None"),
    }
    for key, usual in telling.items():
        value = shapes.text(spec, key)
        if value in usual if usual is not None else value != "None":
            continue
        yield ranked(
            59, "SpecSetting", objects.ref(service), f"{key}: {value}", setting=key, value=value
        )
    if shapes.text(spec, "type") == "LoadBalancer":
        address = shapes.mappings(service, "status", "loadBalancer", "ingress")
        words = f"status.loadBalancer.ingress: {'set' if address else 'empty'}"
        yield ranked(
            40 if address else 72,
            "LoadBalancerState",
            objects.ref(service),
            words,
            address="true" if address else "false",
        )


def _leading(shot: Snapshot) -> Iterator[Ranked]:
    labels = objects.labels(objects.pod_template(shot.workload), "metadata", "labels")
    if not labels:
        return
    for service in shot.services:
        selector = objects.labels(service, "spec", "selector")
        if objects.selects(selector, labels):
            ready = sum(podstate.ready(pod) for pod in shot.pods)
            if shot.pods:
                yield from (
                    item
                    for item in _ports(service, list(shot.pods))
                    if item.fact.get("fits") == "false"
                )
            yield ranked(
                31, "ServiceSelector", objects.ref(service), f"selector: {objects.selector_text(selector)}",
                selector=objects.selector_text(selector), pods=len(shot.pods), ready=ready,
            )  # fmt: skip
        elif _nearly(selector, labels):
            yield ranked(
                51, "ServiceNearMiss", objects.ref(service), f"selector: {objects.selector_text(selector)}",
                f"pod labels of {objects.ref(shot.workload)}: {objects.selector_text(labels)}",
                selector=objects.selector_text(selector), labels=objects.selector_text(labels),
                workload=objects.ref(shot.workload),
            )  # fmt: skip


def _nearly(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return any(labels.get(key) == value for key, value in selector.items())


def _ingress(shot: Snapshot) -> Iterator[Ranked]:
    ingress = shot.subject
    of = objects.ref(ingress)
    wanted = shapes.text(ingress, "spec", "ingressClassName")
    missing = shot.missing.get(objects.Ref("IngressClass", wanted))
    if missing:
        yield ranked(
            93,
            "MissingReference",
            of,
            f"ingressClassName: {wanted}",
            missing,
            referenced=f"IngressClass/{wanted}",
        )
    services = {objects.name(item): item for item in shot.services}
    for rule in shapes.mappings(ingress, "spec", "rules"):
        for path in shapes.mappings(rule, "http", "paths"):
            yield from _backend(shot, of, services, rule, path)


def _backend(
    shot: Snapshot,
    of: objects.Ref,
    services: dict[str, shapes.Object],
    rule: shapes.Object,
    path: shapes.Object,
) -> Iterator[Ranked]:
    name = shapes.text(path, "backend", "service", "name")
    port = shapes.text(path, "backend", "service", "port", "number") or shapes.text(
        path, "backend", "service", "port", "name"
    )
    route = f"{shapes.text(rule, 'host') or '*'}{shapes.text(path, 'path')} -> {name}:{port}"
    service = services.get(name)
    ports = [
        shapes.text(row, key)
        for row in shapes.mappings(service, "spec", "ports")
        for key in ("port", "name")
    ]
    fits = bool(service) and port in ports
    known = "" if shot.services_complete or service else "unknown"
    words = [f"route: {route}"]
    if not fits and not known:
        words.append(
            f"ports of Service {name}: {', '.join(filter(None, ports))}"
            if service
            else f'no Service "{name}"'
        )
    yield ranked(
        50 if fits else 91, "IngressRoute", of, *words,
        service=name, port=port, found=known or ("true" if service else "false"), fits="true" if fits else "false",
    )  # fmt: skip


def _policies(shot: Snapshot) -> Iterator[Ranked]:
    pod = shot.focus[0] if shot.focus else shot.template
    labels = objects.labels(pod, "metadata", "labels")
    for policy in shot.policies:
        selector = objects.labels(policy, "spec", "podSelector", "matchLabels")
        if selector and not objects.selects(selector, labels):
            continue
        spec = shapes.mapping(policy, "spec")
        types = objects.words(spec, "policyTypes")
        ports = [
            shapes.text(row, "port")
            for rule in shapes.mappings(spec, "egress")
            for row in shapes.mappings(rule, "ports")
        ]
        shown = {
            key: spec[key]
            for key in ("podSelector", "policyTypes", "ingress", "egress")
            if key in spec
        }
        yield ranked(
            63, "NetworkPolicyApplies", objects.ref(policy), json.dumps(shown, sort_keys=True)[:600],
            types=",".join(types), ingressRules=len(shapes.mappings(spec, "ingress")),
            egressRules=len(shapes.mappings(spec, "egress")), egressPorts=",".join(ports),
        )  # fmt: skip
