"""Services, Ingresses and what stands between callers and pods."""

from __future__ import annotations

import re

from kubewhy.adapters.triage import case
from kubewhy.adapters.triage.diagnosis import (
    Diagnosis,
    Rule,
    action,
    inspect,
    kubectl,
    quotes,
    short,
    target,
)
from kubewhy.core import conclusion


def selects_nothing(found: case.Case) -> Diagnosis | None:
    """No pod fits the selector."""
    item = next(
        (
            seen
            for seen in found.of("ServiceSelector")
            if seen.number("pods") == 0 and seen.get("selector")
        ),
        None,
    )
    if item is None or not _asked(found, item):
        return None
    service = found.named(item.fact.object)
    near = found.first("NearestPods")
    text = "no workload in the namespace has such pods"
    more: tuple[conclusion.Evidence, ...] = ()
    if near:
        wanted, actual = near.get("wanted"), near.get("actual")
        text = f"pods of {near.fact.object} carry the label {actual}, the selector wants {wanted}"
        more = (near.quote(),)
        if near.number("ready") == 0 and not wanted:
            text = f"{near.fact.object} has no pods"
    return Diagnosis(
        score=93 if near else 82,
        mechanism="SelectorMismatch" if near else "NoMatchingPods",
        subject=service,
        statement=(
            f"The selector of {service} ({item.get('selector')}) matches no pod, so it has no"
            f" endpoints: {text}."
        ),
        evidence=quotes(
            item.quote("selector:"), *more, item.quote("pods that fit"), *_endpoints(found, item)
        ),
        confidence=conclusion.Confidence.HIGH if near else conclusion.Confidence.MEDIUM,
        actions=(
            action("Compare selector and labels", kubectl(service, "get", "pods", "--show-labels")),
            action(f"Correct the selector of {service}", kubectl(service, "edit", target(service))),
        ),
    )


def wrong_port(found: case.Case) -> Diagnosis | None:
    """The target port is none of the pods' ports."""
    item = found.first("ServicePort", fits="false")
    if item is None:
        return None
    service, port = found.named(item.fact.object), item.get("targetPort")
    named = not port.isdigit()
    text = (
        f"its targetPort {port} is a named port that no container declares"
        if named
        else (
            f"its targetPort {port} is none of the ports that the pods declare"
            f" ({item.get('declared') or 'none'})"
        )
    )
    other = found.first("ServicePort", item.fact.object, fits="false", protocol="UDP")
    return Diagnosis(
        score=90 if named or _asked(found, item) or found.about_answers else 45,
        mechanism="TargetPortMismatch",
        subject=service,
        statement=f"{service} leads nowhere: {text}{' (check the protocol)' if other else ''}.",
        evidence=quotes(item.quote("targetPort"), item.quote("ports of")),
        actions=(
            action(
                f"Correct the targetPort of {service}", kubectl(service, "edit", target(service))
            ),
        ),
    )


def unready_behind(found: case.Case) -> Diagnosis | None:
    """Pods fit, none is ready; their own cause, where one is known, explains more."""
    item = next(
        (
            seen
            for seen in found.of("ServiceSelector")
            if seen.number("pods") > 0 and seen.number("ready") == 0
        ),
        None,
    )
    if item is None or not _asked(found, item):
        return None
    service = found.named(item.fact.object)
    overview = found.first("PodsOverview")
    return Diagnosis(
        score=56,
        mechanism="NoReadyEndpoints",
        subject=service,
        statement=(
            f"{service} has no ready endpoints: none of its {item.get('pods')} pods is ready."
        ),
        evidence=quotes(item.quote("pods that fit"), overview.quote() if overview else None),
        confidence=conclusion.Confidence.LOW,
        verdict=conclusion.Verdict.INCONCLUSIVE,
        actions=(inspect(service),),
        next_checks=(f"why the pods behind {service} are not ready",),
    )


def special(found: case.Case) -> Diagnosis | None:
    """Kinds of Services that do not do what a caller may expect."""
    for setting, mechanism, text in _SPECIAL:
        item = next(
            (
                seen
                for seen in found.of("SpecSetting", setting=setting)
                if seen.fact.object.startswith("Service/")
            ),
            None,
        )
        if item is None or (setting == "type" and item.get("value") != "ExternalName"):
            continue
        service = found.named(item.fact.object)
        return Diagnosis(
            score=58 if found.about_answers else 45,
            mechanism=mechanism,
            subject=service,
            statement=f"{service} {text.format(value=item.get('value'))}.",
            evidence=quotes(item.quote()),
            confidence=conclusion.Confidence.LOW,
            actions=(inspect(service),),
        )
    return None


_SPECIAL = (
    (
        "externalName",
        "ExternalNameService",
        "only leads to another name (externalName: {value}), which must resolve and answer",
    ),
    (
        "internalTrafficPolicy",
        "InternalTrafficPolicyLocal",
        "has internalTrafficPolicy {value}: only pods on the caller's own node are reached",
    ),
    (
        "externalTrafficPolicy",
        "ExternalTrafficPolicyLocal",
        "has externalTrafficPolicy {value}: nodes without a ready pod fail the health check",
    ),
    (
        "clusterIP",
        "HeadlessService",
        "is headless (clusterIP: None): callers get the pods' addresses, not a virtual one",
    ),
)


def load_balancer(found: case.Case) -> Diagnosis | None:
    """The cloud gives no address."""
    item = found.first("LoadBalancerState", address="false")
    if item is None:
        return None
    service = found.named(item.fact.object)
    event = next(
        (
            seen
            for seen in found.of("KubeEvent", item.fact.object)
            if "oad" in seen.get("reason") + seen.text
        ),
        None,
    )
    return Diagnosis(
        score=88 if event else 68,
        mechanism="LoadBalancerPending",
        subject=service,
        statement=(
            f"{service} gets no load balancer"
            f" address{f': {short(event.text)}' if event else ' and no controller says why'}."
        ),
        evidence=quotes(event.quote() if event else None, item.quote()),
        actions=(inspect(service),),
    )


def mixed(found: case.Case) -> Diagnosis | None:
    """A selector that reaches foreign pods."""
    item = found.first("ServiceMixedPods")
    if item is None:
        return None
    service = found.named(item.fact.object)
    return Diagnosis(
        score=62 if found.about_answers else 45,
        mechanism="SelectorTooBroad",
        subject=service,
        statement=(
            f"The selector of {service} is too broad: it also reaches extra, wrong pods; behind it"
            f" are pods of {item.get('workloads')}."
        ),
        evidence=quotes(*(item.quote(word) for word in item.fact.words)),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(inspect(service),),
    )


def ingress(found: case.Case) -> Diagnosis | None:
    """A route of an Ingress leads to nothing."""
    item = found.first("IngressRoute", fits="false")
    if item is None or item.get("found") == "unknown":
        return None
    owner = found.named(item.fact.object)
    absent = item.get("found") == "false"
    text = (
        f"service {item.get('service')} does not exist"
        if absent
        else f"service {item.get('service')} has no port {item.get('port')}"
    )
    return Diagnosis(
        score=92,
        mechanism="IngressBackendMissing",
        subject=owner,
        statement=(
            f"{owner} routes a path to a backend that is not there: {text}"
            f" ({short(item.fact.words[0] if item.fact.words else '', 200)})."
        ),
        evidence=quotes(item.quote(), *(item.quote(word) for word in item.fact.words[1:])),
        actions=(action("Correct the backend", kubectl(owner, "edit", target(owner))),),
    )


def policy(found: case.Case) -> Diagnosis | None:
    """NetworkPolicies cut the pods off: each one that selects them adds to what is allowed."""
    applied = found.of("NetworkPolicyApplies")
    inward = [item for item in applied if "Ingress" in item.get("types").split(",")]
    outward = [item for item in applied if "Egress" in item.get("types").split(",")]
    log = _log_of(found, r"i/o timeout|timed? ?out|:53\b|name resolution|no such host")
    if outward and log and not any(_allows_dns(item) for item in outward):
        text = "allows no egress to port 53, so DNS look-ups fail"
        return _blocked(found, outward[0], text, score=86, log=log)
    if inward and not any(item.number("ingressRules") for item in inward):
        text = "selects the pods and allows no ingress (deny)"
        return _blocked(found, inward[0], text, score=63 if found.about_answers else 45, log=None)
    return None


def _allows_dns(item: case.Seen) -> bool:
    """Whether port 53 is open: named, or by a rule without ports."""
    ports = item.get("egressPorts").split(",") if item.get("egressPorts") else []
    return "53" in ports or (item.number("egressRules") > 0 and not ports)


def _blocked(
    found: case.Case, item: case.Seen, text: str, *, score: int, log: conclusion.Evidence | None
) -> Diagnosis:
    owner = found.named(item.fact.object)
    return Diagnosis(
        score=score,
        mechanism="NetworkPolicyBlocks",
        subject=owner,
        statement=f"NetworkPolicy {owner.name} {text}.",
        evidence=quotes(item.quote(), log),
        confidence=conclusion.Confidence.MEDIUM,
        actions=(inspect(owner),),
    )


def _log_of(found: case.Case, pattern: str) -> conclusion.Evidence | None:
    for log in found.of("LogTail"):
        for line in log.fact.words:
            if re.search(pattern, line, re.IGNORECASE):
                return conclusion.Evidence(call=log.call, quote=line)
    return None


def _asked(found: case.Case, item: case.Seen) -> bool:
    """Whether the Service is what was looked at, not a neighbour."""
    return any(look.fact.object == item.fact.object for look in found.of("LookedAt"))


def _endpoints(found: case.Case, item: case.Seen) -> tuple[conclusion.Evidence, ...]:
    endpoints = found.first("ServiceEndpoints", item.fact.object)
    return (endpoints.quote(),) if endpoints else ()


RULES: tuple[Rule, ...] = (
    selects_nothing,
    wrong_port,
    unready_behind,
    special,
    load_balancer,
    mixed,
    ingress,
    policy,
)
