"""Commands that make runs, continue them and say how they stand."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


class OnFailure(StrEnum):
    """Behaviour of a sweep once a run has failed."""

    CONTINUE = "continue"
    STOP = "stop"


OnFailureOption = Annotated[
    OnFailure,
    typer.Option("--on-failure", help="After a failed run, continue or start no more runs."),
]
Retries = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        max=20,
        help="Retries for a run that failed on an endpoint or disk error.",
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Also run the defaults, where no word is given on a terminal.")
]
RunDir = Annotated[
    Path, typer.Option("--dir", help="Folder of the run; created if it does not exist.")
]
StopAgain = Annotated[
    bool,
    typer.Option(
        "--stop-again", help="Obey trainer.stop_when also in a run that it has ended before."
    ),
]


def sweep(
    context: typer.Context,
    overrides: options.Overrides = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    on_failure: OnFailureOption = OnFailure.CONTINUE,
    retries: Retries = 2,
    yes: Yes = False,
) -> None:
    """Run every combination of the swept values.

    Example: harness sweep difficulty=easy,medium,hard 'seed=range(1,4)'
    """
    if sys.stdout.isatty() and options.nothing_given(context):
        typer.echo(context.get_help())
        raise typer.Exit
    from harness.cli import sweep as command

    raise typer.Exit(
        command.sweep(
            overrides or [],
            dry_run=dry_run,
            as_json=as_json,
            stop_on_failure=on_failure is OnFailure.STOP,
            retries=retries,
        )
    )


def train(
    folder: RunDir, overrides: options.Overrides = None, events: options.EventsOption = None
) -> None:
    """Train one run in the foreground.

    Example: harness train difficulty=hard --dir runs/one
    """
    from harness.execution import foreground

    foreground.begin(folder, overrides or [], events)


def resume(
    folder: options.RunOrSweep,
    events: options.EventsOption = None,
    stop_again: StopAgain = False,
) -> None:
    """Continue a run, or the unfinished runs of a sweep."""
    from harness.cli import status as command

    raise typer.Exit(command.resume(folder, events, stop_again))


def status(folder: options.RunOrSweep, as_json: options.AsJson = False) -> None:
    """Show the progress of a run or a sweep."""
    from harness.cli import status as command

    command.status(folder, as_json=as_json)


def list_(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="[PATH]", parser=options.a_path, help="Folder to look into; a sweep's own runs."
        ),
    ] = Path(),
    as_json: options.AsJson = False,
) -> None:
    """List runs and sweeps: when, what, status, last H and R, note.

    Looks four folders deep. Of a sweep that is named, its runs are listed.
    Example: harness list runs/
    """
    from harness.cli import list as command

    command.list_(path, as_json=as_json)
