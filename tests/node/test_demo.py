"""`make demo` as the person sees it, on a real cluster.

Goes in: `python tests/demo` as a program of its own, with a state directory of its own. Observed: its terminal, its
exit code, and what is left afterwards. Nothing is mocked but, in one test, root's user id. The wait for the alert's
end is left out: it takes five minutes that only Prometheus' clock can shorten.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from localcluster import layout

pytestmark = [pytest.mark.own_cluster, pytest.mark.timeout(400)]

_DEMO = Path(__file__).resolve().parents[1] / "demo"
_SECONDS = 300.0
_NOBODY = 65534

# Another user that may still read this checkout, wherever it lies.
_AS_NOBODY = (
    "setpriv",
    f"--reuid={_NOBODY}",
    f"--regid={_NOBODY}",
    "--clear-groups",
    "--inh-caps=+dac_override,+dac_read_search",
    "--ambient-caps=+dac_override,+dac_read_search",
    "--",
)


@dataclass(frozen=True)
class Demo:
    """The program with its state in a directory of its own."""

    state: Path

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "KUBEWHY_STATE_DIR": str(self.state),
            "KUBEWHY_CACHE_DIR": str(layout.cache_root(os.environ)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "KEEP": "",
        }

    def start(self, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*prefix, sys.executable, str(_DEMO), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def left(self) -> list[str]:
        """Programs that name the state directory, on their command line or in their environment."""
        wanted = str(self.state).encode()
        found = []
        for process in Path("/proc").iterdir():
            if not process.name.isdecimal() or int(process.name) == os.getpid():
                continue
            try:
                texts = [(process / name).read_bytes() for name in ("cmdline", "environ")]
            except OSError:
                continue
            if any(wanted in text for text in texts):
                found.append(texts[0].replace(b"\0", b" ").decode(errors="replace"))
        return found


@pytest.fixture
def demo() -> Iterator[Demo]:
    # Not tmp_path: sockets in it have to stay below 108 bytes.
    state = Path(tempfile.mkdtemp(prefix="kw-"))
    os.chown(state, _NOBODY if os.geteuid() == 0 else -1, -1)
    made = Demo(state)
    try:
        yield made
    finally:
        script = Path(layout.__file__).parents[1] / "cluster.py"
        subprocess.run(
            [sys.executable, str(script), "down", "--all"],
            env=made.environment,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        shutil.rmtree(state, ignore_errors=True)


def test_a_real_alert_leads_to_the_root_cause(demo: Demo) -> None:
    process = demo.start("--stop-after-answer")
    output, _ = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, output
    assert (
        'max_over_time(kube_pod_container_status_waiting_reason{reason="CrashLoopBackOff"' in output
    )
    assert "for 15 min -> 10 s, group_wait 30 s -> 1 s" in output
    assert "$ kubectl get investigations -A" in output
    assert re.search(r"^shop +alert-\S+ .* True +RootCauseFound ", output, re.MULTILINE), output
    assert "“checkout.settings.MissingSettingError: PAYMENT_GATEWAY_URL is not set”" in output
    assert "(call 1-0 kubernetes_first_look, verified)" in output
    assert re.search(r"^    \$ kubectl ", output, re.MULTILINE), output
    seconds = re.search(r"found ([\d.]+) s after the alert's startsAt, ([\d.]+) s after", output)
    assert seconds is not None, output
    assert 0 < float(seconds[2]) < float(seconds[1]) < 120
    assert demo.left() == []


def test_without_root_a_recorded_message_leads_to_the_root_cause(demo: Demo) -> None:
    process = demo.start(prefix=_AS_NOBODY)
    output, _ = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, output
    assert "NOT ROOT" in output
    assert "the recorded message" in output
    assert "no nodes available to schedule pods" in output
    noted = r"^\$ kubectl .*resolved-at.*\n(\d{4}-\d\d-\d\dT[\d:.]+Z)$"
    assert re.search(noted, output, re.MULTILINE), output
    assert demo.left() == []


def test_an_interrupt_leaves_nothing(demo: Demo) -> None:
    process = demo.start()
    assert process.stdout is not None
    seen = ""
    deadline = time.monotonic() + _SECONDS
    for line in process.stdout:
        seen += line
        if "Alertmanager is ready" in line or time.monotonic() > deadline:
            break
    assert "Alertmanager is ready" in seen, seen
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=_SECONDS)
    assert process.returncode == 130, seen + rest
    assert "demo interrupted; everything it started is gone" in rest
    assert demo.left() == []
    assert not (demo.state / "clusters").exists()
