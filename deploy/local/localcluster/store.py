"""JSON files that are either whole or absent, and the record of a cluster."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_LARGEST_FILE = 1 << 20


@dataclass(frozen=True)
class ClusterRecord:
    """What a cluster is made of, as far as it can't be derived.

    port: the API server's port on loopback. binary: the multi-call executable that runs it.
    """

    port: int
    binary: str


def read_json(path: Path) -> Any:
    """The content of `path`; None where it is absent or not JSON."""
    try:
        with path.open("rb") as file:
            return json.loads(file.read(_LARGEST_FILE))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def write_text(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace `path` by `text` in one step, readable by the owner only unless `mode` says more."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with open(
        partial, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)
    ) as file:
        file.write(text)
    partial.replace(path)


def write_json(path: Path, content: object) -> None:
    """Replace `path` by `content` as JSON in one step."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


def load_record(path: Path) -> ClusterRecord | None:
    """The record at `path`, None where there is none that can be used."""
    match read_json(path):
        case {"port": int(port), "binary": str(binary)}:
            return ClusterRecord(port=port, binary=binary)
        case _:
            return None


def save_record(path: Path, record: ClusterRecord) -> None:
    """Write `record` to `path` in one step."""
    write_json(path, asdict(record))
