"""The one exception that reaches the user of the local cluster."""


class ClusterError(Exception):
    """One sentence: what happened, to what, and what to do next."""
