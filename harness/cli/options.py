"""Options and arguments that several commands take, and checks of what is given with them.

`harness --help` loads this module: it imports nothing but typer and harness.errors.
"""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.errors import ConfigError


def a_path(text: str) -> Path:
    """Raise BadParameter for '', which pathlib would take for the current folder."""
    if not text:
        raise typer.BadParameter("must name a file or a folder, got ''")
    return Path(text)


def path(name: str, metavar: str, help_text: str) -> Any:
    """Return an option that names a file or a folder."""
    return typer.Option(name, metavar=metavar, parser=a_path, help=help_text)


class Events(StrEnum):
    """Format of the events on stdout."""

    JSONL = "jsonl"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value to stdout.")]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error; works with any command.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        show_default=False,
        help="Config overrides. a,b,c, 'range(1,4)', 'choice(a,b)' and 'glob(*)' sweep a key.",
    ),
]
RunOrSweep = Annotated[
    Path,
    typer.Argument(metavar="DIR", parser=a_path, help="Folder of a run or a sweep."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List the planned runs without creating anything.")
]
EventsOption = Annotated[
    Events | None, typer.Option("--events", help="Write machine-readable events to stdout.")
]
AnyRuns = Annotated[
    Path,
    typer.Argument(metavar="PATH", parser=a_path, help="A run, a sweep, or a folder of them."),
]
Logs = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        parser=a_path,
        help="Runs, sweeps, folders of them, or logs of other trainers.",
    ),
]
OurRuns = Annotated[
    list[Path],
    typer.Argument(metavar="PATH", parser=a_path, help="Runs, sweeps, or folders of them."),
]
Primary = Annotated[
    str | None,
    typer.Option(
        "--primary",
        metavar="QUANTITY",
        help="Primary quantity of contrasts: a, ceiling (default), onset, gain or fall.",
    ),
]

PictureFormat = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="KIND",
        show_default=False,
        help="File formats of the picture: any of png, svg, pdf; by default png,svg.",
    ),
]


def nothing_given(context: typer.Context) -> bool:
    """Return whether the command was typed without arguments and options."""
    return all(
        getattr(context.get_parameter_source(name), "name", None) in ("DEFAULT", None)
        for name in context.params
    )


def reward_range(text: str | None) -> tuple[float, float] | None:
    """The lowest and the highest reward in `LOW,HIGH`. Raises ConfigError for anything else."""
    if text is None:
        return None
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        low, high = 0.0, 0.0
    if not (low < high and math.isfinite(low) and math.isfinite(high)):
        rule = "must be the lowest and the highest value that R can take, such as 0,1"
        raise ConfigError(f"--reward-range: {rule}, got {text!r}")
    return low, high


def results_folder(chosen: Path | None, default: Path) -> Path:
    """Return the results folder of --out, which may be a link, else `default`, which may not.

    It is created after the work: an empty one could pass for results. Raises ConfigError or
    StorageError if it cannot be created or written to.
    """
    if chosen is None and default.is_symlink():
        rule = "must not be a link unless it is named with --out"
        target = default.readlink()
        raise ConfigError(f"{default}: {rule}, got one to {target}; name a folder with --out")
    out = chosen or default
    _refuse_unwritable(out)
    return out.resolve() if out.is_symlink() else out


def _refuse_unwritable(out: Path) -> None:
    from harness.records import atomic

    nearest = next(path for path in (out, *out.parents) if os.path.lexists(path))
    if not nearest.is_dir():
        rule = f"must name a folder that exists or can be created, and {str(nearest)!r} is not one"
        raise ConfigError(f"--out: {rule}; got {str(out)!r}: name another")
    with atomic.storage_errors(out):
        atomic.probe(nearest)
