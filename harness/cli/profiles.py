"""The commands about users of one's own, as a group of cli.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

profiles = typer.Typer(
    no_args_is_help=True, help="Users of one's own, for simulator.profiles=FILE."
)
File = Annotated[
    Path, typer.Argument(metavar="FILE", readable=False, help="JSONL, one user a line.")
]


@profiles.command()
def check(file: File) -> None:
    """Say what a file of users holds, and whether a run takes it.

    A persona must not be both in train and held_out.
    """
    from harness.cli import user_profiles

    user_profiles.check(file)


@profiles.command("from-rlver")
def from_rlver(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", readable=False, help="Published profiles.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The file to make.")],
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--held-out", help="Published profiles to keep for evaluation, as they are."),
    ] = None,
) -> None:
    """Make a file of users from profiles of RLVER or SAGE.

    Whole personas are dealt to train and held_out, unless --held-out names files of its own.
    """
    from harness.cli import user_profiles

    user_profiles.from_rlver(files, held_out or [], out)
