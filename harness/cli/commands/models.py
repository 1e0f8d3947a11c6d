"""Commands on the trained policy of a run: probe it, export it."""

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
    typer.Option("--step", metavar="N", min=1, help="Training step whose checkpoint was kept.",
                 show_default="the last"),
]  # fmt: skip
Merge = Annotated[
    bool,
    typer.Option("--merge", help="Merge LoRA adapters into their model and write full weights."),
]

ProbeName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Probe: alliance, drift, grounding, novelty, reliability, understanding or width.",
    ),
]
ProbedRun = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", parser=options.a_path, help="Folder of a run, or of an exported model."
    ),
]
Along = Annotated[
    bool, typer.Option("--along", help="Probe every kept checkpoint, not only the last.")
]
Against = Annotated[
    str,
    typer.Option("--against", metavar="start|PATH",
                 help="Policy to compare with: the start policy, or the one in a folder."),
]  # fmt: skip
Users = Annotated[
    int | None,
    typer.Option("--users", metavar="N", min=3, max=4096, show_default="64",
                 help="Held-out users per level."),
]  # fmt: skip
Repeats = Annotated[
    int | None,
    typer.Option("--repeats", metavar="N", min=1, max=256, show_default="32 for width, else 4",
                 help="Conversations with each user."),
]  # fmt: skip
Items = Annotated[
    Path | None,
    options.path(
        "--items", "FILE", "Questions of the reliability probe (JSONL); by default those shipped."
    ),
]
First = Annotated[
    int | None,
    typer.Option("--first", metavar="N", min=3, show_default="all",
                 help="Ask only the first N questions of the reliability probe."),
]  # fmt: skip
ProbeResults = Annotated[
    Path | None, options.path("--out", "PATH", "Results folder; by default PATH/probes/NAME.")
]


def probe(
    name: ProbeName,
    run: ProbedRun,
    step: KeptStep = None,
    along: Along = False,
    against: Against = "start",
    users: Users = None,
    repeats: Repeats = None,
    items: Items = None,
    first: First = None,
    out: ProbeResults = None,
    picture_format: options.PictureFormat = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure what training has made of a policy.

    Observes it in new conversations, or asks fixed questions. Compares it with its start
    policy, or another policy, on the same random draws.
    Example: harness probe grounding runs/one
    """
    from harness.cli import probe as command

    words = tuple(picture_format or ())
    arguments = (name, run, step, along, against, users, repeats, items, first)
    raise typer.Exit(command.probe(command.ProbeOptions(*arguments, out, as_json, words)))


def export(
    run: ExportedRun, new_folder: NewFolder, step: KeptStep = None, merge: Merge = False
) -> None:
    """Export the policy of a run as a Hugging Face folder.

    The folder has a model card, and transformers loads it without harness. Adapters are
    exported by themselves, unless --merge.
    Example: harness export runs/one exported
    """
    from harness.cli import export as command

    command.export(command.ExportOptions(run, new_folder, step, merge))
