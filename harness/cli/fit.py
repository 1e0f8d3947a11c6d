"""The fit-entropy-law command: analyse, write the results, print them, and judge the outcome.

Results are written before anything is printed: `head` may close stdout.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.cli import exit_codes, options, run_words
from harness.errors import EXIT_PARTIAL, ConfigError, DataError, PlugInError
from harness.law import analysis
from harness.law.compare.claims import parse_margins as parse_margins
from harness.law.compare.families import check_primary
from harness.law.group_results import Analysis
from harness.law.io.discover import is_folder
from harness.report import formats, write
from harness.report.formats import Formats
from harness.report.tables import answer, summary
from harness.report.text import dropped_rows
from harness.utils import process_pool, safe_text


@dataclass(frozen=True)
class FitOptions:
    """Arguments of the command."""

    paths: tuple[Path, ...]
    out: Path | None
    reward: str | None
    entropy: str | None
    figures: str
    pool_unlike: bool
    forecast_from: float | None = None
    margins: tuple[str, ...] = ()
    """QUANTITY=VALUE: how small a difference between groups counts as none."""
    with_unfinished: bool = False
    """Whether runs that have not come to their end are in means and contrasts too."""
    step: str | None = None
    reward_range: str | None = None
    """LOW,HIGH"""
    primary: str | None = None
    """The quantity that bears most of the error of the contrasts."""
    style: str = "screen"
    formats: tuple[str, ...] = ()
    """Words of --format; those of the style where there are none."""
    tables: bool = False
    """Whether all tables are printed, before the answer."""


def fit(opts: FitOptions, *, as_json: bool, explain: bool, pool: Executor | None = None) -> int:
    """Fit the runs. Return 0; 3 if a run could not be read; 65, with nothing written, if none
    could.

    The processes of `pool` help. Raises ConfigError for a column without a name, a share outside 0
    to 1 or an `out` that is a run or a file, StorageError if nothing can be written.
    """
    _refuse_no_name("--reward", opts.reward)
    _refuse_no_name("--entropy", opts.entropy)
    _refuse_no_name("--step", opts.step)
    _refuse_no_share("--forecast-from", opts.forecast_from)
    margins = parse_margins(opts.margins)
    check_primary(opts.primary)
    reward_range = options.reward_range(opts.reward_range)
    kinds = formats.formats(opts.style, opts.formats)
    default = default_out(opts.paths)
    _refuse_run(opts.out or default)
    out = options.results_folder(opts.out, default)
    analysed = analysis.analyse(
        opts.paths,
        reward=opts.reward,
        entropy=opts.entropy,
        step=opts.step,
        forecast_from=opts.forecast_from,
        pool_unlike=opts.pool_unlike,
        pool=pool,
        margins=margins,
        with_unfinished=opts.with_unfinished,
        reward_range=reward_range,
        primary=opts.primary,
    )
    code = _exit_code(analysed)
    print_options = _PrintOptions(as_json, opts.tables, explain, out)
    if code == DataError.exit_code:
        _print(analysed, print_options, None)
        safe_text.say("no run could be read, so nothing was written")
        return code
    # in a smaller analysis, no other process has begun anything
    is_large = len(analysed.runs) >= process_pool.FEWEST_RUNS
    figures = write.begin_figures(analysed, opts.figures, pool if is_large else None, kinds)
    missing = _write(analysed, out, figures, kinds)
    _print(analysed, print_options, _first_picture(out, kinds) if opts.figures != "none" else None)
    hint = "" if as_json or opts.tables else "; a, b and the ceiling of each run: --tables"
    safe_text.say(f"results in {out}{hint}")
    if missing is not None:
        raise missing
    return code


def _write(
    analysed: Analysis, out: Path, figures: write.Drawn, kinds: Formats
) -> PlugInError | None:
    """Write the results. Return the error of a plug-in, which is raised after the results are
    printed.
    """
    try:
        write.write_analysis(analysed, out, figures, kinds)
    except PlugInError as error:
        return error
    return None


FIRST_FIGURES = ("entropy_curves", "entropy_law")
"""The first of them that was drawn is the one to look at: it shows where collapse begins."""


def _first_picture(out: Path, kinds: Formats) -> Path | None:
    names = [f"{figure}.{kind}" for figure in FIRST_FIGURES for kind in kinds.pictures]
    return next((out / name for name in names if (out / name).is_file()), None)


@dataclass(frozen=True)
class _PrintOptions:
    """The parts of an analysis that are printed."""

    as_json: bool
    tables: bool
    explain: bool
    out: Path


def _print(analysed: Analysis, opts: _PrintOptions, picture: Path | None) -> None:
    for line in dropped_rows.lines(analysed):
        safe_text.say(line)
    with exit_codes.tolerate_closed_stdout():
        if opts.as_json:
            print(write.law_json(analysed), end="")
            return
        console = Console()
        if opts.tables or opts.explain:
            summary.print_analysis(analysed, console, opts.explain, run_words.of_run)
        answer.print_answer(analysed, opts.out, picture, console, run_words.of_run)


def default_out(paths: tuple[Path, ...]) -> Path:
    """Return law/ inside the first path if that is an accessible folder, else law/ in the current
    folder.
    """
    is_inside = is_folder(paths[0]) and os.access(paths[0], os.X_OK)
    return paths[0] / "law" if is_inside else Path("law")


def _refuse_no_name(option: str, column: str | None) -> None:
    if column == "":
        raise ConfigError(f"{option}: must name a column of metrics.jsonl, got {column!r}")
    try:
        (column or "").encode()
    except UnicodeEncodeError as error:  # as Python has bytes that it could not read
        raise ConfigError(f"{option}: must name a column in UTF-8, got {column!r}") from error


def _refuse_no_share(option: str, share: float | None) -> None:
    if share is not None and not 0 < share < 1:
        rule = "must be a share of each run, above 0 and below 1"
        raise ConfigError(f"{option}: {rule}, got {share:g}")


def _refuse_run(out: Path) -> None:
    """Raise ConfigError if `out` is a run: with a law.json in it, a later fit would take it for
    results and skip it.
    """
    if (out / "run.json").exists() or (out / "metrics.jsonl").exists():
        rule = "must not be the folder of a run, since later fits would skip the run"
        raise ConfigError(f"--out: {rule}; got the run {str(out)!r}")


def _exit_code(analysed: Analysis) -> int:
    readable = [run.status == "ok" for run in analysed.runs]
    if not any(readable):
        return DataError.exit_code
    return 0 if all(readable) else EXIT_PARTIAL
