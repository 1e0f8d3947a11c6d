"""Options that commands share, and the words they take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


def a_path(text: str) -> Path:
    """Raises BadParameter for '', which pathlib takes for the current folder."""
    if not text:
        raise typer.BadParameter("must name a file or a folder, got ''")
    return Path(text)


Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        show_default=False,
        help="Config overrides; a,b,c, 'range(1,4)', 'choice(a,b)' and 'glob(*)' sweep.",
    ),
]
RunOrSweep = Annotated[
    Path,
    typer.Argument(metavar="DIR", parser=a_path, help="A run's folder or a sweep's."),
]
AnyRuns = Annotated[
    Path,
    typer.Argument(metavar="PATH", parser=a_path, help="A run, a sweep, or a folder of them."),
]
Logs = Annotated[
    list[Path], typer.Argument(metavar="PATH", parser=a_path, help="Runs, sweeps, or logs.")
]
Results = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="PATH",
        parser=a_path,
        help="Results folder; default law/ in the first PATH.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the runs; create nothing.")]
Retries = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=20, help="Of a run whose endpoint or disk failed it."),
]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show what the user takes from a reply.")]
Cards = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="PATH", parser=a_path, help="Results folder; default calibration/."
    ),
]
ForecastFrom = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Fit the first SHARE, say 0.36; predict the end."),
]
Margins = Annotated[
    list[str] | None,
    typer.Option(metavar="QUANTITY=VALUE", help="Differences too small to matter: gain=0.05."),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Say of each run how its numbers were got.")
]
PoolUnlike = Annotated[
    bool, typer.Option("--pool-unlike", help="Pool runs measured in different ways.")
]
WithUnfinished = Annotated[
    bool, typer.Option("--with-unfinished", help="Pool runs that have not come to their end.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks; with any command.")]


class OnFailure(StrEnum):
    """What a sweep does once a run has failed."""

    CONTINUE = "continue"
    STOP = "stop"


OnFailureOption = Annotated[
    OnFailure, typer.Option("--on-failure", help="Go on after a failed run, or start no more.")
]


class Events(StrEnum):
    """Form of the events on stdout."""

    JSONL = "jsonl"


class Figures(StrEnum):
    """Which figures are drawn."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


EventsOption = Annotated[
    Events | None, typer.Option("--events", help="Write machine-readable events on stdout.")
]
