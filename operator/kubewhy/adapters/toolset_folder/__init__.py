"""Toolsets declared in a folder of YAML files, and whether they can be used."""
