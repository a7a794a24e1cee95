"""Scenario folders of the incident suite: reading them with values from a seed, and scoring an answer.

A folder holds `objects.yaml` (manifests in order), `alert.json` (an Alertmanager payload) and `answer.yaml` (the right
answer). All three are Jinja2 templates over the values of a seed, so that no name, text or number can be learnt; with
`fault` false they are the negative control: the same manifests, only the fault repaired.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import yaml

INCIDENTS = Path(__file__).resolve().parents[1] / "incidents"

_NOUNS = (
    "cart",
    "ledger",
    "quote",
    "parcel",
    "ticket",
    "invoice",
    "signup",
    "search",
    "catalog",
    "pricing",
    "profile",
)
_ROLES = ("api", "worker", "gateway", "sync", "feed", "store", "backend", "relay")
_ERRORS = (
    "RuntimeError",
    "ValueError",
    "LookupError",
    "ConnectionError",
    "ConfigurationError",
    "StateError",
)
_SUBJECTS = (
    "tax table",
    "shard map",
    "price list",
    "tenant registry",
    "route plan",
    "exchange rate",
    "licence file",
)
_PROBLEMS = (
    "has no entry for region",
    "is older than schema",
    "was written by version",
    "lacks column",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scenario:
    """One scenario with the values of one seed filled in."""

    id: str
    seed: int
    fault: bool
    namespace: str
    values: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]
    alert: Mapping[str, Any]
    answer: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """How an answer fares; `faults` says in words what is wrong."""

    entity: bool
    mechanism: bool
    grounded: bool
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """All of them."""
        return self.entity and self.mechanism and self.grounded


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What is scored, wherever it comes from: status of the CR or a conclusion.

    `claims` are (statement, quotes) pairs with each quote's (call, text); `outputs` maps call ids to recorded text.
    """

    verdict: str
    summary: str
    statement: str
    subject: tuple[str, str]
    claims: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    outputs: Mapping[str, str]
    steps: int


def ids() -> list[str]:
    """All scenarios that there are."""
    return sorted(path.parent.name for path in INCIDENTS.glob("*/answer.yaml"))


def load(scenario: str, *, seed: int, fault: bool = True) -> Scenario:
    """Read a folder with the values of a seed."""
    values = seeded(scenario, seed, fault=fault)
    folder = INCIDENTS / scenario
    return Scenario(
        id=scenario,
        seed=seed,
        fault=fault,
        namespace=values["namespace"],
        values=values,
        objects=[
            item for item in yaml.safe_load_all(_filled(folder / "objects.yaml", values)) if item
        ],
        alert=json.loads(_filled(folder / "alert.json", values)),
        answer=yaml.safe_load(_filled(folder / "answer.yaml", values)),
    )


def seeded(scenario: str, seed: int, *, fault: bool) -> dict[str, Any]:
    """The values of a seed; the same for the fault and its negative control."""
    chance = random.Random(f"{scenario}/{seed}")
    noun, other = chance.sample(_NOUNS, 2)
    role = chance.choice(_ROLES)
    now = datetime.datetime.now(tz=datetime.UTC)
    word = f"{noun}-{role}"
    values: dict[str, Any] = {
        "fault": fault,
        "app": word,
        "other": f"{other}-{chance.choice(_ROLES)}",
        "container": chance.choice((noun, role, "main", "app")),
        "config": f"{noun}-{chance.choice(('settings', 'env', 'config'))}",
        "secret": f"{noun}-{chance.choice(('credentials', 'login', 'access'))}",
        "key": f"{noun.upper()}_{chance.choice(('REGION', 'MODE', 'TENANT', 'TIER'))}",
        "value": chance.choice(("north", "blue", "gold", "seven")),
        "tag": f"{chance.randint(2, 9)}.{chance.randint(0, 30)}.{chance.randint(0, 9)}",
        "error": chance.choice(_ERRORS),
        "message": f"{chance.choice(_SUBJECTS)} {chance.choice(_PROBLEMS)} {chance.randint(11, 988)}",
        "limit": chance.choice((16, 18, 20, 24, 28)),
        "cpu": chance.randint(40, 900),
        "memory": chance.randint(700, 4000),
        "port": chance.randint(3000, 8999),
        "wrong_port": chance.randint(9000, 9900),
        "number": chance.randint(2, 9),
        "label": chance.choice(("zone", "pool", "tier")),
        "exit_code": chance.choice((1, 2, 3, 7, 70)),
        "namespace": f"inc-{scenario.lower()}-{chance.randrange(16**6):06x}{'' if fault else '-ok'}",
        "image": "kubewhy.local/busybox:1",
        "started": _stamp(now - datetime.timedelta(minutes=3)),
        "never": "0001-01-01T00:00:00Z",
        "fingerprint": f"{chance.randrange(16**16):016x}",
    }
    return values


def _filled(path: Path, values: Mapping[str, Any]) -> str:
    engine = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - YAML, no HTML
    return engine.from_string(path.read_text(encoding="utf-8")).render(values)


def _stamp(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def score(scenario: Scenario, answer: Answer) -> Score:
    """Score an answer by the rules of the incident suite; the negative control and healthy rows want no cause."""
    verdict = scenario.answer["verdict"] if scenario.fault else "none"
    faults: list[str] = []
    entity = _entity(scenario, answer, verdict, faults)
    mechanism = _mechanism(scenario, answer, verdict, faults)
    grounded = _grounded(answer, faults)
    limit = int(scenario.answer.get("maxSteps", 6))
    if answer.steps > limit:
        faults.append(f"{answer.steps} steps, at most {limit} are allowed")
        mechanism = False
    return Score(entity=entity, mechanism=mechanism, grounded=grounded, faults=tuple(faults))


def _entity(scenario: Scenario, answer: Answer, verdict: str, faults: list[str]) -> bool:
    if verdict == "none":
        if answer.subject != ("", ""):
            faults.append(f"names {'/'.join(answer.subject)} although nothing is wrong")
        return answer.subject == ("", "")
    if verdict == "undetermined":
        return True
    allowed = [
        (item["kind"], item["name"])
        for entity in scenario.answer["entities"]
        for item in (entity, *entity.get("aliases", ()))
    ]
    if answer.subject not in allowed:
        faults.append(f"names {'/'.join(answer.subject)}, not {allowed[0][0]}/{allowed[0][1]}")
    return answer.subject in allowed


def _mechanism(scenario: Scenario, answer: Answer, verdict: str, faults: list[str]) -> bool:
    wanted = {"fault": "RootCauseFound", "none": "NoProblemFound", "undetermined": "Inconclusive"}[
        verdict
    ]
    if answer.verdict != wanted:
        faults.append(f"verdict {answer.verdict}, not {wanted}")
    found = answer.statement if verdict == "fault" else f"{answer.summary} {answer.statement}"
    groups = scenario.answer.get("mechanism", []) if scenario.fault else []
    missing = [
        group for group in groups if not any(re.search(key, found, re.IGNORECASE) for key in group)
    ]
    faults += [f"none of {group} in: {found}" for group in missing]
    forbidden = scenario.answer.get("forbidden", []) if scenario.fault else []
    hits = [key for key in forbidden if re.search(key, found, re.IGNORECASE)]
    faults += [f"forbidden {key!r} in: {found}" for key in hits]
    return answer.verdict == wanted and not missing and not hits


def _grounded(answer: Answer, faults: list[str]) -> bool:
    outputs = {call: _plain(text) for call, text in answer.outputs.items()}
    bad = [f"claim without a quote: {claim}" for claim, quotes in answer.claims if not quotes]
    bad += [
        f"quote not in the output of {call}: {quote}"
        for _, quotes in answer.claims
        for call, quote in quotes
        if _plain(quote) not in outputs.get(call, "")
    ]
    faults += bad
    return not bad and bool(answer.claims)


def _plain(text: str) -> str:
    return " ".join(text.split())
