"""The toolset `prometheus`: queries and alerts of a Prometheus-compatible server."""
