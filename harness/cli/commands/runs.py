"""Commands that make and continue runs, and show their status."""

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
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the sweep, and of its folder below runs/.")
]
Note = Annotated[
    str | None,
    typer.Option("--note", metavar="TEXT", help="Purpose of the sweep; shown by list and status."),
]
SweepDir = Annotated[
    Path | None,
    options.path(
        "--dir", "DIR", "Folder of the sweep, new or empty; by default a new one below runs/."
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes", help="Without other arguments, run the defaults instead of showing help."
    ),
]
RunDir = Annotated[
    Path, options.path("--dir", "PATH", "Folder of the run; created if it does not exist.")
]
DemoDir = Annotated[
    Path | None,
    options.path(
        "--dir", "DIR", "Folder of the runs; by default runs/demo. Created if it does not exist."
    ),
]
Watch = Annotated[
    bool,
    typer.Option("--watch", help="Follow progress until no process works on it, or until Ctrl-C."),
]
StopAgain = Annotated[
    bool,
    typer.Option(
        "--stop-again", help="Apply trainer.stop_when even in a run that it has ended before."
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "--ranks",
        min=1,
        metavar="N",
        help="Continue with N ranks, on N GPUs if the run uses GPUs.",
        show_default=False,
    ),
]


def demo(folder: DemoDir = None, as_json: options.AsJson = False) -> None:
    """Train one run for each way a run can end, and judge them.

    Takes about a minute on two cores and draws one picture. Repeated, it shows existing results.
    """
    from harness.cli import demo as command

    raise typer.Exit(command.demo(folder, as_json=as_json))


def sweep(
    context: typer.Context,
    overrides: options.Overrides = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    on_failure: OnFailureOption = OnFailure.CONTINUE,
    retries: Retries = 2,
    name: Name = None,
    note: Note = None,
    folder: SweepDir = None,
    yes: Yes = False,
) -> None:
    """Run every combination of the swept values.

    Example: harness sweep difficulty=easy,medium,hard 'seed=range(1,4)'
    """
    if sys.stdout.isatty() and options.nothing_given(context):
        typer.echo(context.get_help())
        raise typer.Exit
    from harness.cli import sweep as command
    from harness.execution.retry import RetryPolicy

    policy = RetryPolicy(on_failure is OnFailure.STOP, retries)
    opts = command.SweepOptions(overrides or [], dry_run, as_json, policy, name, note, folder)
    raise typer.Exit(command.sweep(opts))


def train(
    folder: RunDir, overrides: options.Overrides = None, events: options.EventsOption = None
) -> None:
    """Train one run in the foreground.

    Example: harness train difficulty=hard --dir runs/one
    """
    from harness.execution import foreground

    foreground.start_run(folder, overrides or [], events)


def resume(
    folder: options.RunOrSweep,
    events: options.EventsOption = None,
    stop_again: StopAgain = False,
    ranks: Ranks = None,
) -> None:
    """Continue a run, or the unfinished runs of a sweep."""
    from harness.cli import status as command

    raise typer.Exit(command.resume(folder, events, stop_again, ranks))


def status(
    folder: options.RunOrSweep, as_json: options.AsJson = False, watch: Watch = False
) -> None:
    """Show the progress of a run or a sweep."""
    from harness.cli import status as command
    from harness.errors import ConfigError

    if watch and as_json:
        advice = "`harness watch DIR --events jsonl` follows a run for a program"
        raise ConfigError(f"--watch: cannot be combined with --json; {advice}")
    if watch:
        command.watch(folder)
    else:
        command.status(folder, as_json=as_json)


def list_(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="[PATH]",
            parser=options.a_path,
            help="Folder to search, or a sweep, to list its runs.",
        ),
    ] = Path(),
    as_json: options.AsJson = False,
) -> None:
    """List runs and sweeps with their status, last H and R.

    Also shows the time, the settings and the note. Searches four folders deep. If PATH is a
    sweep, its runs are listed.
    Example: harness list runs/
    """
    from harness.cli import list as command

    command.list_(path, as_json=as_json)


def rm(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", parser=options.a_path, help="Folders of runs or sweeps."),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove runs or sweeps that no process works on.

    Asks first, and reports the space freed. Keeps folders that hold anything else, and the
    targets of links.
    Example: harness rm runs/pilot
    """
    from harness.cli import rm as command

    command.rm(paths, yes=yes)
