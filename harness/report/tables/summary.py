"""An analysis on a terminal: a table by level, then sentences on findings and omissions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.law import advice
from harness.law.group_results import Analysis, GroupResult, SeedMean
from harness.law.io import typed_words
from harness.law.io.typed_words import Typed
from harness.law.results import ColumnLaw, Identifiability, Interval, LawNumbers, Onset, RunResult
from harness.records.outcomes import OWN
from harness.report.tables import contrasts, listening, population, validity
from harness.report.tables.grid import stack_lines
from harness.report.text import (
    alternatives,
    answer_lines,
    dropped_rows,
    explain,
    findings,
    naming,
    wording,
)
from harness.utils import terminal
from harness.utils.safe_text import text

NARROW = {"run": 15, "a": 12, "b": 12, "ceiling": 12, "regime": 10, "verdict": 14}
"""Column -> its width on a narrow terminal; on a wide one, the cells determine the widths."""
WIDE = 100
IN_THE_HEADING = ("difficulty", "remedy", "algorithm.null_control")
"""Axes that the heading of a level already states."""
MOST_ROWS = 40
"""The most runs shown per level; law.csv has all."""
FOOTNOTES = (
    "law: R = -a exp(H) + b; ceiling: b - a, the reward at H = 0; n: rows used",
    "[low, high]: 95% interval; ?: not identified, too uncertain to quote",
    "onset: step at which H collapses; verdict: whether R follows exp(H)",
)


def print_analysis(
    analysis: Analysis,
    console: Console,
    explained: bool,
    typed: Typed = typed_words.sweep_overrides,
) -> None:
    """Print the tables, what was left out, and each level's findings and what would decide it.

    `explained` adds how each number of each run was computed. `typed` returns the overrides of a
    run, for the commands that are printed.
    """
    run_names = naming.names(analysis)
    fitted = [run for run in analysis.runs if run.status == "ok"]
    if fitted:
        console.print(runs_table(analysis, fitted, run_names, console.width))
        _lines(console, (*FOOTNOTES, f"R: {answer_lines.which_reward(fitted)}"), "dim")
    validity.print_validity(*validity.validity_of_runs(fitted), console)
    listening_rows = listening.rows(analysis, (OWN,))
    if listening_rows:
        console.print(listening.table(listening_rows))
        _lines(console, listening.notes(listening_rows), "dim")
    levels = population.order(analysis)
    if levels:
        _lines(console, [population.heading(levels)], "bold")
        console.print(population.table(levels))
        _lines(console, population.FOOTNOTES, "dim")
    _lines(console, dropped_rows.unknown_seeds(analysis))
    _lines(console, dropped_rows.unfinished(analysis, run_names))
    _lines(console, dropped_rows.ended_by_rule(analysis))
    for pair, table in contrasts.blocks(analysis, console.width):
        _lines(console, [pair], "bold")
        console.print(table)
    _lines(console, contrasts.notes(analysis), "dim")
    _lines(console, dropped_rows.unreadable_runs(analysis), "red")
    _lines(console, dropped_rows.omitted_rows(analysis, run_names), "dim")
    _lines(console, alternatives.forecasts(analysis, run_names))
    if explained:
        for run in fitted:
            _lines(console, [f"{run_names[run.run]}:"], "bold")
            _lines(console, (f"  {sentence}" for sentence in explain.explain_run(run)))
    _lines(console, findings.closing(analysis, fitted), "bold")
    _lines(console, advice.what_would_decide(analysis, typed))


def _lines(console: Console, lines: Iterable[str], style: str = "") -> None:
    for line in lines:
        console.print(text(line, style), soft_wrap=True)


def runs_table(
    analysis: Analysis, runs: Sequence[RunResult], run_names: dict[str, str], console_width: int
) -> Table:
    """Return a row per run below the heading of its level, then the mean of each group."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    for name, width in NARROW.items():
        table.add_column(text(name), overflow="fold", width=width if console_width < WIDE else None)
    for level, members in naming.by_level(analysis, runs).items():
        table.add_row(text(level, "bold"))
        for run in members[:MOST_ROWS]:
            name = run_names[run.run]
            lines = terminal.split_name(name, NARROW["run"]) if console_width < WIDE else [name]
            table.add_row(*_cells(run, lines))
            if run.whole_run:
                table.add_row(*_whole_run(run.whole_run), style="dim")
            for column, law in (run.fits or {}).items():
                table.add_row(*_other_law(column, law), style="dim")
        if len(members) > MOST_ROWS:
            table.add_row(stack_lines(f"{len(members) - MOST_ROWS:,} more", "in law.csv"))
        level_runs = {run.run for run in members}
        for group in analysis.groups:
            if _has_own_row(group) and set() < _group_members(group, runs) <= level_runs:
                table.add_row(*_group_cells(group), style="dim")
        table.add_section()
    return table


def _has_own_row(group: GroupResult) -> bool:
    """Return whether the group's row says more than that of its only run."""
    return len(group.runs) > 1 or bool(group.unfinished)


def _group_members(group: GroupResult, runs: Sequence[RunResult]) -> set[str]:
    """Return those of the `runs` that belong to the group."""
    return set(group.all_runs) & {run.run for run in runs}


def _cells(run: RunResult, name: Sequence[str]) -> list[Text]:
    identified = run.identified or Identifiability(a=False, ceiling=False)
    reasons = [wording.without_underscores(reason) for reason in run.reasons or ()]
    return [
        stack_lines(*name, *_rows_of(run), *_same_batch(run), *_status_lines(run)),
        stack_lines(*_interval(run.a, identified.a)),
        stack_lines(*_interval(run.b, identified.a)),
        stack_lines(*_interval(run.ceiling, identified.ceiling)),
        stack_lines(run.regime or "unknown", *_onset(run.onset), *_noise_mark(run)),
        stack_lines(wording.verdict(run.verdict), ", ".join(reasons)),
    ]


def _rows_of(run: RunResult) -> list[str]:
    """Return the number of rows used, and whether these end before the onset."""
    onset_mark = ["before onset"] if run.until is not None else []
    return [f"n = {run.n_fitted}", *onset_mark]


def _same_batch(run: RunResult) -> list[str]:
    return [explain.SAME_BATCH] if run.same_batch else []


def _status_lines(run: RunResult) -> list[str]:
    """Return a mark for an unfinished run, or for one that trainer.stop_when ended."""
    if run.unfinished is not None:
        return ["unfinished:", dropped_rows.status_and_step(run)]
    return [] if run.ended_by_rule is None else ["ended by rule", f"at {run.ended_by_rule}"]


def _noise_mark(run: RunResult) -> list[str]:
    """Return a mark for the onset of a run whose null control explains most of its fall of H."""
    return ["noise driven"] if run.noise_driven and run.onset is not None else []


def _other_law(column: str, law: ColumnLaw) -> list[Text]:
    """Return a row for the law on another reward column of the run above."""
    label = explain.SAME_BATCH if law.same_batch else ""
    return [
        stack_lines(f"on {column}", label),
        *_numbers(law),
        text(""),
        stack_lines(
            wording.verdict(law.verdict), ", ".join(map(wording.without_underscores, law.reasons))
        ),
    ]


def _whole_run(law: LawNumbers) -> list[Text]:
    """Return a row for all rows of a run; the numbers above it are of the rows before the onset."""
    return [stack_lines("whole run", f"n = {law.n_fitted}"), *_numbers(law)]


def _numbers(law: LawNumbers) -> list[Text]:
    """Return a, b and the ceiling of a second law of a run."""
    is_identified = law.identified
    pairs = (
        (law.a, is_identified.a),
        (law.b, is_identified.a),
        (law.ceiling, is_identified.ceiling),
    )
    return [stack_lines(*_interval(number, identified)) for number, identified in pairs]


def _group_cells(group: GroupResult) -> list[Text]:
    """Return a row for a group: mean and 95% interval in the columns of its runs."""
    onset = _pooled_onset(group.onset)
    no_onset = f"none in {group.onset.censored}" if group.onset.censored else ""
    diverged = f"{len(group.diverged)} diverged" if group.diverged else ""
    unknown = "seeds unknown" if group.unknown_seeds else ""
    without_law = f"no law in {len(group.law_fails)}, left out" if group.law_fails else ""
    other_axes = {axis: value for axis, value in group.key.items() if axis not in IN_THE_HEADING}
    axes = wording.group_name(other_axes) if other_axes else ""
    return [
        stack_lines(
            f"mean of {len(group.runs)}",
            axes,
            unknown,
            _left_out_note(len(group.left_out)),
            without_law,
        ),
        stack_lines(*_pooled(group.a)),
        text(""),
        stack_lines(*_pooled(group.ceiling)),
        stack_lines(*onset, no_onset, diverged),
        text(group.why or ""),
    ]


def _left_out_note(count: int) -> str:
    return f"{count} unfinished left out" if count else ""


def _interval(interval: Interval | None, identified: bool) -> list[str]:
    if interval is None:
        return ["-"]
    value, low_high = wording.interval(interval).split(" ", 1)
    return [value + ("" if identified else wording.UNIDENTIFIED), low_high]


def _pooled(mean: SeedMean) -> list[str]:
    return (wording.pooled(mean) or "").split(" ", 1)


def _pooled_onset(onset: SeedMean) -> list[str]:
    if onset.mean is None:
        return []
    value = f"onset {onset.mean:.0f}"
    if onset.low is None or onset.high is None:
        return [value]
    return [value, wording.step_interval(onset.low, onset.high)]


def _onset(onset: Onset | None) -> list[str]:
    if onset is None:
        return ["no onset"]
    return [f"onset {onset.step:.0f}", wording.step_interval(onset.low, onset.high)]
