"""What both ways through the demo share: the stage they play on, and the steps in which an answer is shown."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import local
import show
import waiting
import workload
from terminal import DemoError, Terminal

if TYPE_CHECKING:
    import httpx

GOAL_SECONDS = 120.0
"""From the alert's startsAt to the root cause on the terminal."""

_COMPLETE_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The terminal, the cluster and a folder for the programs' files."""

    terminal: Terminal
    kubectl: local.Kubectl
    client: httpx.Client
    folder: Path
    stop_after_answer: bool


@contextlib.contextmanager
def last_act(stage: Stage) -> Iterator[None]:
    """Say that the end begins, before what encloses this takes its time to end."""
    try:
        yield
    finally:
        stage.terminal.say("taking everything down")


def clear(stage: Stage) -> None:
    """Remove what an earlier run left in a kept cluster."""
    stage.kubectl.run(
        "delete", "namespace", workload.NAMESPACE, "--ignore-not-found", "--timeout=2m"
    )


def present(
    stage: Stage, watch: waiting.Watch, *, expected: workload.Expected
) -> show.Investigation:
    """Show the concluded Investigation.

    Raises:
        DemoError: it does not say what it must.
    """
    found = watch.until(
        lambda: watch.investigation(show.complete),
        seconds=_COMPLETE_SECONDS,
        what="Investigation whose status is completely written",
    )
    stage.kubectl.show(stage.terminal, "get", "investigations", "-A")
    stage.terminal.text(show.answer(found))
    wrong = show.complaints(found, expected)
    if wrong:
        raise DemoError(f"The answer is wrong: {'; '.join(wrong)}.")
    return found


def run_shown(stage: Stage, *words: str) -> None:
    """Run kubectl on the shop before the person's eyes."""
    stage.kubectl.show(stage.terminal, "-n", workload.NAMESPACE, *words)


def show_resolved(stage: Stage, investigation: show.Investigation) -> None:
    """Show what the webhook has noted on the Investigation about the alert's end."""
    key = show.RESOLVED_AT.replace(".", r"\.")
    path = f"{{.metadata.annotations.{key}}}"
    name = investigation["metadata"]["name"]
    run_shown(stage, "get", "investigation", name, "-o", f"jsonpath={path}")


def now() -> datetime.datetime:
    """The time of this machine's clock, which the whole demo shares."""
    return datetime.datetime.now(datetime.UTC)
