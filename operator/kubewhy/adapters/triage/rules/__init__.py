"""The rules, one module per family. Each looks at all facts and gives at most one explanation; the best one wins."""

from __future__ import annotations

from kubewhy.adapters.triage.diagnosis import Rule
from kubewhy.adapters.triage.rules import (
    admission,
    batch,
    config,
    crash,
    dependencies,
    image,
    leftover,
    memory,
    nodes,
    placement,
    probing,
    rollout,
    running,
    scaling,
    serving,
    storage,
    waiting,
)

RULES: tuple[Rule, ...] = (
    *config.RULES, *image.RULES, *memory.RULES, *crash.RULES, *probing.RULES, *placement.RULES, *admission.RULES,
    *rollout.RULES, *batch.RULES, *dependencies.RULES, *serving.RULES, *storage.RULES, *nodes.RULES, *scaling.RULES,
    *waiting.RULES, *running.RULES, *leftover.RULES,
)  # fmt: skip
