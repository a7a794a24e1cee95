"""The CustomResourceDefinitions, built from the models.

Immutability has two halves: a rule on the field refuses another value, and a rule on the spec refuses
to add or remove the field. With the first alone a field could be removed and put back with another value.
"""

from collections.abc import Mapping
from typing import Any, Final

from kubewhy.api import bounds, investigation, names, record, schema, status

Manifest = dict[str, Any]

_RULES: Final = "x-kubernetes-validations"
_AGAIN: Final = "create another Investigation to ask again"

TERMINAL_STAYS: Final = (
    "!has(oldSelf.status) || !has(oldSelf.status.conditions)"
    " || oldSelf.status.conditions.all(o, o.type != 'Succeeded' || o.status == 'Unknown'"
    " || (has(self.status) && has(self.status.conditions)"
    " && self.status.conditions.exists(n, n.type == 'Succeeded'"
    " && n.status == o.status && n.reason == o.reason)))"
)
"""Stands at the root: a rule on status does not run when status is removed."""

FINISHED_STAYS: Final = (
    "!has(oldSelf.status) || !has(oldSelf.status.finished) || !oldSelf.status.finished"
    " || (has(self.status) && has(self.status.finished) && self.status.finished)"
)


def all_crds() -> tuple[Manifest, ...]:
    """Both CustomResourceDefinitions."""
    return investigation_crd(), record_crd()


def investigation_crd() -> Manifest:
    """The CustomResourceDefinition of Investigation."""
    spec = immutable_but(
        schema.structural(investigation.InvestigationSpec),
        mutable=investigation.MUTABLE_SPEC_FIELDS,
    )
    root = _root(
        investigation.Investigation,
        spec=spec,
        status=schema.structural(status.InvestigationStatus, defaults=False),
        rules=[
            _name_rule(),
            _rule(
                TERMINAL_STAYS,
                "a finished Investigation stays finished: Succeeded keeps its status and reason",
                field_path=".status.conditions",
            ),
            _rule(
                FINISHED_STAYS,
                "a finished Investigation stays finished",
                field_path=".status.finished",
            ),
        ],
    )
    return _crd(
        names.INVESTIGATION,
        {
            "schema": {"openAPIV3Schema": root},
            "subresources": {"status": {}},
            "selectableFields": _paths(".status.finished", ".spec.severity"),
            "additionalPrinterColumns": _investigation_columns(),
        },
    )


def record_crd() -> Manifest:
    """The CustomResourceDefinition of InvestigationRecord."""
    spec = _with_rule(
        schema.structural(record.InvestigationRecordSpec),
        _rule("self == oldSelf", "an InvestigationRecord is immutable"),
    )
    root = _root(record.InvestigationRecord, spec=spec, status=None, rules=[])
    return _crd(
        names.RECORD,
        {
            "schema": {"openAPIV3Schema": root},
            "selectableFields": _paths(".spec.investigation", ".spec.investigationUID"),
            "additionalPrinterColumns": [
                _column("Investigation", ".spec.investigation"),
                _column("Content", ".spec.content"),
                _column("Number", ".spec.number", kind="integer"),
                _column("Events", ".spec.eventCount", kind="integer"),
                _column("Bytes", ".spec.bytes", kind="integer"),
                _column("Age", ".metadata.creationTimestamp", kind="date"),
            ],
        },
    )


def immutable_but(spec: Mapping[str, Any], *, mutable: tuple[str, ...]) -> schema.Schema:
    """The spec's schema with both halves of immutability for every field but the mutable ones."""
    properties: schema.Schema = spec["properties"]
    fixed = [name for name in properties if name not in mutable]
    held = {name: _with_rule(properties[name], _keeps_value(name)) for name in fixed}
    return {
        **spec,
        _RULES: [*spec.get(_RULES, []), *(_keeps_presence(name) for name in fixed)],
        "properties": properties | held,
    }


def _keeps_value(name: str) -> dict[str, str]:
    return _rule("self == oldSelf", f"{name} is immutable: {_AGAIN}")


def _keeps_presence(name: str) -> dict[str, str]:
    return _rule(
        f"has(self.{name}) == has(oldSelf.{name})",
        f"{name} cannot be added or removed: {_AGAIN}",
        field_path=f".{name}",
    )


def _with_rule(field: Mapping[str, Any], rule: dict[str, str]) -> schema.Schema:
    return {**field, _RULES: [*field.get(_RULES, []), rule]}


def _root(
    model: type[investigation.Investigation | record.InvestigationRecord],
    *,
    spec: Mapping[str, Any],
    status: Mapping[str, Any] | None,
    rules: list[dict[str, str]],
) -> schema.Schema:
    properties: dict[str, Any] = {
        "apiVersion": {
            "description": "apiVersion is the version of this schema.",
            "type": "string",
        },
        "kind": {"description": "kind is the object's kind.", "type": "string"},
        "metadata": {"type": "object"},
        "spec": dict(spec),
    }
    if status is not None:
        properties["status"] = dict(status)
    root = {
        "description": schema.paragraphs(model.__doc__ or ""),
        "type": "object",
        "required": ["spec"],
        "properties": properties,
    }
    return root | ({_RULES: rules} if rules else {})


def _name_rule() -> dict[str, str]:
    longest = bounds.INVESTIGATION_NAME
    return _rule(
        f"size(self.metadata.name) <= {longest}",
        f"metadata.name must have at most {longest} characters: record names are made from it",
    )


def _rule(rule: str, message: str, *, field_path: str = "") -> dict[str, str]:
    made = {"rule": rule, "message": message}
    return made | ({"fieldPath": field_path} if field_path else {})


def _investigation_columns() -> list[dict[str, Any]]:
    succeeded = ".status.conditions[?(@.type=='Succeeded')]"
    return [
        _column("Subject", ".status.subject"),
        _column("Succeeded", f"{succeeded}.status"),
        _column("Reason", f"{succeeded}.reason"),
        _column("Steps", ".status.steps", kind="integer"),
        _column("Cost", ".status.cost"),
        _column("Age", ".metadata.creationTimestamp", kind="date"),
        _column("Root cause", ".status.summary"),
        _column("Model", ".spec.model", wide=True),
        _column("Tool calls", ".status.toolCalls", kind="integer", wide=True),
    ]


def _column(name: str, path: str, *, kind: str = "string", wide: bool = False) -> Manifest:
    column: Manifest = {"name": name, "type": kind, "jsonPath": path}
    return column | ({"priority": 1} if wide else {})


def _paths(*paths: str) -> list[dict[str, str]]:
    return [{"jsonPath": path} for path in paths]


def _crd(kind: names.Kind, version: Manifest) -> Manifest:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": names.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": list(kind.short_names),
                "categories": [names.CATEGORY],
            },
            "versions": [{"name": names.VERSION, "served": True, "storage": True, **version}],
        },
    }
