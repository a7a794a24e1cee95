"""The command line. Each command is thin: it reads its options, then calls the process it names."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated

import typer

import kubewhy
from kubewhy import errors
from kubewhy.app import logs, parent

app = typer.Typer(
    name="kubewhy",
    help="Finds out why: root causes of Kubernetes problems, investigated inside the cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def operator() -> None:
    """Run the operator: reconcile Investigations until SIGTERM. Settings: KUBEWHY_… variables."""
    from kubewhy.app import operator_process, settings  # noqa: PLC0415 - other commands don't need kopf

    logs.set_up()
    parent.end_with_parent(os.environ)
    raise typer.Exit(asyncio.run(operator_process.main(settings.load(os.environ))))


@app.command()
def webhook() -> None:
    """Run the webhook that turns alerts into Investigations. Settings: KUBEWHY_WEBHOOK_… variables."""
    from kubewhy.app import webhook as webhook_process  # noqa: PLC0415 - see operator
    from kubewhy.app import webhook_environment  # noqa: PLC0415

    logs.set_up()
    parent.end_with_parent(os.environ)
    webhook_process.main(webhook_environment.load(os.environ))


@app.command()
def run(
    webhook_address: Annotated[
        str, typer.Option(help="Where the webhook listens; port 0 picks a free one.")
    ] = "127.0.0.1:8088",
    apply: Annotated[
        bool, typer.Option(help="Apply namespace, CRDs, accounts and roles first.")
    ] = True,
) -> None:
    """Run operator and webhook in the foreground against the cluster of KUBECONFIG, with their own accounts."""
    from kubewhy.app import foreground  # noqa: PLC0415 - see operator

    logs.set_up("WARNING")
    raise typer.Exit(
        asyncio.run(foreground.main(os.environ, webhook_address=webhook_address, apply=apply))
    )


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(kubewhy.__version__)


def main() -> None:
    """Entry point: an error on purpose is one sentence and exit code 1, no traceback."""
    try:
        app()
    except errors.KubewhyError as error:
        typer.echo(f"kubewhy: {error}", err=True)
        sys.exit(1)
