"""Configuration that a pod needs and does not get: ConfigMaps, Secrets, keys, variables, service accounts, claims."""

from __future__ import annotations

import re

from kubewhy.adapters.triage import case, containers
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
from kubewhy.core import conclusion, subjects

_NOT_FOUND = re.compile(
    r"(?P<kind>configmap|secret|persistentvolumeclaim|serviceaccount|service account)s?:? "
    r'"?(?:[\w-]+/)?(?P<name>[a-z0-9][a-z0-9.-]*)"? not found',
    re.IGNORECASE,
)
_MISSING_KEY = re.compile(
    r"couldn't find key (?P<key>\S+) in (?P<kind>ConfigMap|Secret)"
    r" (?:[\w-]+/)?(?P<name>[a-z0-9][a-z0-9.-]*)"
)
_MISSING_FILE_KEY = re.compile(r"references non-existent (?P<kind>config|secret) key: (?P<key>\S+)")
_KINDS = {
    "configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim",
    "serviceaccount": "ServiceAccount", "service account": "ServiceAccount", "config": "ConfigMap",
}  # fmt: skip


def missing_reference(found: case.Case) -> Diagnosis | None:
    """The spec names an object that the API server does not have."""
    for item in found.of("MissingReference"):
        kind, _, name = item.get("referenced").partition("/")
        owner = found.owner(item)
        if kind == "PersistentVolumeClaim":
            continue
        proof = _proof_of_absence(found, kind, name)
        container = item.get("container")
        place = f" (container {container})" if container else ""
        statement = (
            f"{kind} {name} does not exist in namespace {found.namespace}, but {owner}{place} needs"
            f" it: {item.fact.words[0] if item.fact.words else item.get('referenced')}; {kind}"
            f" {name} not found."
        )
        return Diagnosis(
            score=_score(found, 96),
            mechanism=f"{kind}NotFound",
            subject=owner,
            statement=statement,
            evidence=quotes(
                proof.quote("not found") if proof else None, item.quote(), item.quote("not found")
            ),
            actions=(
                action(f"Check which {kind}s there are", kubectl(owner, "get", kind.lower())),
                _edit(owner, f"Create {kind} {name}, or correct the name in {owner}"),
            ),
        )
    return None


def missing_key(found: case.Case) -> Diagnosis | None:
    """The ConfigMap is there, the key is not."""
    item = found.first("MissingKey")
    if item is None:
        return None
    kind, _, name = item.get("referenced").partition("/")
    owner, key = found.owner(item), item.get("key")
    waiting = next(
        (seen for seen in found.of("ContainerWaiting") if "couldn't find key" in seen.text), None
    )
    statement = (
        f"Key {key} is missing in {kind} {name}, but container"
        f" {item.get('container') or '(volume)'} of {owner} needs it: couldn't find key {key} in"
        f" {kind} {found.namespace}/{name}."
    )
    return Diagnosis(
        score=_score(found, 97),
        mechanism="ConfigKeyNotFound",
        subject=owner,
        statement=statement,
        evidence=quotes(
            waiting.quote("couldn't find key") if waiting else None,
            item.quote(),
            item.quote("keys of"),
        ),
        actions=(
            action(
                f"Look at the keys of {kind} {name}", kubectl(owner, "describe", kind.lower(), name)
            ),
            _edit(owner, f"Add key {key} to {kind} {name}, or correct the key in {owner}"),
        ),
    )


def named_by_kubelet(found: case.Case) -> Diagnosis | None:
    """The kubelet says what is missing: the only way to know of Secrets, which are never read."""
    waiting = [
        item
        for item in found.of("ContainerWaiting")
        if item.get("reason") not in containers.STARTING
    ]
    mounts = [
        item
        for item in found.of("KubeEvent")
        if item.get("reason") in {"FailedMount", "Failed", "FailedCreatePodSandBox"}
        and containers.recent(item)
        and not containers.started(found, item.fact.object)
    ]
    for item in (*waiting, *mounts):
        key = _MISSING_KEY.search(item.text)
        if key:
            return _key(found, item, key)
        gone = _NOT_FOUND.search(item.text)
        if gone and _KINDS[gone["kind"].lower()] != "PersistentVolumeClaim":
            return _gone(found, item, gone)
        inside = _MISSING_FILE_KEY.search(item.text)
        if inside:
            return _file_key(found, item, inside)
    return None


def _key(found: case.Case, item: case.Seen, read: re.Match[str]) -> Diagnosis:
    owner = found.owner(item)
    statement = (
        f"Key {read['key']} is missing in {read['kind']} {read['name']}, but"
        f" {_container(item)}{owner} needs it: couldn't find key {read['key']} in {read['kind']}"
        f" {found.namespace}/{read['name']}."
    )
    return Diagnosis(
        score=95,
        mechanism="ConfigKeyNotFound" if read["kind"] == "ConfigMap" else "SecretKeyNotFound",
        subject=owner,
        statement=statement,
        evidence=quotes(item.quote("couldn't find key")),
        actions=(
            action(
                f"Look at the keys of {read['kind']} {read['name']}",
                kubectl(owner, "describe", read["kind"].lower(), read["name"]),
            ),
            _edit(owner, f"Add key {read['key']}, or correct it in {owner}"),
        ),
    )


def _gone(found: case.Case, item: case.Seen, read: re.Match[str]) -> Diagnosis:
    owner, kind, name = found.owner(item), _KINDS[read["kind"].lower()], read["name"]
    statement = (
        f"{kind} {name} does not exist in namespace {found.namespace}, but"
        f" {_container(item)}{owner} needs it: "
        f'{kind.lower()} "{name}" not found.'
    )
    return Diagnosis(
        score=94,
        mechanism=f"{kind}NotFound",
        subject=owner,
        statement=statement,
        evidence=quotes(item.quote("not found")),
        actions=(
            action(f"Check which {kind}s there are", kubectl(owner, "get", kind.lower())),
            _edit(owner, f"Create {kind} {name}, or correct the name in {owner}"),
        ),
    )


def _file_key(found: case.Case, item: case.Seen, read: re.Match[str]) -> Diagnosis:
    owner, kind = found.owner(item), _KINDS[read["kind"]]
    sources = found.first("ConfigSources")
    names = (sources.get("configMaps" if kind == "ConfigMap" else "secrets")) if sources else ""
    statement = (
        f"A volume of {owner} asks for key {read['key']} that is missing in its {kind}"
        f"{f' ({names})' if names else ''}: {short(item.text, 300)}"
    )
    return Diagnosis(
        score=94,
        mechanism="ConfigKeyNotFound",
        subject=owner,
        statement=statement,
        evidence=quotes(item.quote("non-existent"), sources.quote() if sources else None),
        actions=(inspect(owner),),
    )


def environment_twice(found: case.Case) -> Diagnosis | None:
    """One variable with two values: the later one wins without a word."""
    item = found.first("EnvironmentTwice")
    if item is None or len(set(item.fact.words)) < 2:  # noqa: PLR2004 - two equal values do no harm
        return None
    owner = found.owner(item)
    return Diagnosis(
        score=64 if _troubled(found) or found.about_answers else 45,
        mechanism="EnvironmentVariableTwice",
        subject=owner,
        statement=(
            f"Container {item.get('container')} of {owner} defines the variable"
            f" {item.get('variable')} twice (duplicate entries with different values); the later"
            f" value {short(item.get('last'), 80)} wins."
        ),
        evidence=quotes(*(item.quote(word) for word in item.fact.words)),
        actions=(_edit(owner, f"Remove one of the entries for {item.get('variable')}"),),
    )


def wrong_address(found: case.Case) -> Diagnosis | None:
    """A variable leads to a Service that is not there or to a port that it does not serve."""
    for item in found.of("EnvironmentAddress"):
        owner, service, port = found.owner(item), item.get("service"), item.get("port")
        log = _mentions(found, service, port)
        if item.get("found") == "false" and log is None:
            continue
        score = 91 if log else 66 if found.about_answers or _troubled(found) else 44
        absent = item.get("found") == "false"
        fault = (
            f"there is no Service {service} in namespace {found.namespace} (it does not exist)"
            if absent
            else f"Service {service} serves port {item.get('servicePorts')}, not port {port}"
        )
        return Diagnosis(
            score=score,
            mechanism="ServiceNotFound" if absent else "WrongServicePort",
            subject=owner,
            statement=(
                f"The variable {item.get('variable')}={item.get('value')} of container"
                f" {item.get('container')} of {owner} leads nowhere: {fault}."
            ),
            evidence=quotes(
                item.quote(),
                *(item.quote(word) for word in item.fact.words[1:2]),
                log.quote(service) if log else None,
            ),
            actions=(
                action("Compare with the Services", kubectl(owner, "get", "services")),
                _edit(owner, f"Correct {item.get('variable')}"),
            ),
        )
    return None


def _mentions(found: case.Case, service: str, port: str) -> case.Seen | None:
    """A log that speaks of a failed connection to the address."""
    failing = re.compile(
        r"refused|no such host|not found|unreachable|timed? ?out|NXDOMAIN|could not resolve|bad"
        r" address|can't resolve"
        r"|unavailable|cannot connect|failed to connect|ENOTFOUND|ECONNREFUSED|Name or service not"
        r" known",
        re.IGNORECASE,
    )
    logs = [*found.of("LogTail"), *found.of("KubeEvent", reason="Unhealthy")]
    return next(
        (
            log
            for log in logs
            if any(
                failing.search(word) and (service in word or (port and f":{port}" in word))
                for word in log.fact.words
            )
        ),
        None,
    )


def _proof_of_absence(found: case.Case, kind: str, name: str) -> case.Seen | None:
    events = [
        item for item in found.of("KubeEvent") if name in item.text and "not found" in item.text
    ]
    waiting = [item for item in found.of("ContainerWaiting") if name in item.text and kind]
    return next(iter((*events, *waiting)), None)


def _container(item: case.Seen) -> str:
    name = item.get("container")
    return f"container {name} of " if name else ""


def _edit(owner: subjects.Subject, text: str) -> conclusion.Action:
    return action(text, kubectl(owner, "edit", target(owner)))


def _troubled(found: case.Case) -> bool:
    """Whether anything about the pods is wrong now."""
    overview = found.first("PodsOverview")
    return overview is not None and overview.number("troubled") > 0


def _score(found: case.Case, score: int) -> int:
    """A missing object hurts only pods that are not up: those that run have read it before."""
    if found.first("WorkloadReplicas") or found.first("PodsOverview"):
        return score if _troubled(found) or not found.first("PodsReady") else 46
    return score


RULES: tuple[Rule, ...] = (
    missing_reference,
    missing_key,
    named_by_kubelet,
    environment_twice,
    wrong_address,
)
