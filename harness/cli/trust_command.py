"""The trust command, for cli.py."""

from __future__ import annotations

from typing import Annotated

import typer


def trust(
    host: Annotated[
        str | None, typer.Argument(metavar="HOST", help="As in the base_url: host or host:port.")
    ] = None,
    variable: Annotated[
        str | None, typer.Argument(metavar="VARIABLE", help="Name of the variable with the key.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take it back.")] = False,
) -> None:
    """Allow a key to be sent to a host.

    From now on, even if a file rather than the command line names them: harness trust HOST MY_KEY.
    Without arguments: list what is allowed.
    """
    from harness.cli import trust as trusting

    trusting.trust(host, variable, remove=remove)
