"""Identity, start and end of processes, the locks between them, and who owns the node."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from localcluster import identity, locks, nodeowner, processes
from localcluster.errors import ClusterError
from localcluster.layout import Layout

_SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def _program(directory: Path, argv: list[str]) -> processes.Program:
    return processes.Program(
        name="sleeper",
        argv=argv,
        environment={identity.MARKER: str(directory)},
        directory=directory,
        record=directory / "run/sleeper.json",
        log=directory / "logs/sleeper.log",
    )


def _until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("name", ["sh", "a b", "a) Z 9 (b", ")"])
def test_the_start_time_is_read_past_any_command_name(name: str) -> None:
    fields = ["S", *(str(number) for number in range(4, 53))]
    assert identity.parse_stat(f"12 ({name}) {' '.join(fields)}\n") == ("S", 22)


def test_a_process_is_known_by_more_than_its_id() -> None:
    with subprocess.Popen(_SLEEP) as sleeper:
        me = identity.of(sleeper.pid, executable=os.path.realpath(sys.executable))
        assert me is not None
        assert identity.is_alive(me)
        assert not identity.is_alive(replace(me, started=me.started - 1))
        assert not identity.is_alive(replace(me, boot="another boot"))
        assert not identity.is_alive(replace(me, executable="/usr/bin/other"))
        assert identity.from_json(me.to_json()) == me
        sleeper.kill()
        assert _until(lambda: identity.of(sleeper.pid) is None), "a zombie is no live process"
    assert not identity.is_alive(me)


def test_kill_spares_a_process_that_only_has_the_recorded_id() -> None:
    with subprocess.Popen(_SLEEP) as stranger:
        found = identity.of(stranger.pid)
        assert found is not None
        assert processes.kill([replace(found, started=found.started - 1)]) == []
        assert stranger.poll() is None
        assert processes.kill([found]) == []
        assert not identity.is_alive(found)


def test_a_started_program_records_and_marks_itself(tmp_path: Path) -> None:
    started = processes.start(_program(tmp_path, _SLEEP))
    try:
        assert processes.recorded(tmp_path / "run") == {"sleeper": started}
        assert [found.pid for found in identity.marked(tmp_path)] == [started.pid]
        assert list(identity.marked(tmp_path.parent)) == []
        assert os.getsid(started.pid) == started.pid, "the terminal's signals don't reach it"
    finally:
        assert processes.kill([started]) == []
    assert processes.has_ended(started)
    assert list(identity.marked(tmp_path)) == []


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"sleeper could not be started: .*No such file"):
        processes.start(_program(tmp_path, ["/nowhere/sleeper"]))


def test_a_failed_preparation_is_told_and_nothing_runs(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("no such namespace")

    with pytest.raises(ClusterError, match="sleeper could not be started: no such namespace"):
        processes.start(_program(tmp_path, _SLEEP), prepare=fail)
    assert list(identity.marked(tmp_path)) == []


def test_the_end_of_a_log_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert "nothing in" in processes.tail(log)
    log.write_text("".join(f"line {number}\n" for number in range(2000)))
    assert processes.tail(log).splitlines()[-1] == "line 1999"
    assert len(processes.tail(log).splitlines()) == 16


_HOLD = """
import pathlib, sys, time
from localcluster import locks
with locks.exclusive(pathlib.Path(sys.argv[1]), waiting=lambda: None):
    pathlib.Path(sys.argv[2]).touch()
    time.sleep(60)
"""


def test_a_lock_excludes_and_dies_with_its_holder(tmp_path: Path) -> None:
    path, gate = tmp_path / "locks/a.lock", tmp_path / "gate"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), str(gate)],
        env={"PYTHONPATH": str(Path(locks.__file__).parents[1])},
    )
    try:
        assert _until(gate.exists)
        with locks.attempt(path) as held:
            assert not held
        told: list[str] = []

        def waiting() -> None:
            told.append("waiting")
            holder.kill()

        with locks.exclusive(path, waiting=waiting), locks.attempt(path) as again:
            assert told == ["waiting"]
            assert not again
    finally:
        holder.kill()
        holder.wait()
    assert not path.parent.exists(), "the last holder removes file and directory"


@pytest.fixture
def owner_of_the_node(tmp_path: Path) -> tuple[Path, Layout, Layout]:
    """Directory of the record, and two clusters of different state directories."""
    return tmp_path / "run", Layout(tmp_path / "one", "a"), Layout(tmp_path / "two", "b")


def _refuse_to_clear(layout: Layout) -> None:
    raise AssertionError(f"{layout.name} must not be cleared")


def test_a_living_owner_keeps_the_node_and_is_named(
    owner_of_the_node: tuple[Path, Layout, Layout],
) -> None:
    directory, first, second = owner_of_the_node
    me = identity.ourselves()
    claim = nodeowner.claim
    assert claim(first, witness=me, clear=_refuse_to_clear, directory=directory) is None
    refusal = claim(second, witness=me, clear=_refuse_to_clear, directory=directory)
    assert refusal is not None
    assert "belongs to cluster a" in refusal
    assert "one kubelet at most" in refusal
    nodeowner.release(second, directory=directory)
    assert nodeowner.read(directory) is not None, "only the owner can give it up"
    nodeowner.release(first, directory=directory)
    assert claim(second, witness=me, clear=_refuse_to_clear, directory=directory) is None


def test_a_dead_owner_is_cleared_before_the_node_changes_hands(
    owner_of_the_node: tuple[Path, Layout, Layout],
) -> None:
    directory, first, second = owner_of_the_node
    me = identity.ourselves()
    dead = replace(me, started=me.started - 1)
    cleared: list[Layout] = []
    assert nodeowner.claim(first, witness=dead, clear=cleared.append, directory=directory) is None
    assert nodeowner.claim(second, witness=me, clear=cleared.append, directory=directory) is None
    assert cleared == [first]
    owner = nodeowner.read(directory)
    assert owner is not None
    assert owner.layout == second
    with pytest.raises(ClusterError, match="lost the machine's node"):
        nodeowner.attest(first, [me], directory=directory)


def test_a_kubelet_that_its_cluster_recorded_keeps_the_node_though_up_was_killed(
    owner_of_the_node: tuple[Path, Layout, Layout],
) -> None:
    directory, first, second = owner_of_the_node
    me = identity.ourselves()
    dead = replace(me, started=me.started - 1)
    kubelet = replace(
        _program(first.directory, _SLEEP), record=first.processes / "kubelet.json", name="kubelet"
    )
    first.directory.mkdir(parents=True)
    started = processes.start(kubelet)
    try:
        nodeowner.claim(first, witness=dead, clear=_refuse_to_clear, directory=directory)
        refusal = nodeowner.claim(second, witness=me, clear=_refuse_to_clear, directory=directory)
        assert refusal is not None
    finally:
        processes.kill([started])


def test_an_owner_that_is_being_stopped_is_left_to_finish(
    owner_of_the_node: tuple[Path, Layout, Layout],
) -> None:
    directory, first, second = owner_of_the_node
    me = identity.ourselves()
    dead = replace(me, started=me.started - 1)
    nodeowner.claim(first, witness=dead, clear=_refuse_to_clear, directory=directory)
    with locks.exclusive(first.lock, waiting=lambda: None):
        refusal = nodeowner.claim(second, witness=me, clear=_refuse_to_clear, directory=directory)
    assert refusal is not None
    assert "try again" in refusal
