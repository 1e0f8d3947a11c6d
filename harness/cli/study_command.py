"""The study command, for cli.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import AsJson, DryRun, Overrides, a_path


def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of sweeps/studies/NAME.yaml.")] = "",
    overrides: Overrides = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            metavar="PATH",
            parser=a_path,
            help="Default runs/study-NAME-HASH; made if need be.",
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Ask a pre-stated question.

    Runs its arms and judges its links: harness study does_collapse_explain 'seed=range(1,11)'
    """
    from harness.cli import study as command

    wanted = command.Wanted(name, tuple(overrides or ()), folder, as_json, dry_run)
    raise typer.Exit(command.study(wanted))
