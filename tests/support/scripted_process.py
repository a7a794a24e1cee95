"""Starts the scripted OpenAI-compatible server as a process and asks it what it saw."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SERVER = Path(__file__).with_name("scripted_openai.py")


KEY = "sk-test-1234567890abcdef"
"""The key that `operator_environment` gives the operator for every scripted model."""


def entry(name: str, url: str, **more: Any) -> dict[str, Any]:
    """One entry of a model list: a model that the OpenAI-compatible server at `url` serves."""
    base = {"name": name, "provider": "litellm", "model": "openai/scripted", "baseURL": url}
    return base | {"key": {"env": "SCRIPTED_KEY"}} | more


def operator_environment(folder: Path, *entries: dict[str, Any]) -> dict[str, str]:
    """Write the entries to `models.yaml` in the folder; the variables that give them to the operator."""
    file = folder / "models.yaml"
    file.write_text(json.dumps({"models": entries}), encoding="utf-8")
    return {"KUBEWHY_MODELS_FILE": str(file), "SCRIPTED_KEY": KEY}


class ScriptedServer:
    """A running server: its base URL and what it recorded."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log

    def stats(self) -> dict[str, Any]:
        """Counts: requests, unexpected, turns, and the sha256 of each key seen."""
        address = f"{self.url.removesuffix('/v1')}/stats"
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - own server
            counts: dict[str, Any] = json.load(answer)
        return counts

    def requests(self) -> list[dict[str, Any]]:
        """All recorded requests, oldest first."""
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]


@contextlib.contextmanager
def running(script: Any, directory: Path, *, port: int = 0) -> Iterator[ScriptedServer]:
    """Serve `script` (text, or a value that is written as JSON) until the block ends."""
    file, log = directory / "script.yaml", directory / "requests.jsonl"
    file.write_text(script if isinstance(script, str) else json.dumps(script), encoding="utf-8")
    command = [
        sys.executable,
        str(_SERVER),
        "--script",
        str(file),
        "--port",
        str(port),
        "--log",
        str(log),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"the scripted server did not start: {' '.join(command)}")
            yield ScriptedServer(url, log)
        finally:
            process.terminate()
            process.wait(timeout=10)
