"""Commands about this machine: whether it is ready, and what it may send where."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import options

Host = Annotated[
    str | None,
    typer.Argument(metavar="HOST", help="Host of the base_url, with its port if it has one."),
]
Variable = Annotated[
    str | None,
    typer.Argument(metavar="VARIABLE", help="Environment variable that holds the key."),
]
Remove = Annotated[bool, typer.Option("--remove", help="Withdraw the permission.")]


def trust(host: Host = None, variable: Variable = None, remove: Remove = False) -> None:
    """Allow an API key to be sent to a host.

    The permission also holds where a file, not the command line, names the two. Without
    arguments, all permissions are listed. Example: harness trust localhost:8000 MY_KEY
    """
    from harness.cli import trust as command

    command.trust(host, variable, remove=remove)


def doctor(as_json: options.AsJson = False) -> None:
    """Check that this machine is ready.

    Checks Python, packages, GPUs, memory and folders, and says how to fix each problem.
    """
    from harness.cli import doctor as command

    raise typer.Exit(command.doctor(as_json=as_json))
