"""The plan command: what would decide a stated difference, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.cli import exit_codes, options
from harness.errors import ConfigError
from harness.planning import answer as answers
from harness.planning import show, study_file, task
from harness.planning.answer import PlanResult
from harness.report import formats, write
from harness.report.figures import power
from harness.utils import safe_text

MOST_POWER = 0.99
LEAST_POWER = 0.5


@dataclass(frozen=True)
class PlanOptions:
    """Arguments of the command."""

    overrides: tuple[str, ...]
    effect: str = task.DEFAULT_EFFECT
    pilot: Path | None = None
    power: float = 0.8
    out: Path | None = None
    as_json: bool = False
    primary: str | None = None
    """The quantity that bears most of the error of the contrasts to come."""
    formats: tuple[str, ...] = ()
    """Words of --format."""


def plan(opts: PlanOptions) -> None:
    """Print the plan; with --out write it with its figure.

    Raises ConfigError for a question that cannot be answered, DataError for a pilot without a
    finished run.
    """
    if not LEAST_POWER <= opts.power <= MOST_POWER:
        rule = f"must be a probability from {LEAST_POWER:g} to {MOST_POWER:g}"
        raise ConfigError(f"--power: {rule}, got {opts.power:g}")
    pictures = formats.pictures(opts.formats)
    if opts.formats and opts.out is None:
        rule = "needs --out, since pictures are written only to a folder"
        raise ConfigError(f"--format: {rule}, got {','.join(opts.formats)}")
    out = options.results_folder(opts.out, opts.out) if opts.out else None
    effect = task.parse_effect(opts.effect)
    task.check_primary(opts.primary, effect)
    question = answers.PlanRequest(opts.overrides, effect, opts.pilot, opts.power, opts.primary)
    result = answers.make_plan(question)
    if out is not None:
        _write(result, out, pictures)
    with exit_codes.tolerate_closed_stdout():
        if opts.as_json:
            print(json.dumps(result.to_json(), indent=1, allow_nan=False))
        else:
            show.show(result, Console(), out)
    if out is not None:
        safe_text.say(f"results in {out}")


def _write(result: PlanResult, out: Path, pictures: Sequence[str]) -> None:
    if result.planned is None:
        write.write_plan(result.to_json(), None, out, {}, pictures)
        return
    title = f"{result.effect.quantity}: {' against '.join(result.levels)}"
    curves = power.curves(result.curve)
    seeds = result.planned.design.seeds
    write.write_plan(
        result.to_json(),
        power.PowerPlot(title, result.effect.unit, tuple(curves), seeds, result.wanted),
        out,
        {} if result.study is None else {study_file.FILE: result.study},
        pictures,
    )
