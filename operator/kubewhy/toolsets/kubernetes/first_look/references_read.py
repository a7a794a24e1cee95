"""Which other objects a pod spec needs by name. Secrets are listed, but never read."""

from __future__ import annotations

from collections.abc import Iterator

from kubewhy.toolsets.kubernetes.first_look import objects, snapshot

_SOURCES = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
_OWN_TOKEN = "kube-api-access-"  # noqa: S105 - the volume that the API server adds to every pod
_WHOLE = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))


def of_pod(pod: objects.Object) -> tuple[snapshot.Reference, ...]:
    """All references of a pod or pod template, in the order of the spec, without repeats."""
    found = [*_account(pod), *_volumes(pod), *_environment(pod)]
    return tuple(dict.fromkeys(found))


def _account(pod: objects.Object) -> Iterator[snapshot.Reference]:
    account = objects.text(pod, "spec", "serviceAccountName")
    if account and account != "default":
        yield snapshot.Reference(
            kind="ServiceAccount", name=account, via=f"serviceAccountName: {account}"
        )


def _volumes(pod: objects.Object) -> Iterator[snapshot.Reference]:
    for volume in objects.rows(pod, "spec", "volumes"):
        name = objects.text(volume, "name")
        if name.startswith(_OWN_TOKEN):
            continue
        place = f"volumes[{name}]"
        claim = objects.text(volume, "persistentVolumeClaim", "claimName")
        if claim:
            via = f"{place}.persistentVolumeClaim.claimName: {claim}"
            yield snapshot.Reference(kind="PersistentVolumeClaim", name=claim, via=via)
        sources = [volume, *objects.rows(volume, "projected", "sources")]
        for source in sources:
            yield from _volume_source(source, place)


def _volume_source(source: objects.Object, place: str) -> Iterator[snapshot.Reference]:
    for field, kind, key in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
    ):
        part = objects.table(source, field)
        name = objects.text(part, key) or objects.text(part, "name")
        if not name:
            continue
        optional = part.get("optional") is True
        via = f"{place}.{field}.{key}: {name}"
        yield snapshot.Reference(kind=kind, name=name, via=via, optional=optional)
        for item in objects.rows(part, "items"):
            wanted = objects.text(item, "key")
            yield snapshot.Reference(
                kind=kind,
                name=name,
                key=wanted,
                via=f"{place}.{field}.items key: {wanted}",
                optional=optional,
            )


def _environment(pod: objects.Object) -> Iterator[snapshot.Reference]:
    for container in objects.containers(pod):
        of = objects.text(container, "name")
        for source in objects.rows(container, "envFrom"):
            for field, kind in _WHOLE:
                name = objects.text(source, field, "name")
                if name:
                    optional = objects.table(source, field).get("optional") is True
                    via = f"envFrom.{field}.name: {name}"
                    yield snapshot.Reference(
                        kind=kind, name=name, via=via, container=of, optional=optional
                    )
        for variable in objects.rows(container, "env"):
            yield from _variable(variable, of)


def _variable(variable: objects.Object, of: str) -> Iterator[snapshot.Reference]:
    for field, kind in _SOURCES:
        source = objects.table(variable, "valueFrom", field)
        name, key = objects.text(source, "name"), objects.text(source, "key")
        if name:
            via = f"env[{objects.text(variable, 'name')}].valueFrom.{field}: name={name} key={key}"
            optional = source.get("optional") is True
            yield snapshot.Reference(
                kind=kind, name=name, key=key, via=via, container=of, optional=optional
            )
