"""Objects as YAML text: keys in the given order, long texts as blocks, no anchors."""

from __future__ import annotations

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """A dumper of our own, so that no other user of PyYAML sees its settings."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal parts twice: an anchor is no YAML that a reader can quote."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    """YAML text, readable back with `yaml.safe_load`."""
    dumped: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000
    )
    return dumped
