"""Commands about this machine: its state, and the API keys that it may send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.errors import ConfigError

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

    The permission also holds if a file, not the command line, names host and variable. Without
    arguments, all permissions are listed. Example: harness trust localhost:8000 MY_KEY
    """
    from harness.cli import trust as command

    command.trust(host, variable, remove=remove)


Gpu = Annotated[
    bool,
    typer.Option(
        "--gpu", help="Test a policy on this machine's device (a minute on a GPU) and write a card."
    ),
]
Card = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", parser=options.a_path,
        help="Folder for the card of --gpu; by default device-card.",
    ),
]  # fmt: skip
Policy = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE", show_default=False, help="Config overrides for the test of --gpu."
    ),
]


def doctor(
    overrides: Policy = None,
    gpu: Gpu = False,
    out: Card = None,
    as_json: options.AsJson = False,
) -> None:
    """Check that this machine is ready.

    Checks Python, packages, GPUs, memory and folders, and says how to fix each problem. With --gpu,
    tests a policy instead: precision, engine, memory and speed.
    Example: harness doctor --gpu policy=qwen3_0_6b
    """
    if gpu:
        from harness.cli import device_card

        raise typer.Exit(device_card.check_device(overrides or [], out, as_json=as_json))
    if overrides or out is not None:
        argument = (overrides or [f"--out {out}"])[0]
        raise ConfigError(f"doctor: config overrides and --out need --gpu, got {argument}")
    from harness.cli import doctor as command

    raise typer.Exit(command.doctor(as_json=as_json))
