"""Commands that make pages to read and to send."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.commands.results import Entropy, Reward, RewardRange, Step

File = Annotated[
    Path | None,
    options.path(
        "--out", "FILE.html", "File to write; by default report.html inside the first PATH."
    ),
]


def report(
    paths: options.Logs,
    out: File = None,
    as_json: options.AsJson = False,
    reward: Reward = None,
    entropy: Entropy = None,
    step: Step = None,
    reward_range: RewardRange = None,
) -> None:
    """Write runs, a sweep or a study to one HTML report.

    Contains the answer, tables, figures, cards, config and conversations; needs no network.
    Example: harness report runs/20261121-070837-x7 --out sweep.html
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported
    from harness.execution import gpu_lease
    from harness.utils import process_pool

    with process_pool.worker_pool(gpu_lease.cores()) as pool:
        if process_pool.likely_many(paths):
            process_pool.prepare(pool, "harness.law.analysis")
        from harness.cli import report as command

        opts = command.ReportOptions(tuple(paths), out, reward, entropy, step, reward_range)
        raise typer.Exit(command.report(opts, as_json=as_json, pool=pool))
