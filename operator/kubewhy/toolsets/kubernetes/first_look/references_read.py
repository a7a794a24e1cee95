"""Which other objects a pod spec needs by name. Secrets are listed, but never read."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, snapshot

_SOURCES = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
_OWN_TOKEN = "kube-api-access-"  # noqa: S105 - the volume that the API server adds to every pod
_WHOLE = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))


def of_pod(pod: shapes.Object) -> tuple[snapshot.Reference, ...]:
    """All references of a pod or pod template, in the order of the spec, without repeats."""
    found = [*_account(pod), *_volumes(pod), *_environment(pod)]
    return tuple(dict.fromkeys(found))


def _account(pod: shapes.Object) -> Iterator[snapshot.Reference]:
    account = shapes.text(pod, "spec", "serviceAccountName")
    if account and account != "default":
        yield snapshot.Reference(
            kind="ServiceAccount", name=account, via=f"serviceAccountName: {account}"
        )


def _volumes(pod: shapes.Object) -> Iterator[snapshot.Reference]:
    for volume in shapes.mappings(pod, "spec", "volumes"):
        name = shapes.text(volume, "name")
        if name.startswith(_OWN_TOKEN):
            continue
        place = f"volumes[{name}]"
        claim = shapes.text(volume, "persistentVolumeClaim", "claimName")
        if claim:
            via = f"{place}.persistentVolumeClaim.claimName: {claim}"
            yield snapshot.Reference(kind="PersistentVolumeClaim", name=claim, via=via)
        sources = [volume, *shapes.mappings(volume, "projected", "sources")]
        for source in sources:
            yield from _volume_source(source, place)


def _volume_source(source: shapes.Object, place: str) -> Iterator[snapshot.Reference]:
    for field, kind, key in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
    ):
        part = shapes.mapping(source, field)
        name = shapes.text(part, key) or shapes.text(part, "name")
        if not name:
            continue
        optional = part.get("optional") is True
        via = f"{place}.{field}.{key}: {name}"
        yield snapshot.Reference(kind=kind, name=name, via=via, optional=optional)
        for item in shapes.mappings(part, "items"):
            wanted = shapes.text(item, "key")
            yield snapshot.Reference(
                kind=kind,
                name=name,
                key=wanted,
                via=f"{place}.{field}.items key: {wanted}",
                optional=optional,
            )


def _environment(pod: shapes.Object) -> Iterator[snapshot.Reference]:
    for container in objects.containers(pod):
        of = shapes.text(container, "name")
        for source in shapes.mappings(container, "envFrom"):
            for field, kind in _WHOLE:
                name = shapes.text(source, field, "name")
                if name:
                    optional = shapes.mapping(source, field).get("optional") is True
                    via = f"envFrom.{field}.name: {name}"
                    yield snapshot.Reference(
                        kind=kind, name=name, via=via, container=of, optional=optional
                    )
        for variable in shapes.mappings(container, "env"):
            yield from _variable(variable, of)


def _variable(variable: shapes.Object, of: str) -> Iterator[snapshot.Reference]:
    for field, kind in _SOURCES:
        source = shapes.mapping(variable, "valueFrom", field)
        name, key = shapes.text(source, "name"), shapes.text(source, "key")
        if name:
            via = f"env[{shapes.text(variable, 'name')}].valueFrom.{field}: name={name} key={key}"
            optional = source.get("optional") is True
            yield snapshot.Reference(
                kind=kind, name=name, key=key, via=via, container=of, optional=optional
            )
