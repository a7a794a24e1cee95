"""Entry of `python -m tiers`."""

import sys

from tiers import cli

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
