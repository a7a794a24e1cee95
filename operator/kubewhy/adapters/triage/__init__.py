"""The built-in model: rules over facts behind the port that any model sits behind. No language model, no network.

It imports `kubewhy.core` only and sees only what every model sees: the messages and the tools of a request.
"""

from kubewhy.adapters.triage.model import TriageModel as TriageModel

__all__ = ["TriageModel"]
