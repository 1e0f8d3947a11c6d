"""Validity of the users: a sentence on whether they are valid, and a table by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from harness.law.results import RunResult
from harness.records.validity import Validity, merge
from harness.report.text.wording import plural
from harness.utils.safe_text import text

MEASURES = {
    "kind_minus_cruel": "kind minus cruel, six replies",
    "kind_minus_start": "six kind replies minus the start",
    "kind_minus_neutral": "kind minus neutral",
    "natural_minus_low_effort": "natural minus low effort",
    "cruel_heard": "cruel replies heard as hurtful",
    "cruel_rises": "P(rise) after one of six cruel replies",
    "cruel_rises_at_opening": "P(rise) after a cruel first reply",
    "negations_heard": "supportive negations heard as hurtful",
    "kind_words_rise": "P(rise) after cruelty in kind words",
    "gibberish_rises": "P(rise) after gibberish",
    "natural_flagged": "natural replies not taken for language",
    "asked_word_in_answer": "answers with a word from the question's topic",
    "natural_rises": "P(rise) after a natural reply",
    "shuffled_rises": "P(rise) after a natural reply, words shuffled",
    "contradictions": "appraisals that contradict themselves",
    "echoes": "answers that echo the supporter",
    "repeats": "answers that repeat an earlier one",
    "lost": "conversations lost",
}
"""Measure of a level's validity -> name of its row."""
POINTS, SHARES = 1, 2
"""Decimals of points of emotion, and of shares."""


def print_validity(
    levels: Validity, unknown: int, console: Console, all_measures: bool = True
) -> None:
    """Print whether users are valid, and the measures of all levels or only of those not valid.

    `unknown`: the number of runs without a record of validity.
    """
    sentence = finding(levels, unknown)
    if sentence:
        console.print(text(sentence, "bold"), soft_wrap=True)
    measured = {
        name: level_validity
        for name, level_validity in levels.items()
        if level_validity.measured and (all_measures or level_validity.problems)
    }
    if measured:
        console.print(table(measured))


def finding(levels: Validity, unknown: int) -> str:
    """Return `users not valid: hard (the user hears 3% of cruel replies as hurtful)`."""
    invalid = [
        f"{name} ({'; '.join(level_validity.problems)})"
        for name, level_validity in levels.items()
        if level_validity.problems
    ]
    sentences = []
    if invalid:
        sentences.append(f"users not valid, so R is no reward for empathy: {', '.join(invalid)}")
    elif levels:
        sentences.append(f"users valid: {', '.join(levels)}")
    if unknown:
        sentences.append(f"validity of users not recorded in {plural(unknown, 'run')}")
    return "; ".join(sentences)


def validity_of_runs(runs: Sequence[RunResult]) -> tuple[Validity, int]:
    """Return the levels that `runs` trained on, and how many of our runs lack their validity."""
    unknown = sum(run.validity is None for run in runs if run.config is not None)
    return merge(run.validity or {} for run in runs), unknown


def table(levels: Validity) -> Table:
    """Return the measures of each level with their intervals."""
    rich_table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("validity of users [95%]", *levels):
        rich_table.add_column(text(heading), overflow="fold")
    rich_table.add_row(
        text("heard by"), *(text(level_validity.reader) for level_validity in levels.values())
    )
    for name, cells in rows([level_validity.measured for level_validity in levels.values()]):
        rich_table.add_row(text(name), *map(text, cells))
    return rich_table


def rows(measured: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each measure that any level has, with a cell for each of `measured`."""
    for name, words in MEASURES.items():
        decimals = POINTS if "minus" in name else SHARES
        if any(part.get(name) is not None for part in measured):
            yield words, [interval(part.get(name), decimals) for part in measured]


def interval(value: Mapping[str, float] | None, decimals: int) -> str:
    """Return `12.0 [9.5, 14.5]`, or a dash for None."""
    if value is None:
        return "-"
    value_text, low, high = (f"{value[key]:.{decimals}f}" for key in ("value", "low", "high"))
    return f"{value_text} [{low}, {high}]"
