"""Progress on stderr: what is being done, and when it was reached."""

import sys
import time


class Progress:
    """Writes lines to stderr, each with the seconds since this object was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def say(self, text: str) -> None:
        """Write one line."""
        print(f"[{time.monotonic() - self._start:6.1f} s] {text}", file=sys.stderr, flush=True)
