"""Finds the data files that belong to kubewhy but lie outside its Python modules.

A wheel carries them in `kubewhy/_data/`; a checkout has them at the repository's root. One resolver
for both, because `importlib.resources` sees neither in an editable installation.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_dir(name: str, *, package: Path = _PACKAGE) -> Path:
    """Return the folder of data files called `name`, such as `crds` or `toolsets`.

    Args:
        name: path of the folder relative to the repository's root, with `/` between its parts.
        package: the folder of the installed package; given only by tests.

    Raises:
        FileNotFoundError: neither the installed package nor a checkout around it has the folder.
    """
    packed = package / "_data" / name
    checkout = package.parent.parent / name
    for candidate in (packed, checkout):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(
        f"data folder {name!r} is neither at {packed} nor at {checkout}: "
        "install kubewhy again, or run it from a complete checkout"
    )
