"""Real programs, mostly the Python that runs the tests; nothing is faked."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from kubewhy import errors
from kubewhy.adapters import subprocess_runner
from kubewhy.core import ports


async def run(
    *argv: str, seconds: float = 20, limit: int = 64 * 1024, **environment: str
) -> ports.ProcessResult:
    runner = subprocess_runner.SubprocessRunner()
    return await runner.run(
        argv, environment=environment, timeout_seconds=seconds, limit_bytes=limit
    )


async def python(code: str, **options: float) -> ports.ProcessResult:
    return await run(sys.executable, "-S", "-c", code, **options)  # type: ignore[arg-type]


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def gone(pid: int) -> bool:
    """Whether a process ends soon: a killed one does so on the kernel's time."""
    for _ in range(100):
        if not alive(pid):
            return True
        await asyncio.sleep(0.05)
    return False


async def test_arguments_reach_the_program_as_they_are() -> None:
    hostile = ["a b", "$HOME", "`id`", "; rm -rf x", "*", "'\"\\", "", "naïve\nline"]
    result = await run(
        sys.executable, "-S", "-c", "import sys; print(ascii(sys.argv[1:]))", *hostile
    )
    assert result.output == ascii(hostile) + "\n"
    assert (result.exit_code, result.truncated, result.timed_out) == (0, False, False)
    assert result.total_bytes == len(result.output)


async def test_both_outputs_and_the_exit_code_come_back() -> None:
    result = await python(
        "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(7)"
    )
    assert (result.exit_code, result.output) == (7, "out\nerr\n")


async def test_a_killed_program_has_its_signal_as_negative_code() -> None:
    result = await python("import os; os.kill(os.getpid(), 9)")
    assert (result.exit_code, result.timed_out) == (-9, False)


async def test_only_the_given_variables_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERATOR_SECRET", "hunter2-of-the-operator")
    result = await run("env", REGION="eu")
    seen = dict(line.split("=", 1) for line in result.output.splitlines())
    assert seen.pop("PATH") == os.environ["PATH"]
    assert len(seen.pop(subprocess_runner.MARK)) == 32
    assert seen == {"REGION": "eu", "HOME": "/nonexistent", "LANG": "C.UTF-8"}


async def test_standard_input_is_empty() -> None:
    assert (await run("cat", seconds=10)).exit_code == 0


async def test_100_megabytes_are_read_to_their_end_with_flat_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    code = (
        "import os\nb = (b'x' * 99 + b'\\n') * 10000\n"
        "print('first', flush=True)\nfor _ in range(100): os.write(1, b)\n"
        "print('last', flush=True)"
    )
    result = await python(code, seconds=50)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert result.exit_code == 0
    assert result.total_bytes == 100_000_000 + len("first\nlast\n")
    assert result.output.startswith("first\nxxx")
    assert result.output.endswith("xxx\nlast\n")
    assert len(result.output.encode()) <= 64 * 1024
    assert result.truncated
    assert after.ru_maxrss - before.ru_maxrss < 16 * 1024  # KiB
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 3


async def test_invalid_utf8_is_replaced() -> None:
    result = await python("import os; os.write(1, b'ok \\xff\\xc3( end')")
    assert result.output == "ok \ufffd\ufffd( end"


async def test_a_program_that_ignores_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    with open({str(pids)!r} + '.tmp', 'w') as f: f.write(f'{{os.getpid()}} {{child}}')
    os.rename({str(pids)!r} + '.tmp', {str(pids)!r})
    print('partial', flush=True)
time.sleep(600)
"""
    started = time.monotonic()
    result = await python(code, seconds=3)
    took = time.monotonic() - started
    assert (result.timed_out, result.exit_code, result.output) == (True, -9, "partial\n")
    assert 3.5 < took < 8
    for pid in pids.read_text(encoding="utf-8").split():
        assert await gone(int(pid))


async def test_a_program_may_end_well_on_sigterm() -> None:
    code = """
import signal, sys, time
def end(*_): print('bye', flush=True); sys.exit(3)
signal.signal(signal.SIGTERM, end)
print('ready', flush=True)
time.sleep(600)
"""
    result = await python(code, seconds=3)
    assert (result.timed_out, result.exit_code, result.output) == (True, 3, "ready\nbye\n")


async def test_endless_output_ends_with_the_time() -> None:
    code = "import time\nwhile True: print('x' * 999, flush=True); time.sleep(0.001)"
    result = await python(code, seconds=2, limit=4096)
    assert (result.timed_out, result.truncated) == (True, True)
    assert result.total_bytes > 10_000
    assert len(result.output.encode()) <= 4096


@pytest.mark.parametrize("output", ["held", "given up"])
async def test_a_daemon_neither_holds_the_result_nor_outlives_it(
    output: str, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    code = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if {output!r} == 'given up':
        for number in (1, 2): os.close(number)
    with open({str(pid)!r}, 'w') as f: f.write(str(os.getpid()))
    time.sleep(60)
    os._exit(0)
while not (os.path.exists({str(pid)!r}) and open({str(pid)!r}).read()): time.sleep(0.01)
print('done')
"""
    started = time.monotonic()
    result = await python(code)
    assert result.exit_code == 0
    assert result.output == "done\n[it left processes behind, which were ended]"
    assert time.monotonic() - started < 15
    assert await gone(int(pid.read_text(encoding="utf-8")))


async def test_a_background_child_of_the_group_does_not_outlive_the_run() -> None:
    result = await python("import subprocess; print(subprocess.Popen(['sleep', '600']).pid)")
    assert await gone(int(result.output.splitlines()[0]))


async def test_output_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_runner, "READ_LIMIT", 2_000_000)
    result = await run("yes", seconds=50, limit=4096)
    assert (result.exit_code, result.timed_out) == (-15, False)
    assert result.output.endswith("y\n[stopped after 2000000 bytes of output]")


async def test_cancelling_kills_the_group_and_leaks_nothing(tmp_path: Path) -> None:
    await run("true")  # what the loop opens once is open now
    before, pid = open_files(), tmp_path / "pid"
    task = asyncio.create_task(
        python(f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    )
    while not (pid.exists() and pid.read_text(encoding="utf-8")):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(int(pid.read_text(encoding="utf-8")))
    await asyncio.sleep(0)  # the loop hears of the end
    assert open_files() == before


async def test_many_runs_side_by_side_leak_no_file() -> None:
    await run("true")
    before = open_files()
    results = await asyncio.gather(*(run("echo", str(number)) for number in range(20)))
    assert [result.output for result in results] == [f"{number}\n" for number in range(20)]
    assert open_files() == before


async def test_the_programs_memory_is_bounded() -> None:
    runner = subprocess_runner.SubprocessRunner(subprocess_runner.Limits(memory=128 * 1024**2))
    code = "x = bytearray(512 * 1024**2); print(len(x))"
    argv = (sys.executable, "-S", "-c", code)
    result = await runner.run(argv, environment={}, timeout_seconds=20)
    assert result.exit_code == 1
    assert "MemoryError" in result.output


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("no-such-program-anywhere",), "install it"),
        (("/etc/passwd",), "install it"),
        (("echo", "a\0b"), "null byte"),
        (("echo", "x" * 3_000_000), "too long"),
        ((), "no program"),
    ],
)
async def test_what_cant_be_started_says_why(argv: tuple[str, ...], reason: str) -> None:
    before = open_files()
    with pytest.raises(errors.ToolFailure, match=reason) as caught:
        await run(*argv)
    assert caught.value.status == "Error"
    assert open_files() == before


@pytest.mark.parametrize("missing", ["pipe2", "pidfd_open"])
async def test_without_descriptors_it_fails_in_words_and_leaves_nothing(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(24, "Too many open files")

    before = open_files()
    monkeypatch.setattr(os, missing, none)
    with pytest.raises(errors.ToolFailure, match="Too many open files"):
        await run("sleep", "600")
    assert open_files() == before
