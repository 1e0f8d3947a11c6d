"""Commands on a question: plan the seeds that decide it, and run a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

EffectOption = Annotated[
    str,
    typer.Option(
        "--effect",
        metavar="QUANTITY=VALUE",
        help="Difference to detect: gain, final_reward, entropy_lost, ceiling, or a (as a share).",
    ),
]
PilotOption = Annotated[
    Path | None,
    options.path(
        "--from",
        "PATH",
        "Pilot: finished runs of these levels, at least two seeds each, for the spread.",
    ),
]
PowerOption = Annotated[
    float,
    typer.Option("--power", metavar="P", help="Probability of detecting the difference."),
]
PlanResults = Annotated[
    Path | None,
    options.path(
        "--out",
        "PATH",
        "Folder for plan.json and the power figure; by default nothing is written.",
    ),
]
StudyName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        show_default=False,
        help="Study to run (a file in sweeps/studies/); omit to list them with their questions.",
    ),
]
StudyDir = Annotated[
    Path | None,
    options.path(
        "--dir",
        "PATH",
        "Folder of the runs; by default runs/study-NAME-HASH. Created if it does not exist.",
    ),
]
Beside = Annotated[
    Path | None,
    options.path(
        "--beside",
        "PATH",
        "Folder of the same study with other users, to show its effects alongside.",
    ),
]


def plan(
    overrides: options.Overrides = None,
    effect: EffectOption = "gain=0.05",
    pilot: PilotOption = None,
    power: PowerOption = 0.8,
    out: PlanResults = None,
    primary: options.Primary = None,
    formats: options.PictureFormat = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute how many seeds detect a difference of levels.

    Also computes what these seeds cost. Trains nothing. The spread comes from a pilot, or from
    shipped runs of the tabular policy.
    Example: harness plan policy=tabular difficulty=easy,hard --effect gain=0.05
    """
    from harness.cli import plan as command

    opts = command.PlanOptions(
        tuple(overrides or ()), effect, pilot, power, out, as_json, primary, tuple(formats or ())
    )
    command.plan(opts)


def study(
    name: StudyName = "",
    overrides: options.Overrides = None,
    folder: StudyDir = None,
    beside: Beside = None,
    dry_run: options.DryRun = False,
    formats: options.PictureFormat = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a preregistered study and judge its hypotheses.

    Example: harness study does_collapse_explain 'seed=range(1,11)'
    """
    from harness.cli import study as command

    opts = command.StudyOptions(
        name, tuple(overrides or ()), folder, as_json, dry_run, beside, tuple(formats or ())
    )
    raise typer.Exit(command.study(opts))
