"""The tool `kubernetes_first_look`: for one object, the facts that an expert would look at first.

Gathering (`gather`) reads into a frozen Snapshot; pure functions (`making`) turn it into ranked facts; `ranking` cuts
them to what a model can take. Facts, never diagnoses.
"""

from kubewhy.toolsets.kubernetes.first_look.look import tool as tool

__all__ = ["tool"]
