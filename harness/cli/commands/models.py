"""Commands that take the trained model out of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

ExportedRun = Annotated[
    Path, typer.Argument(metavar="RUN", parser=options.a_path, help="Folder of a run.")
]
NewFolder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", parser=options.a_path, help="Folder for the model, new or empty."
    ),
]
KeptStep = Annotated[
    int | None,
    typer.Option("--step", metavar="N", min=1, help="A step whose checkpoint was kept.",
                 show_default="the last"),
]  # fmt: skip
Merge = Annotated[
    bool,
    typer.Option("--merge", help="Add adapters to their model and write whole weights."),
]


def export(
    run: ExportedRun, new_folder: NewFolder, step: KeptStep = None, merge: Merge = False
) -> None:
    """Write the policy of a run as a Hugging Face folder, with a model card.

    transformers loads it without harness. Of a run that trains adapters, the adapters are written.
    Example: harness export runs/one exported
    """
    from harness.cli import export as command

    command.export(command.Wanted(run, new_folder, step, merge))
