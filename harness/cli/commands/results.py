"""Commands that read the results of runs."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


class Figures(StrEnum):
    """Which figures are drawn."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


class FigureStyle(StrEnum):
    """The medium that figures are drawn for."""

    SCREEN = "screen"
    PAPER = "paper"


Results = Annotated[
    Path | None,
    options.path("--out", "PATH", "Results folder; by default law/ inside the first PATH."),
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
Tables = Annotated[
    bool, typer.Option("--tables", help="Also print all tables, which are always written to files.")
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Explain how each run's numbers and verdict were obtained."),
]
FiguresOption = Annotated[
    Figures,
    typer.Option(
        "--figures",
        help="auto: each run up to 24 runs, else medians over runs; all: also each run.",
    ),
]
StyleOption = Annotated[
    FigureStyle,
    typer.Option("--style", help="paper: figures at column width, without titles, and tables."),
]
FormatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="KIND",
        show_default=False,
        help="Some of png, svg, pdf, tex, md; by default png,svg, and pdf,tex,md for a paper.",
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
        metavar="QUANTITY=VALUE",
        help="Largest difference that counts as equivalent, such as gain=0.05.",
    ),
]
PoolUnlike = Annotated[
    bool,
    typer.Option("--pool-unlike", help="Also average over runs that were measured differently."),
]
WithUnfinished = Annotated[
    bool, typer.Option("--with-unfinished", help="Include unfinished runs in averages.")
]
Once = Annotated[bool, typer.Option("--once", help="Check once and exit.")]
Steps = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Last step, for a log that does not state it."),
]
Idle = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0.0,
        help="Time without growth after which another program's log counts as ended.",
    ),
]
On = Annotated[
    str,
    typer.Option(
        "--on", metavar="LEVEL", help="Level of the evaluations: own, easy, medium or hard."
    ),
]
HalfWidth = Annotated[
    float,
    typer.Option("--half-width", metavar="X", help="Target half-width of the 95% interval."),
]


def fit_entropy_law(
    paths: options.Logs,
    as_json: options.AsJson = False,
    out: Results = None,
    reward: Reward = None,
    entropy: Entropy = None,
    step: Step = None,
    explain: Explain = False,
    figures: FiguresOption = Figures.AUTO,
    style: StyleOption = FigureStyle.SCREEN,
    formats: FormatOption = None,
    forecast_from: ForecastFrom = None,
    pool_unlike: PoolUnlike = False,
    margin: Margins = None,
    with_unfinished: WithUnfinished = False,
    reward_range: RewardRange = None,
    primary: options.Primary = None,
    tables: Tables = False,
) -> None:
    """Fit the law R = -a exp(H) + b and compare groups of runs.

    Every run at or below PATH gets intervals, the onset of collapse and a verdict on the law;
    tables and figures go to the results folder.
    Example: harness fit-entropy-law runs/ --style paper --out paper/
    """
    # before numpy is imported: its arrays are short here, and the processes share the cores
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from harness.execution import gpu_lease
    from harness.utils import process_pool

    with process_pool.worker_pool(gpu_lease.cores()) as pool:
        if process_pool.likely_many(paths):  # the others import what this process does, meanwhile
            drawing = "harness.report.figures.matplotlib_loader"
            figure_modules = () if figures is Figures.NONE else (drawing,)
            process_pool.prepare(pool, "harness.law.analysis", *figure_modules)
        from harness.cli import fit

        opts = fit.FitOptions(
            tuple(paths), out, reward, entropy, figures.value, pool_unlike, forecast_from,
            tuple(margin or ()), with_unfinished, step, reward_range, primary,
            style.value, tuple(formats or ()), tables,
        )  # fmt: skip
        raise typer.Exit(fit.fit(opts, as_json=as_json, explain=explain, pool=pool))


def watch(
    paths: options.Logs,
    once: Once = False,
    as_json: options.AsJson = False,
    events: options.EventsOption = None,
    reward: Reward = None,
    entropy: Entropy = None,
    step: Step = None,
    steps: Steps = None,
    reward_range: RewardRange = None,
    idle: Idle = 600.0,
) -> None:
    """Follow logs; say when a run has nothing more to gain.

    Ends when every run has ended; with --json, checks once. Example: harness watch runs/one
    """
    from harness.cli import watch as command

    command.watch_words(
        tuple(paths), (reward, entropy, step), steps, reward_range, idle,
        once=once, as_json=as_json, as_events=events is not None,
    )  # fmt: skip


def diagnose(paths: options.Logs, as_json: options.AsJson = False) -> None:
    """Diagnose which of three mechanisms has gone wrong.

    Exploration (nothing left to learn from), reliability (facts are lost) and direction (advice
    where comfort is wanted): each gets a flag with a 95% interval, or "not measured", in every run.
    Example: harness diagnose runs/
    """
    from harness.cli import diagnose as command

    raise typer.Exit(command.diagnose(tuple(paths), as_json=as_json))


def variance(
    paths: options.OurRuns,
    as_json: options.AsJson = False,
    on: On = "own",
    half_width: HalfWidth = 0.05,
) -> None:
    """Split the variance of reward into its components.

    Components are seed, user, repeat, level and simulator. Also reports the cheapest numbers of
    seeds, users and repeats for a given half-width, and the conversations per step that keep
    noise below a tenth of the fall of entropy.
    Example: harness variance runs/ --half-width 0.03
    """
    from harness.cli import variance as command

    command.variance(tuple(paths), on, half_width, as_json=as_json)


def verify(path: options.AnyRuns, as_json: options.AsJson = False) -> None:
    """Check that the files of runs are undamaged.

    Checks metrics, checkpoints, config, start model and conversations, and changes nothing. Exit
    code: 0 if all runs are undamaged, 3 if some are damaged, 65 if all are or there are none.
    """
    from harness.cli import verify as command

    raise typer.Exit(command.verify(path, as_json=as_json))
