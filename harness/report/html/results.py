"""The tables of the page below its answer: those of the terminal, with their notes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.diagnosis.results import Diagnosis
from harness.law.group_results import Analysis
from harness.records.outcomes import OWN
from harness.report.html.blocks import Table, from_rich
from harness.report.tables import contrasts, listening, population, summary, validity
from harness.report.tables import diagnosis as diagnoses
from harness.report.text import alternatives, dropped_rows, naming

ROOM = 160
"""Characters: wide enough that the terminal's tables are not squeezed."""


def runs(analysis: Analysis) -> list[Table]:
    """Every run; what its policy hears; what the seeds of each level say of all seeds."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    if not fitted:
        return []
    called = naming.names(analysis)
    every = summary.runs_table(analysis, fitted, called, ROOM)
    tables = [from_rich("Runs", every, summary.FOOTNOTES)]
    heard = listening.rows(analysis, (OWN,))
    if heard:
        notes = listening.notes(heard)
        tables.append(
            from_rich("What policies hear, and what it earns", listening.table(heard), notes)
        )
    levels = population.order(analysis)
    if levels:
        heading, shown = population.heading(levels), population.table(levels)
        tables.append(from_rich(heading, shown, population.FOOTNOTES))
    return tables


def diagnosis(analysis: Analysis, found: Sequence[Diagnosis]) -> list[Table]:
    """Which of three mechanisms has gone wrong, run by run; nothing where none was measured."""
    measured = [one for one in found if any(finding.measured for finding in one.findings)]
    if not measured:
        return []
    shown = diagnoses.table(measured, naming.names(analysis))
    return [from_rich("What went wrong in each run", shown, diagnoses.notes(measured))]


def comparisons(analysis: Analysis) -> tuple[list[Table], list[str]]:
    """A table a pair of groups, and the notes on how they are compared."""
    headings = ("quantity", "difference [95%]", "p", "decision")
    tables = []
    for pair, shown in contrasts.blocks(analysis, ROOM):
        made = from_rich(pair, shown)
        tables.append(Table(made.caption, headings, made.rows))
    return tables, contrasts.notes(analysis)


def users(analysis: Analysis) -> tuple[str, list[Table]]:
    """Whether the users are valid, and what was measured of them."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    levels, unknown = validity.of_runs(fitted)
    measured = {name: one for name, one in levels.items() if one.measured}
    tables = [from_rich("Validity of the users", validity.table(measured))] if measured else []
    return validity.finding(levels, unknown), tables


def left_out(analysis: Analysis) -> list[str]:
    """What is in no number above, and why."""
    called = naming.names(analysis)
    return [
        *dropped_rows.not_read(analysis),
        *dropped_rows.unknown_seeds(analysis),
        *dropped_rows.unfinished(analysis, called),
        *dropped_rows.left_out(analysis, called),
        *alternatives.forecasts(analysis, called),
    ]
