#!/usr/bin/env python3
"""The local cluster's command: see README.md beside it. Needs the standard library only."""

import sys

if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 (runs before anything could have checked it)
        sys.exit("The local cluster needs Python 3.11 or newer: install a newer python3.")
    from localcluster import cli

    sys.exit(cli.main(sys.argv[1:]))
