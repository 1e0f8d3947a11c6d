"""The tables of the page below its answer: those of the terminal, with their notes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.law.diagnosis.results import Diagnosis
from harness.law.group_results import Analysis
from harness.records.outcomes import OWN
from harness.report.html.blocks import HtmlTable, from_rich
from harness.report.tables import contrasts, listening, population, summary, validity
from harness.report.tables import diagnosis as diagnoses
from harness.report.text import alternatives, dropped_rows, naming

ROOM = 160
"""Width in characters, enough for the terminal's tables not to fold."""


def runs(analysis: Analysis) -> list[HtmlTable]:
    """Return the tables of the runs, of what their policies hear, and of levels over seeds."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    if not fitted:
        return []
    run_names = naming.names(analysis)
    runs_table = summary.runs_table(analysis, fitted, run_names, ROOM)
    tables = [from_rich("Runs", runs_table, summary.FOOTNOTES)]
    listening_rows = listening.rows(analysis, (OWN,))
    if listening_rows:
        notes = listening.notes(listening_rows)
        tables.append(
            from_rich(
                "Listening and reward of the policies", listening.table(listening_rows), notes
            )
        )
    levels = population.order(analysis)
    if levels:
        heading, population_table = population.heading(levels), population.table(levels)
        tables.append(from_rich(heading, population_table, population.FOOTNOTES))
    return tables


def diagnosis(analysis: Analysis, run_diagnoses: Sequence[Diagnosis]) -> list[HtmlTable]:
    """Return which of three mechanisms failed in each run; empty if none was measured."""
    measured = [
        run_diagnosis
        for run_diagnosis in run_diagnoses
        if any(finding.measured for finding in run_diagnosis.findings)
    ]
    if not measured:
        return []
    table = diagnoses.table(measured, naming.names(analysis))
    return [from_rich("What went wrong in each run", table, diagnoses.notes(measured))]


def comparisons(analysis: Analysis) -> tuple[list[HtmlTable], list[str]]:
    """Return a table per pair of groups, and notes on the method."""
    headings = ("quantity", "difference [95%]", "p", "decision")
    tables = []
    for pair, table in contrasts.blocks(analysis, ROOM):
        html_table = from_rich(pair, table)
        tables.append(HtmlTable(html_table.caption, headings, html_table.rows))
    return tables, contrasts.notes(analysis)


def users(analysis: Analysis) -> tuple[str, list[HtmlTable]]:
    """Return a sentence on whether the users are valid, and the measures behind it."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    levels, unknown = validity.validity_of_runs(fitted)
    measured = {
        name: level_validity for name, level_validity in levels.items() if level_validity.measured
    }
    tables = [from_rich("Validity of the users", validity.table(measured))] if measured else []
    return validity.finding(levels, unknown), tables


def omission_notes(analysis: Analysis) -> list[str]:
    """Return what the numbers above do not include, and why, then the forecasts."""
    run_names = naming.names(analysis)
    return [
        *dropped_rows.unreadable_runs(analysis),
        *dropped_rows.unknown_seeds(analysis),
        *dropped_rows.unfinished(analysis, run_names),
        *dropped_rows.omitted_rows(analysis, run_names),
        *alternatives.forecasts(analysis, run_names),
    ]
