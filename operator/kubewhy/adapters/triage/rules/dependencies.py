"""Failures that lead to another object: a Service that is absent or has nobody behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubewhy.adapters.triage import case, containers
from kubewhy.adapters.triage.diagnosis import Diagnosis, Rule, action, kubectl, quotes, short
from kubewhy.core import conclusion, subjects

_HOST = (
    re.compile(r"lookup (?P<host>[a-z0-9][a-z0-9.-]*)(?: on \S+)?: no such host"),
    re.compile(
        r"(?:bad address|can't resolve|could not resolve(?: host)?:?|getaddrinfo"
        r" \w+|UnknownHostException:?|unknown host:?|NXDOMAIN:?(?: for)?)"
        r" ['\"]?(?P<host>[a-z0-9][a-z0-9.-]*)"
    ),
    re.compile(
        r"['\"]?(?P<host>[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*)['\"]?:? (?:NXDOMAIN|Name or service not"
        r" known|Name does not resolve)"
    ),
    re.compile(
        r"(?:https?|tcp|redis|amqp|postgres(?:ql)?|mysql|mongodb|grpc|nats|kafka)://(?:[^@/\s]*@)?(?P<host>[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*)(?::\d+)?"
    ),
    re.compile(r"(?<![\w./-])(?P<host>[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*):\d{2,5}\b"),
    re.compile(
        r"(?:waiting for|connect(?:ing)? to|reach|service|upstream|dependency|host)"
        r" ['\"]?(?P<host>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)['\"]?(?=[\s:.,;!)]|$)"
    ),
)
_FAILING = re.compile(
    r"refused|no such host|NXDOMAIN|not known|does not resolve|can't resolve|could not resolve|bad"
    r" address|unreachable|time-?d? ?-?out"
    r"|unavailable|waiting for|cannot connect|failed to connect|unable to"
    r" connect|down\b|ENOTFOUND|ECONNREFUSED|reset by peer|unknown host|UnknownHost",
    re.IGNORECASE,
)
_NO_HOSTS = frozenset(
    {
        "localhost",
        "the",
        "a",
        "server",
        "service",
        "error",
        "http",
        "https",
        "tcp",
        "dial",
        "to",
        "database",
        "db",
        "for",
        "on",
        "is",
        "failed",
    }
)
MOST = 2


def hosts(found: case.Case) -> list[str]:
    """Names of Services that failing logs and probes speak of, the most telling first."""
    names = [name for line in _lines(found) for name in _names(line.quote, found.namespace)]
    return list(dict.fromkeys(names))[:MOST]


def _lines(found: case.Case) -> Iterator[conclusion.Evidence]:
    """Lines about failed connections: of the cause first, then from the end of the logs."""
    for view in containers.views(found):
        read = containers.cause(view)
        if read and _FAILING.search(read[1].quote):
            yield read[1]
    for item in (*found.of("KubeEvent", reason="Unhealthy"), *found.of("LogTail")):
        for word in reversed(item.fact.words):
            if _FAILING.search(word):
                yield conclusion.Evidence(call=item.call, quote=word)


def _names(line: str, namespace: str) -> Iterator[str]:
    for pattern in _HOST:
        for read in pattern.finditer(line):
            short_name, _, rest = read["host"].partition(".")
            if short_name in _NO_HOSTS or (
                rest and not re.match(rf"{re.escape(namespace)}(?:$|\.svc)", rest)
            ):
                continue
            if re.search(
                r"\.(?:go|py|js|java|rb|ts|c|cpp|rs|php|sh|ya?ml|json|conf)$", read["host"]
            ):
                continue
            yield short_name


def absent(found: case.Case) -> Diagnosis | None:
    """The Service that a failing program waits for does not exist."""
    for attempt in _looks(found):
        if attempt.status.value != "NotFound":
            continue
        name = str(attempt.arguments.get("name"))
        line = next((line for line in _lines(found) if name in line.quote), None)
        item = _sufferer(found)
        if line is None or item is None:
            continue
        view, owner = item
        proof = conclusion.Evidence(call=attempt.id, quote=attempt.text.split("\n")[0])
        kind = "init container" if view.init else "container"
        return Diagnosis(
            score=97 if view.failing or view.init or _not_ready(view) else 68,
            mechanism="ServiceNotFound",
            subject=owner,
            statement=(
                f"The {kind} {view.name} of {owner} needs service {name}, which does not exist in"
                f" namespace {found.namespace}: {short(line.quote, 300)}"
            ),
            evidence=quotes(line, proof),
            actions=(action("Check which Services there are", kubectl(owner, "get", "services")),),
        )
    return None


def dead(found: case.Case) -> Diagnosis | None:
    """The Service exists, but nobody answers behind it."""
    for attempt in _looks(found):
        name = str(attempt.arguments.get("name"))
        selector = next(
            (
                item
                for item in found.of("ServiceSelector", f"Service/{name}")
                if item.call == attempt.id
            ),
            None,
        )
        line = next((line for line in _lines(found) if name in line.quote), None)
        item = _sufferer(found)
        if selector is None or line is None or item is None or selector.number("ready") > 0:
            continue
        view, owner = item
        kind = (
            "readiness of container"
            if _not_ready(view)
            else "init container"
            if view.init
            else "container"
        )
        zero = next((seen for seen in found.of("ScaledToZero") if seen.call == attempt.id), None)
        near = next((seen for seen in found.of("NearestPods") if seen.call == attempt.id), None)
        guilty = found.named(f"Service/{name}")
        return Diagnosis(
            score=97 if view.failing or _not_ready(view) or view.init else 70,
            mechanism="DependencyDown",
            subject=(
                found.named(near.fact.object)
                if near and near.number("ready") == 0 and not near.get("wanted")
                else guilty
            ),
            statement=(
                f"The {kind} {view.name} of {owner} depends on service {name}, which has no ready"
                f" pod behind it: {short(line.quote, 300)}"
            ),
            evidence=quotes(line, selector.quote("pods that fit"), zero.quote() if zero else None),
            actions=(
                action(f"Look at Service {name}", kubectl(owner, "describe", "service", name)),
            ),
        )
    return None


def _looks(found: case.Case) -> list[case.Attempt]:
    return [
        attempt
        for attempt in found.attempts
        if attempt.tool == case.FIRST_LOOK and attempt.arguments.get("kind") == "Service"
    ]


def _sufferer(found: case.Case) -> tuple[containers.View, subjects.Subject] | None:
    """The container that failed first of those looked at, with its owner."""
    ordered = sorted(
        containers.views(found),
        key=lambda view: (not view.failing, not _not_ready(view), not (view.init and view.running)),
    )
    for view in ordered:
        item = view.waiting or view.exit or view.running
        if item and (view.logs or _not_ready(view)):
            return view, found.owner(item)
    return None


def _not_ready(view: containers.View) -> bool:
    return view.running is not None and view.running.get("ready") == "false"


RULES: tuple[Rule, ...] = (absent, dead)
