"""The YAML toolset format: from a file's text to declarations (pure)."""
