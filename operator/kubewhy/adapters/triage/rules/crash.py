"""Programs that end by themselves: the cause stands in their log."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

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
from kubewhy.core import conclusion, loglines, subjects

_SIGNALS: Final = {
    "139": "SIGSEGV",
    "134": "SIGABRT",
    "136": "SIGFPE",
    "132": "SIGILL",
    "143": "SIGTERM",
    "130": "SIGINT",
}
_LOW_STRENGTH: Final = 0


def crash(found: case.Case) -> Diagnosis | None:
    """A container ends again and again, or ended for good: what its log says."""
    for item in containers.failing(found):
        ended = item.exit
        if ended is None or ended.get("reason") in {
            "OOMKilled",
            "StartError",
            "ContainerCannotRun",
        }:
            continue
        read = containers.cause(item)
        if read and read[0].text:
            return _explained(found, item, ended, read)
    return None


def silent(found: case.Case) -> Diagnosis | None:
    """A container ends and its log is empty or can't be read."""
    for item in containers.failing(found):
        ended = item.exit
        if (
            ended is None
            or item.logs
            or ended.get("reason") in {"OOMKilled", "StartError", "ContainerCannotRun"}
        ):
            continue
        owner = found.owner(ended)
        code = ended.get("exitCode")
        proof = item.empty or item.unavailable
        why = "its log is empty (no output)" if item.empty else "its log could not be read"
        done = code == "0"
        return Diagnosis(
            score=70 if done else 57,
            mechanism="ContainerCompletes" if done else "CrashWithoutLog",
            subject=owner,
            statement=(
                f"Container {item.name} of {owner} ends with exit code 0 and is restarted again and"
                " again: its program finishes, while the pod expects one that keeps running."
                if done
                else (
                    f"Container {item.name} of {owner} crashes with exit code"
                    f" {code}{_signal(code)}, and {why}: the cause is not visible from here."
                )
            ),
            evidence=quotes(ended.quote("terminated"), proof.quote() if proof else None),
            confidence=conclusion.Confidence.MEDIUM if done else conclusion.Confidence.LOW,
            verdict=(
                conclusion.Verdict.ROOT_CAUSE_FOUND if done else conclusion.Verdict.INCONCLUSIVE
            ),
            actions=(_logs(owner, item), inspect(owner)),
            next_checks=(
                (
                    "the program's own output: run the image with its command by hand, or raise its"
                    " log level"
                ),
            ),
        )
    return None


def _explained(
    found: case.Case,
    item: containers.View,
    ended: case.Seen,
    read: tuple[loglines.Cause, conclusion.Evidence],
) -> Diagnosis:
    cause, line = read
    owner = found.owner(ended)
    code = ended.get("exitCode")
    kind = "init container" if item.init else "container"
    refined = _refine(found, item, cause)
    weak = cause.strength == _LOW_STRENGTH and refined.mechanism == "ApplicationCrash"
    extra = f" {refined.text}" if refined.text else ""
    plain = (
        f"{kind.capitalize()} {item.name} of {owner} crashes with exit code {code}{_signal(code)}:"
        f" {short(cause.text)}."
    )
    return Diagnosis(
        score=(83 if weak else 88) + (4 if refined.evidence else 0),
        mechanism=refined.mechanism,
        subject=refined.subject or owner,
        statement=f"{plain.replace('..', '.')}{extra}",
        evidence=quotes(line, ended.quote("terminated"), *refined.evidence),
        confidence=conclusion.Confidence.MEDIUM if weak else conclusion.Confidence.HIGH,
        actions=(_logs(owner, item), *refined.actions, *_undo(found, owner)),
    )


class _Refined:
    """What the text of an error and the facts around it say beyond the error itself."""

    def __init__(
        self,
        mechanism: str = "ApplicationCrash",
        text: str = "",
        *evidence: conclusion.Evidence | None,
    ) -> None:
        self.mechanism = mechanism
        self.text = text
        self.evidence = quotes(*evidence)
        self.subject: subjects.Subject | None = None
        self.actions: tuple[conclusion.Action, ...] = ()


_KINDS_OF_ERROR: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "PortInUse",
        (
            r"address already in use|EADDRINUSE|port is already (?:allocated|in use)|Only one usage"
            r" of each socket"
        ),
        "The port is already in use by another process of the pod, such as a sidecar.",
    ),
    ("ReadOnlyFileSystem", r"read-only file system|EROFS", ""),
    ("TooManyOpenFiles", r"too many open files|EMFILE", "It ran out of file descriptors."),
    ("NoSpaceLeft", r"no space left on device|ENOSPC|disk quota exceeded", ""),
    ("EphemeralPortsExhausted", r"cannot assign requested address|EADDRNOTAVAIL", ""),
    ("PermissionDenied", r"permission denied|EACCES|operation not permitted|EPERM", ""),
    (
        "RBACForbidden",
        r"is forbidden: User|cannot (?:get|list|watch|create|update|patch|delete) resource",
        "Its service account lacks a right (RBAC role).",
    ),
    (
        "CredentialsRejected",
        (
            r"password authentication failed|access denied for user|NOAUTH|WRONGPASS|authentication"
            r" failed|invalid (?:user ?name or )?password|login failed|not authorized"
            r" on|28P01|invalid credentials"
        ),
        "The credentials are rejected.",
    ),
    (
        "CertificateInvalid",
        (
            r"x509|certificate (?:has expired|verify failed|is not trusted|signed by"
            r" unknown)|CERT_HAS_EXPIRED|PKIX path"
        ),
        "A certificate is not accepted.",
    ),
    (
        "DependencyUnreachable",
        (
            r"connection refused|ECONNREFUSED|no such host|ENOTFOUND|name or service not"
            r" known|NXDOMAIN|temporary failure in name resolution|bad address|could not"
            r" resolve|i/o timeout|connection timed out|ETIMEDOUT|no route to host|host is"
            r" unreachable|UnknownHostException|failed to connect|could not connect"
        ),
        "What it depends on can't be reached.",
    ),
    (
        "MalformedConfig",
        r"(?:yaml|json|toml|xml|ini|config\S*)\b.{0,80}(?:parse|pars|syntax|unmarshal|invalid|decode|unexpected|malformed)|(?:parse|parsing|syntax|unmarshal|decod\w*|malformed)\b.{0,80}(?:yaml|json|toml|xml|config)|JSONDecodeError|YAMLException|ScannerError|ParserError|SyntaxError",
        "",
    ),
    (
        "CommandNotFound",
        r"(?:^|: )\S+: (?:command )?not found|executable file not found|No such file or directory",
        "",
    ),
    (
        "ExecFormatError",
        r"exec format error",
        "The image is built for another architecture than the node's.",
    ),
    (
        "SchemaMismatch",
        r"(?:relation|table|column) \S+ does not exist|unknown column|no such table|migration",
        "",
    ),
)


def _refine(found: case.Case, item: containers.View, cause: loglines.Cause) -> _Refined:
    absent = next(
        (
            seen
            for seen in found.of("EnvironmentAbsent", item.pod, container=item.name)
            if seen.get("variable") in cause.headline
        ),
        None,
    )
    if absent:
        return _environment(found, item, absent)
    text = f"{cause.error} {cause.headline}"
    for mechanism, pattern, words in _KINDS_OF_ERROR:
        if re.search(pattern, text, re.IGNORECASE):
            return _with_facts(found, item, mechanism, words, text)
    return _Refined()


def kind_of(cause: loglines.Cause) -> str:
    """One word for the kind of error that a log line reports."""
    text = f"{cause.error} {cause.headline}"
    return next(
        (
            mechanism
            for mechanism, pattern, _ in _KINDS_OF_ERROR
            if re.search(pattern, text, re.IGNORECASE)
        ),
        "ApplicationError",
    )


def _environment(found: case.Case, item: containers.View, absent: case.Seen) -> _Refined:
    variable, config_map = absent.get("variable"), absent.get("configMap")
    owner = found.owner(absent)
    text = f"The environment variable {variable} is not set in container {item.name}"
    text += (
        f" and ConfigMap {config_map} has no key {variable} (missing)."
        if config_map
        else ": its spec does not define it."
    )
    refined = _Refined(
        "EnvironmentVariableMissing", text, absent.quote(), absent.quote("keys of ConfigMap")
    )
    if owner.kind in {"Deployment", "StatefulSet", "DaemonSet"} and not config_map:
        refined.actions = (
            action(
                f"Set {variable}, with the right value in place of VALUE",
                kubectl(owner, "set", "env", target(owner), "-c", item.name, f"{variable}=VALUE"),
            ),
        )
    elif config_map:
        refined.actions = (
            action(
                f"Add {variable} to ConfigMap {config_map}",
                kubectl(owner, "edit", f"configmap/{config_map}"),
            ),
        )
    return refined


def _with_facts(
    found: case.Case, item: containers.View, mechanism: str, words: str, text: str
) -> _Refined:
    """Add the fact about the pod that makes the error understandable."""
    explain = _EXPLAINED.get(mechanism)
    refined = explain(found, item, text) if explain else None
    return refined or _Refined(mechanism, words)


def _read_only(found: case.Case, item: containers.View, _text: str) -> _Refined | None:
    security = found.first("SecurityContext", item.pod, container=item.name)
    if security is None or security.get("readOnlyRootFilesystem") != "true":
        return None
    words = "Its root file system is read-only (readOnlyRootFilesystem: true)."
    return _Refined("ReadOnlyFileSystem", words, security.quote("readOnlyRoot"))


def _permission(found: case.Case, item: containers.View, _text: str) -> _Refined | None:
    security = found.first("SecurityContext", item.pod, container=item.name)
    if security is None or not security.get("runAsUser"):
        return None
    group = "." if security.get("fsGroup") else " and no fsGroup is set."
    words = f"It runs with runAsUser {security.get('runAsUser')}{group}"
    return _Refined("PermissionDenied", words, security.quote("runAsUser"))


def _no_space(_found: case.Case, _item: containers.View, text: str) -> _Refined:
    shared = "Shared memory (shm, 64 MiB by default) is full."
    return _Refined(
        "NoSpaceLeft", shared if "/shm" in text else "A volume or disk is full (100 %)."
    )


def _ports(found: case.Case, _item: containers.View, _text: str) -> _Refined:
    settings = found.of("SpecSetting", setting="securityContext.sysctls")
    sysctl = next((seen for seen in settings if "ip_local_port_range" in seen.text), None)
    if sysctl is None:
        return _Refined("EphemeralPortsExhausted", "Ephemeral ports are used up.")
    words = f"The pod narrows the ephemeral ports: {sysctl.fact.words[0]}."
    return _Refined("EphemeralPortsExhausted", words, sysctl.quote())


def _malformed(found: case.Case, _item: containers.View, _text: str) -> _Refined:
    sources = found.first("ConfigSources")
    names = sources.get("configMaps") if sources else ""
    if sources is None or not names:
        return _Refined("MalformedConfig", "Its configuration is malformed.")
    words = f"The configuration (ConfigMap {names}) is malformed."
    return _Refined("MalformedConfig", words, sources.quote())


def _command(found: case.Case, item: containers.View, text: str) -> _Refined | None:
    if "not found" not in text:
        return None
    command = found.first("ContainerCommand", item.pod, container=item.name)
    words = "The command is not found in the image."
    return _Refined("CommandNotFound", words, command.quote() if command else None)


_Explain = Callable[[case.Case, containers.View, str], _Refined | None]
_EXPLAINED: Final[dict[str, _Explain]] = {
    "ReadOnlyFileSystem": _read_only,
    "PermissionDenied": _permission,
    "NoSpaceLeft": _no_space,
    "EphemeralPortsExhausted": _ports,
    "MalformedConfig": _malformed,
    "CommandNotFound": _command,
}


def _signal(code: str) -> str:
    return f" ({_SIGNALS[code]})" if code in _SIGNALS else ""


def _logs(owner: subjects.Subject, item: containers.View) -> conclusion.Action:
    pod = item.pod.partition("/")[2]
    previous = [] if item.exit and item.exit.get("current") == "true" else ["--previous"]
    return action("Read the log", kubectl(owner, "logs", pod, "-c", item.name, *previous))


def _undo(found: case.Case, owner: subjects.Subject) -> tuple[conclusion.Action, ...]:
    change = found.first("RevisionChange")
    old = next(
        (seen for seen in found.of("ReplicaSetState", newest="false") if seen.number("ready") > 0),
        None,
    )
    if owner.kind != "Deployment" or change is None or old is None:
        return ()
    return (
        action(
            f"Go back to revision {change.get('fromRevision')}",
            kubectl(owner, "rollout", "undo", target(owner)),
        ),
    )


RULES: tuple[Rule, ...] = (crash, silent)
