"""The tiers, and which of them a machine can run."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass


class Need(enum.Enum):
    """What a tier's tests need to be there before they start."""

    NOTHING = enum.auto()
    CLUSTER = enum.auto()
    """The API server of the shared local cluster."""
    NODE = enum.auto()
    """A real kubelet in the shared local cluster."""
    FREE_NODE = enum.auto()
    """No cluster of ours is up: the tests start their own, with the machine's only kubelet."""


@dataclass(frozen=True, kw_only=True)
class Tier:
    """One call of pytest.

    Attributes:
        name: what the closing table calls it, and what `--tier` takes.
        folder: the folder below tests/.
        need: what must be there first.
        workers: pytest-xdist workers; 0 runs in one process.
        marks: pytest's mark expression that selects the tests, "" for all.
        test_seconds: limit of one test.
        seconds: limit of the whole tier, after which it is ended and has failed.
    """

    name: str
    folder: str
    need: Need = Need.NOTHING
    workers: int = 0
    marks: str = ""
    test_seconds: int
    seconds: int


# In the order in which they run: quick first, and what uses the shared cluster side by side.
TIERS = (
    Tier(name="unit", folder="unit", workers=2, test_seconds=60, seconds=300),
    Tier(name="contract", folder="contract", workers=2, test_seconds=60, seconds=300),
    Tier(name="component", folder="component", workers=2, test_seconds=60, seconds=300),
    Tier(name="cluster", folder="cluster", need=Need.CLUSTER, test_seconds=120, seconds=600),
    Tier(
        name="node",
        folder="node",
        need=Need.NODE,
        marks="not own_cluster",
        test_seconds=300,
        seconds=600,
    ),
    Tier(name="incidents", folder="incidents", need=Need.NODE, test_seconds=300, seconds=600),
    Tier(
        name="local-cluster",
        folder="node",
        need=Need.FREE_NODE,
        marks="own_cluster",
        test_seconds=300,
        seconds=600,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the plan must know of the machine.

    Attributes:
        linux: the kernel is Linux.
        root: the process runs as root.
        debian_12: the system is Debian 12, where nothing may be left out.
        missing: programs a node needs that are not on the path.
    """

    linux: bool
    root: bool
    debian_12: bool
    missing: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether this is the kind of machine that must be able to run every tier."""
        return self.linux and self.root and self.debian_12


def why_no_node(machine: Machine) -> str:
    """Return why no real kubelet can run here, "" if nothing is known to speak against it."""
    if not machine.linux:
        return "a node needs Linux"
    if not machine.root:
        return "a node needs root"
    if machine.missing:
        return f"a node needs {', '.join(machine.missing)}, which is not installed"
    return ""


def wanted(names: Collection[str]) -> tuple[Tier, ...]:
    """Return the tiers called `names`, all for none, in the order in which they run.

    Raises:
        ValueError: a name is unknown; the text lists the known ones.
    """
    known = [tier.name for tier in TIERS]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"there is no tier {unknown[0]!r}: take one of {', '.join(known)}")
    return tuple(tier for tier in TIERS if not names or tier.name in names)


def left_out_fails(machine: Machine, *, strict: bool, in_ci: bool) -> bool:
    """Return whether a tier that could not run counts as a failure."""
    return strict or (in_ci and machine.complete)
