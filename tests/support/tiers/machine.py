"""Facts about this machine, gathered once."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from tiers import plan

# The programs of a node that deploy/local starts but doesn't build.
_NODE_PROGRAMS = ("containerd", "runc", "iptables", "conntrack")
_SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"


def look() -> plan.Machine:
    """Return what the plan must know of this machine."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), _SYSTEM_PATH))
    return plan.Machine(
        linux=platform.system() == "Linux",
        root=os.geteuid() == 0,
        debian_12=_is_debian_12(),
        missing=tuple(name for name in _NODE_PROGRAMS if shutil.which(name, path=path) is None),
    )


def _is_debian_12() -> bool:
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return False
    lines = {line.replace('"', "").strip() for line in text.splitlines()}
    return {"ID=debian", "VERSION_ID=12"} <= lines
