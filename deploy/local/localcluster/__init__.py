"""The local cluster: a real Kubernetes from its own programs, on a machine without one."""
