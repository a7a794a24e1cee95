"""kubewhy finds out, inside a Kubernetes cluster, why an alert fires.

The package imports nothing at this level: every part is reached by its own module, so that a
command that needs only one of them does not pay for the others.
"""

__version__ = "0.1.0.dev0"
