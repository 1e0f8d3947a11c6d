"""Options and arguments of the commands, with their help, and the values they take.

`harness --help` loads this module: it imports nothing but typer and harness.errors.
"""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.errors import ConfigError


def a_path(text: str) -> Path:
    """Raises BadParameter for '', which pathlib takes for the current folder."""
    if not text:
        raise typer.BadParameter("must name a file or a folder, got ''")
    return Path(text)


class OnFailure(StrEnum):
    """Behaviour of a sweep once a run has failed."""

    CONTINUE = "continue"
    STOP = "stop"


class Events(StrEnum):
    """Format of the events on stdout."""

    JSONL = "jsonl"


class Figures(StrEnum):
    """Which figures are drawn."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


# Any command

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

# sweep, train, resume

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List the planned runs without creating anything.")
]
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
RunDir = Annotated[
    Path, typer.Option("--dir", help="Folder of the run; created if it does not exist.")
]
EventsOption = Annotated[
    Events | None, typer.Option("--events", help="Write machine-readable events to stdout.")
]

StopAgain = Annotated[
    bool,
    typer.Option(
        "--stop-again", help="Obey trainer.stop_when also in a run that it has ended before."
    ),
]

# view

ViewedRun = Annotated[
    Path, typer.Argument(metavar="RUN", parser=a_path, help="Folder of a run; it may be running.")
]
SavedStep = Annotated[
    int | None,
    typer.Option("--step", metavar="N", min=1, help="A step whose conversations were saved.",
                 show_default="the last"),
]  # fmt: skip
ViewedLevel = Annotated[
    str | None, typer.Option("--level", metavar="NAME", help="Only conversations at this level.")
]
Worst = Annotated[bool, typer.Option("--worst", help="From the lowest reward on.")]
Best = Annotated[bool, typer.Option("--best", help="From the highest reward on.")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, help="Number of conversations.",
                 show_default="3, all with --json"),
]  # fmt: skip
AsJsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a conversation, each on a line.")
]

# verify, fit-entropy-law

AnyRuns = Annotated[
    Path,
    typer.Argument(metavar="PATH", parser=a_path, help="A run, a sweep, or a folder of them."),
]
Logs = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH", parser=a_path, help="Runs, sweeps, folders of them, or logs of trainers."
    ),
]
Results = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="PATH",
        parser=a_path,
        help="Results folder; by default law/ inside the first PATH.",
    ),
]
Reward = Annotated[str | None, typer.Option("--reward", help="Column to use as reward R.")]
RewardRange = Annotated[
    str | None,
    typer.Option(
        "--reward-range",
        metavar="LOW,HIGH",
        help="Lowest and highest value that R can take, such as 0,1.",
    ),
]
Entropy = Annotated[str | None, typer.Option("--entropy", help="Column to use as entropy H.")]
Step = Annotated[str | None, typer.Option("--step", help="Column to use as the step.")]
Explain = Annotated[
    bool, typer.Option("--explain", help="Explain how each run's numbers and verdict came about.")
]
FiguresOption = Annotated[
    Figures,
    typer.Option(
        "--figures", help="auto: each run up to 24 runs, groups beyond; all: also each run."
    ),
]
ForecastFrom = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Fit the first SHARE of each run, such as 0.36, and predict its end."
    ),
]
Margins = Annotated[
    list[str] | None,
    typer.Option(
        metavar="QUANTITY=VALUE", help="Largest difference that counts as none, as in gain=0.05."
    ),
]
PoolUnlike = Annotated[
    bool,
    typer.Option("--pool-unlike", help="Average also over runs that were measured differently."),
]
WithUnfinished = Annotated[
    bool, typer.Option("--with-unfinished", help="Include unfinished runs in averages.")
]

# report

ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE.html",
        parser=a_path,
        help="The file to write; by default report.html inside the first PATH.",
    ),
]

# watch

Once = Annotated[bool, typer.Option("--once", help="Look once and end.")]
Steps = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Last step of a log that does not say it."),
]
Idle = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0.0,
        help="Count such a log as ended once it has not grown for so long.",
    ),
]

# variance

On = Annotated[
    str,
    typer.Option(
        "--on", metavar="LEVEL", help="Level of the evaluations: own, easy, medium or hard."
    ),
]
HalfWidth = Annotated[
    float,
    typer.Option(
        "--half-width", metavar="X", help="Half-width of the 95% interval to plan sizes for."
    ),
]

EffectOption = Annotated[
    str,
    typer.Option(
        "--effect",
        metavar="QUANTITY=VALUE",
        help="Difference to decide: gain, final_reward, entropy_lost, ceiling, or a (as a share).",
    ),
]
PilotOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="PATH",
        parser=a_path,
        help="Finished runs of these levels, two seeds each at least, that show the spread.",
    ),
]
PowerOption = Annotated[
    float,
    typer.Option("--power", metavar="P", help="Probability with which it should be decided."),
]
PlanResults = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="PATH",
        parser=a_path,
        help="Folder for plan.json and the figure of power; without it nothing is written.",
    ),
]

# calibrate, chat, study, trust

Cards = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="PATH", parser=a_path, help="Results folder; by default calibration/."
    ),
]
Esconv = Annotated[
    Path | None,
    typer.Option(
        "--esconv",
        metavar="FILE",
        parser=a_path,
        help="Measure instead how the strategies of a file of ESConv are heard.",
    ),
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Also show the user's goal and why their emotion changed.")
]
StudyName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        show_default=False,
        help="Study to run (a file in sweeps/studies/); omit to see their names.",
    ),
]
StudyDir = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        metavar="PATH",
        parser=a_path,
        help="Folder of the runs; by default runs/study-NAME-HASH. Created if it does not exist.",
    ),
]
Beside = Annotated[
    Path | None,
    typer.Option(
        "--beside",
        metavar="PATH",
        parser=a_path,
        help="Folder of the same study on other users; its effects are shown beside these.",
    ),
]
Host = Annotated[
    str | None,
    typer.Argument(metavar="HOST", help="Host of the base_url, with its port if it has one."),
]
Variable = Annotated[
    str | None,
    typer.Argument(metavar="VARIABLE", help="Environment variable that holds the key."),
]
Remove = Annotated[bool, typer.Option("--remove", help="Withdraw the permission.")]


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


def results_folder(named: Path | None, default: Path) -> Path:
    """Return the results folder of --out, which may be a link, else `default`, which may not.

    It is created after the work: an empty one could pass for results. Raises ConfigError or
    StorageError if it cannot be created or written to.
    """
    if named is None and default.is_symlink():
        rule = "results are not written through a link that nobody named"
        to = default.readlink()
        raise ConfigError(f"{default}: {rule}, got one to {to}; name a folder with --out")
    out = named or default
    _refuse_unwritable(out)
    return out.resolve() if out.is_symlink() else out


def _refuse_unwritable(out: Path) -> None:
    from harness.records import atomic

    nearest = next(path for path in (out, *out.parents) if os.path.lexists(path))
    if not nearest.is_dir():
        rule = f"must name a folder that exists or can be created, and {str(nearest)!r} is not one"
        raise ConfigError(f"--out: {rule}; got {str(out)!r}: name another")
    with atomic.storage(out):
        atomic.probe(nearest)
