"""`python -m kubewhy`: the same as the command `kubewhy`."""

from kubewhy.app import cli

cli.main()
