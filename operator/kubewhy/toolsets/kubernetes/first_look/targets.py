"""From the object asked for to the object that runs the pods, and what to say when it does not exist."""

from __future__ import annotations

import asyncio
import difflib
from typing import Final

from kubewhy.core import ports
from kubewhy.toolsets.kubernetes import shapes
from kubewhy.toolsets.kubernetes.first_look import objects, reads, resources

MOST_OWNERS: Final = 3
NEAR_NAMES: Final = 3


async def climb(source: reads.Reads, start: shapes.Object) -> tuple[shapes.Object, ...]:
    """The owners of an object upwards, as far as they are built-in workloads."""
    chain: list[shapes.Object] = []
    current = start
    while len(chain) < MOST_OWNERS:
        owner = objects.controller(current)
        resource = resources.find(owner.kind) if owner else None
        if owner is None or resource is None or owner.kind not in resources.WORKLOADS:
            break
        found = await source.get(resource, owner.name)
        if found is None:
            break
        chain.append(found)
        current = found
    return tuple(chain)


async def successor(source: reads.Reads, pod: str) -> shapes.Object | None:
    """The workload whose pod a vanished pod was, judged by its name: pods are replaced, their workloads stay."""
    parts = pod.split("-")
    guesses: list[tuple[ports.Resource, str]] = []
    if len(parts) > 2:  # noqa: PLR2004 - <deployment>-<hash>-<suffix>
        guesses.append((resources.DEPLOYMENT, "-".join(parts[:-2])))
    if len(parts) > 1:
        stem = "-".join(parts[:-1])
        kinds = (
            (resources.STATEFUL_SET,)
            if parts[-1].isdigit()
            else (resources.DAEMON_SET, resources.JOB)
        )
        guesses += [(kind, stem) for kind in kinds]
    found = await asyncio.gather(*(source.get(kind, name) for kind, name in guesses))
    for kind, name in guesses:
        source.missing.pop(objects.Ref(kind.kind, name), None)
    return next((item for item in found if item), None)


async def near(source: reads.Reads, resource: ports.Resource, name: str) -> tuple[str, ...]:
    """Names of the same kind that are written nearly like `name`."""
    found, _ = await source.list(resource, limit=200)
    names = [objects.name(item) for item in found]
    close = difflib.get_close_matches(name, names, n=NEAR_NAMES, cutoff=0.6)
    stem = name.rsplit("-", 2)[0]
    return tuple(dict.fromkeys([*close, *(item for item in names if item.startswith(stem))]))[
        :NEAR_NAMES
    ]


def label_selector(value: shapes.Object) -> str:
    """`spec.selector` of a workload as a list request takes it; "" where there is none."""
    selector = shapes.mapping(value, "spec", "selector")
    terms = [
        f"{key}={item}" for key, item in sorted(objects.labels(selector, "matchLabels").items())
    ]
    for row in shapes.mappings(selector, "matchExpressions"):
        key, operator = shapes.text(row, "key"), shapes.text(row, "operator")
        values = ",".join(objects.words(row, "values"))
        forms = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        if operator in forms:
            terms.append(forms[operator])
    return ",".join(terms)
