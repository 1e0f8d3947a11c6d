"""Commands about conversations that a run has saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

ViewedRun = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", parser=options.a_path, help="Folder of a run; it may be running."
    ),
]
SavedStep = Annotated[
    int | None,
    typer.Option("--step", metavar="N", min=1, help="Training step whose conversations were saved.",
                 show_default="the last"),
]  # fmt: skip
ViewedLevel = Annotated[
    str | None, typer.Option("--level", metavar="NAME", help="Only conversations at this level.")
]
Worst = Annotated[bool, typer.Option("--worst", help="Show the lowest rewards first.")]
Best = Annotated[bool, typer.Option("--best", help="Show the highest rewards first.")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, help="Number of conversations to show.",
                 show_default="3, all with --json"),
]  # fmt: skip
AsJsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per conversation, one per line.")
]


def view(
    run: ViewedRun,
    step: SavedStep = None,
    level: ViewedLevel = None,
    worst: Worst = False,
    best: Best = False,
    limit: Limit = None,
    as_json: AsJsonLines = False,
) -> None:
    """Show what was said, heard and felt in a run, and why.

    By default, shows the worst, the middle and the best by reward at the last saved step.
    Example: harness view runs/one --step 25 --worst
    """
    from harness.cli import view as command

    command.view(command.ViewOptions(run, step, level, worst, best, limit), as_json=as_json)
