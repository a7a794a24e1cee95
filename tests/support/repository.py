"""The files of this repository, for tests about the repository itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TEXT_BYTES = 4_000_000


def files() -> list[Path]:
    """All files that are tracked, or would be with `git add`, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = (Path(name) for name in listed.split("\0") if name)
    return sorted({path for path in found if (ROOT / path).is_file()})


def text(path: Path) -> str:
    """The text of a file, "" if it is not text."""
    data = (ROOT / path).read_bytes()[:_TEXT_BYTES]
    return "" if b"\0" in data else data.decode(errors="replace")
