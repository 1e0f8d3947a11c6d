"""The answer of an analysis on a terminal: twelve lines for three levels and two policies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.law.group_results import Analysis, SeedMean
from harness.law.io import typed_words
from harness.law.io.typed_words import Typed
from harness.law.result_parts import AnchorRewards
from harness.law.results import Onset
from harness.report.text import answer, answer_lines, dropped_rows, wording
from harness.report.text.answer import FOLLOW, AnswerRow
from harness.utils.safe_text import text
from harness.utils.terminal import shorten_middle

ROOMY = 78
"""Width of a terminal, in characters, from which a row is one line."""
LONGEST_NAME = 26
MOST_ROWS = 40
SAME_BATCH = "same batch:"
"""Precedes a verdict on the reward of H's own batch, where the law is expected to fit."""
HEADINGS = (
    ("", ("",)),
    ("reward", ("gain,", "end")),
    ("deaf, random,", ("attentive",)),
    ("entropy, nats", ("lost,", "to noise")),
    ("collapse", ("from step",)),
    ("law", ("holds",)),
)
"""Heading of each column and of its numbers. The third column names its reference policies."""


def print_answer(
    analysis: Analysis,
    out: Path,
    picture: Path | None,
    console: Console,
    typed: Typed = typed_words.sweep_overrides,
) -> None:
    """Print the answer.

    `out` is the folder of the results, `picture` the figure to look at first. `typed` returns the
    overrides of a run, for the commands that are printed.
    """
    rows = answer.rows(analysis)
    parts = (answer_lines.heading(analysis), answer_lines.intervals(rows))
    print_line(console, "; ".join(filter(None, parts)), "bold")
    left_out = (*answer_lines.unfinished(analysis), *answer_lines.unread(analysis))
    for line in (*left_out, *dropped_rows.ended_by_rule(analysis)):
        print_line(console, line)
    if rows:
        console.print(table(rows, console.width >= ROOMY))
    for line in answer_lines.open_questions(analysis, rows, typed):
        print_line(console, line)
    if picture is not None:
        print_line(console, f"picture: {picture}")
    elif rows:
        print_line(console, f"results: {out}")


def print_line(console: Console, line: str, style: str = "") -> None:
    console.print(text(line, style), soft_wrap=True)


def table(rows: Sequence[AnswerRow], roomy: bool) -> Table:
    """Return a table with a row per group. If not `roomy`, each number of a cell has a line."""
    answer_table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    separator = " " if roomy else "\n"
    for heading, numbers in HEADINGS:
        answer_table.add_column(text_of((heading, separator.join(numbers)), "\n"), overflow="fold")
    for row, name in zip(rows, _names(rows[:MOST_ROWS]), strict=False):
        cells = (
            [name, f"x{row.seeds}"],
            [_gain(row), _number(row.end)],
            _references(row.anchors),
            [_number(row.fall), _noise(row.noise)],
            _collapse(row.onsets),
            _law(row),
        )
        answer_table.add_row(*(text_of(cell, separator) for cell in cells))
    if len(rows) > MOST_ROWS:
        answer_table.add_row(text(f"{len(rows) - MOST_ROWS} more in law.csv"))
    return answer_table


def _names(rows: Sequence[AnswerRow]) -> list[str]:
    """Return the groups' names, shortened unless two would become equal."""
    short = [shorten_middle(row.name, LONGEST_NAME) for row in rows]
    return [
        row.name if short.count(name) > 1 else name for row, name in zip(rows, short, strict=True)
    ]


def text_of(parts: Sequence[str], separator: str) -> Text:
    """Join the parts that are not empty, each shown literally."""
    lines = "\n".join(part for part in parts if part).split("\n")
    return Text(separator).join(text(line) for line in lines)


def _gain(row: AnswerRow) -> str:
    if row.gain.mean is None:
        return "-"
    return f"{'+' if row.gain.mean >= 0 else ''}{_number(row.gain)}{_half(row.gain)}"


def _number(value: SeedMean) -> str:
    return "-" if value.mean is None else _short(value.mean)


def _short(value: float) -> str:
    """Return `.42`, to keep a row on one line."""
    return re.sub(r"^(-?)0\.", r"\1.", wording.number(value))


def _half(value: SeedMean) -> str:
    if value.low is None or value.high is None:
        return ""
    return f"±{_short((value.high - value.low) / 2)}"


def _references(anchors: AnchorRewards | None) -> list[str]:
    if anchors is None:
        return ["-"]
    rewards = (anchors.deaf, anchors.random, anchors.attentive)
    return [_short(reward.value) if reward is not None else "-" for reward in rewards]


def _noise(noise: SeedMean | None) -> str:
    return "-" if noise is None or noise.mean is None else f"{_number(noise)}{_half(noise)}"


def _collapse(onsets: Sequence[Onset | None]) -> list[str]:
    """Return `103 [58, 168]` for one run; for several, the first and last onset and a count."""
    collapses = sorted(
        (onset for onset in onsets if onset is not None and onset.is_collapse), key=_step
    )
    if not onsets:
        return ["too short"]
    if len(onsets) == 1:
        first = collapses[0] if collapses else None
        return (
            [f"{first.step:.0f}", wording.step_interval(first.low, first.high)]
            if first
            else ["none"]
        )
    if not collapses:
        return ["none"]
    ends = dict.fromkeys((f"{collapses[0].step:.0f}", f"{collapses[-1].step:.0f}"))
    return ["-".join(ends), f"{len(collapses)}/{len(onsets)}"]


def _step(onset: Onset) -> float:
    return onset.step


def _law(row: AnswerRow) -> list[str]:
    """Return `3/5`, the runs whose reward follows the law, and `1 not`, those whose does not.

    The other runs are undetermined.
    """
    follow = sum(verdict in FOLLOW for verdict in row.verdicts)
    others = sum(verdict not in (*FOLLOW, "undetermined") for verdict in row.verdicts)
    counts = [f"{follow}/{len(row.verdicts)}", *([f"{others} not"] if others else [])]
    return [SAME_BATCH, *counts] if row.same_batch else counts
