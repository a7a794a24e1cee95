"""Pods that the API server refuses to create: quotas, limit ranges, policies, webhooks, missing accounts."""

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

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>[^,\s]+), requested: (?P<requested>[^,]+(?:,[^:]+?)?), used:"
    r" (?P<used>.+?), limited: (?P<limited>\S+)"
)
_EXCEEDED_PLAIN = re.compile(r"exceeded quota: (?P<name>[^,\s]+)")
_MUST_SPECIFY = re.compile(r"failed quota: (?P<name>[^:\s]+): must specify (?P<what>[^;\]]+)")
_BOUND = re.compile(
    r"(?P<bound>maximum|minimum) (?P<what>[\w.-]+) usage per (?P<type>\w+) is (?P<value>[^,.\s]+)"
)
_WEBHOOK = re.compile(r'failed calling webhook "(?P<name>[^"]+)": (?P<why>.+)$')
_REFUSALS = (
    (
        "ServiceAccountNotFound",
        re.compile(
            r'serviceaccount "([^"]+)" not found|service account (?:[\w-]+/)?([\w.-]+) was not'
            r" found",
            re.IGNORECASE,
        ),
        "serviceaccount {} does not exist (not found)",
    ),
    (
        "PodSecurityViolation",
        re.compile(r'violates PodSecurity "([^"]+)"'),
        "they violate PodSecurity {}",
    ),
    (
        "RuntimeClassNotFound",
        re.compile(r'RuntimeClass "([^"]+)" not found'),
        "RuntimeClass {} does not exist",
    ),
    (
        "PriorityClassNotFound",
        re.compile(r"no PriorityClass with name (\S+) was found"),
        "PriorityClass {} does not exist",
    ),
    (
        "AdmissionDenied",
        re.compile(
            r'admission webhook "([^"]+)" denied the request'
            r"|ValidatingAdmissionPolicy '([^']+)'.*denied request"
        ),
        "admission by {} denies them",
    ),
)


def refused(found: case.Case) -> Diagnosis | None:
    """A controller can't create pods, in the API server's own words."""
    item = _refusal(found)
    if item is None:
        return None
    line = item.text
    owner = _owner(found, item)
    mechanism, text, more = _explain(found, line)
    return Diagnosis(
        score=94,
        mechanism=mechanism,
        subject=owner,
        statement=f"Pods of {owner} can't be created: {text}. {short(_core(line), 360)}",
        evidence=quotes(item.quote(), *more),
        actions=(_action(mechanism, owner), inspect(owner)),
    )


def _refusal(found: case.Case) -> case.Seen | None:
    failure = next(
        (item for item in found.of("ObjectCondition", type="ReplicaFailure", status="True")), None
    )
    if failure:
        return failure
    replicas = found.first("WorkloadReplicas")
    if replicas and replicas.number("current") >= replicas.number("desired") > 0:
        return None
    return next(
        (
            item
            for item in found.of("KubeEvent", reason="FailedCreate")
            if containers.recent(item) and "already exists" not in item.text
        ),
        None,
    )


def _owner(found: case.Case, item: case.Seen) -> subjects.Subject:
    look = found.first("LookedAt")
    kind = item.fact.object.partition("/")[0]
    if kind in {"ReplicaSet", "Job"} and look and look.get("workload"):
        return found.named(look.get("workload"))
    return found.owner(item)


def _core(line: str) -> str:
    """The part after the API server's preamble."""
    return re.sub(
        r"^.*?(?:is forbidden|Internal error occurred|error looking up service account [^:]+): ",
        "",
        line,
    )


def _explain(found: case.Case, line: str) -> tuple[str, str, list[conclusion.Evidence]]:
    quota = _EXCEEDED.search(line) or _EXCEEDED_PLAIN.search(line)
    if quota:
        return _quota(found, quota)
    must = _MUST_SPECIFY.search(line)
    if must:
        return (
            "QuotaNeedsLimits",
            (
                f"ResourceQuota {must['name']} demands values that the pods do not set: must"
                f" specify {must['what']}"
            ),
            [],
        )
    bound = _BOUND.search(line)
    if bound:
        return _limit_range(found, bound)
    return _others(line)


def _others(line: str) -> tuple[str, str, list[conclusion.Evidence]]:
    webhook = _WEBHOOK.search(line)
    if webhook:
        return _webhook(webhook["name"], webhook["why"])
    for mechanism, pattern, text in _REFUSALS:
        read = pattern.search(line)
        if read:
            names = [name for name in read.groups() if name]
            return mechanism, text.format(names[0]), []
    return "PodCreationRefused", "the API server refuses them", []


def _webhook(name: str, why: str) -> tuple[str, str, list[conclusion.Evidence]]:
    if "x509" in why or "certificate" in why:
        return (
            "WebhookCertificate",
            f"the certificate of webhook {name} is not trusted by its caBundle (x509)",
            [],
        )
    if "deadline exceeded" in why or "timeout" in why:
        return "WebhookTimeout", f"webhook {name} does not answer in time (timeout)", []
    service = re.search(r'service "([^"]+)" not found', why)
    where = f": its service {service[1]} does not exist" if service else ""
    return "WebhookUnavailable", f"webhook {name} can't be called{where}", []


def _quota(found: case.Case, read: re.Match[str]) -> tuple[str, str, list[conclusion.Evidence]]:
    name = read["name"]
    groups = read.groupdict()
    details = (
        f": {groups['requested']} requested, {groups['used']} used of the limit"
        f" {groups['limited'].split('=')[-1]} ({groups['limited']})"
        if groups.get("limited")
        else ""
    )
    resource = (groups.get("limited") or "=").split("=")[0]
    fact = found.first("Quota", f"ResourceQuota/{name}", resource=resource) or found.first(
        "Quota", f"ResourceQuota/{name}"
    )
    return (
        "QuotaExceeded",
        f"ResourceQuota {name} is exceeded{details}",
        [fact.quote()] if fact else [],
    )


def _limit_range(
    found: case.Case, read: re.Match[str]
) -> tuple[str, str, list[conclusion.Evidence]]:
    bound = "max" if read["bound"] == "maximum" else "min"
    fact = found.first("LimitRangeBound", bound=bound, resource=read["what"])
    name = f" {fact.fact.object.partition('/')[2]}" if fact else ""
    return (
        "LimitRangeViolated",
        f"LimitRange{name} allows a {bound} of {read['value']} {read['what']} per {read['type']}",
        [fact.quote()] if fact else [],
    )


def _action(mechanism: str, owner: subjects.Subject) -> conclusion.Action:
    if mechanism in {"QuotaExceeded", "QuotaNeedsLimits", "LimitRangeViolated"}:
        return action(
            "Look at quotas and limit ranges",
            kubectl(owner, "describe", "resourcequota,limitrange"),
        )
    if mechanism.startswith("Webhook"):
        return action(
            "Look at the webhooks",
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        )
    if mechanism == "ServiceAccountNotFound":
        return action(
            "Check which service accounts there are", kubectl(owner, "get", "serviceaccounts")
        )
    return action("Correct the pod template", kubectl(owner, "edit", target(owner)))


RULES: tuple[Rule, ...] = (refused,)
