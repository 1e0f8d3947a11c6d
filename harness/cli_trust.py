"""The trust command, for cli.py."""

from __future__ import annotations

from typing import Annotated

import typer


def trust(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="As in the base_url: host or host:port.")
    ] = "",
    variable: Annotated[
        str, typer.Argument(metavar="VARIABLE", help="Name of the variable with the key.")
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take it back.")] = False,
) -> None:
    """Confirm that a key may be sent to a host.

    Whichever folder or file names both; alone it lists what is confirmed: harness trust HOST MY_KEY
    """
    from harness import trusting

    trusting.trust(host, variable, remove=remove)
