"""What `make run` says where it can't begin, and where one of its processes ends by itself."""

from __future__ import annotations

import asyncio
import pathlib
import signal
import sys

import pytest

from kubewhy import errors
from kubewhy.app import foreground


@pytest.mark.parametrize("missing", ["nope", "nope:other", "."])
async def test_a_kubeconfig_that_is_no_file_is_named(tmp_path: pathlib.Path, missing: str) -> None:
    path = str(tmp_path / missing)
    with pytest.raises(errors.ConfigError, match="is no file") as refused:
        await foreground.main({"KUBECONFIG": path}, webhook_address="127.0.0.1:0", apply=True)
    assert path in str(refused.value)


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9"),
        ("import sys; sys.exit(3)", "exit code 3"),
    ],
)
async def test_a_process_that_ends_by_itself_is_named(
    program: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lives = await _python("import time; time.sleep(60)")
    try:
        ends = await _python(program)
        code = await foreground._until_end((ends, lives), asyncio.Event())
    finally:
        lives.send_signal(signal.SIGKILL)
        await lives.wait()
    assert code == 1
    assert f"operator ended by itself ({how})" in capsys.readouterr().out


async def _python(program: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", program)
