"""What the person sees: progress with elapsed seconds, commands with their output, one sentence on failure."""

from __future__ import annotations

import textwrap
import time

WIDTH = 110


class DemoError(Exception):
    """The demo can't go on: one sentence that says what happened and what to do next."""


class Terminal:
    """Writes to stdout; the clock starts with the object."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def say(self, text: str) -> None:
        """One step, with the seconds since the start; longer text goes on below, indented."""
        stamp = f"[{self.seconds:6.1f} s] "
        print(_filled(text, first=stamp, later=" " * len(stamp)), flush=True)

    def command(self, words: str, output: str) -> None:
        """A command as it was run, and what it printed."""
        print(f"\n$ {words}\n{output.rstrip()}", flush=True)

    def text(self, block: str) -> None:
        """Lines as they are, set apart."""
        print(f"\n{block}\n", flush=True)


def _filled(text: str, *, first: str, later: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
