"""Toolsets in Python: what a YAML toolset can't express. They reach the outside through `kubewhy.core.ports` only."""
