"""A study on a terminal: a row per link, then the verdict with its doubts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.law.compare import claims
from harness.law.compare.deaf_schedule import DeafComparison
from harness.law.compare.link_result import UNDECIDED, LinkResult
from harness.law.compare.study_outcome import StudyOutcome
from harness.records.study_file import Link
from harness.report.tables import validity
from harness.report.tables.grid import folding_table
from harness.report.tables.other_study import print_beside
from harness.report.text import link_words, study_notes, wording
from harness.report.text.wording import plural
from harness.utils.safe_text import text

COLUMNS = ("link", "difference [95%]", "pairs", "p", "verdict")
ABOUT_DEAF = "about a deaf policy"
PERHAPS_DEAF = "about a deaf policy, or too few seeds or users to tell"


def print_study(outcome: StudyOutcome, console: Console) -> None:
    """Print the question, the links, and the verdict with its doubts."""
    console.print(text(headline(outcome), "bold"), soft_wrap=True)
    users = outcome.validity, outcome.unknown_validity
    validity.print_validity(*users, console, all_measures=False)  # the report shows all measures
    if study_notes.has_finished_runs(outcome):
        console.print(table(outcome))
    if outcome.comparison is not None:
        print_beside(outcome.comparison, outcome.stated.words, console)
    for line in study_notes.notes(outcome):
        console.print(text(line, "dim"), soft_wrap=True)
    console.print(text(closing(outcome), "bold"), soft_wrap=True)


def headline(outcome: StudyOutcome) -> str:
    """Return the question, preceded by a warning if no arm is shown to listen."""
    about = f"{_about_deaf(outcome)}: " if outcome.about_deaf_policies else ""
    return f"{about}{outcome.stated.question}"


def _about_deaf(outcome: StudyOutcome) -> str:
    return PERHAPS_DEAF if outcome.may_end_above else ABOUT_DEAF


def closing(outcome: StudyOutcome) -> str:
    """Return the verdict and, if it is open, what would decide it."""
    doubts = f"{study_notes.small_note(outcome)}{_invalid_note(outcome)}{_deaf_note(outcome)}"
    sentence = f"{outcome.study}: {outcome.verdict}{doubts}"
    if outcome.verdict != UNDECIDED:
        return sentence
    needed = outcome.seeds_needed
    decides = f"about {needed} seeds would decide" if needed else "the seeds needed are not known"
    return f"{sentence}; {decides}" if study_notes.has_finished_runs(outcome) else sentence


def _invalid_note(outcome: StudyOutcome) -> str:
    """Return `, with users not valid in 12 of 20 runs`."""
    runs = [counts.planned - counts.failed - counts.inactive for counts in outcome.counts.values()]
    invalid = sum(counts.invalid_users for counts in outcome.counts.values())
    return f", with users not valid in {invalid} of {plural(sum(runs), 'run')}" if invalid else ""


def _deaf_note(outcome: StudyOutcome) -> str:
    """Say whether any arm ends above the best deaf schedule; empty if that is unknown."""
    if outcome.about_deaf_policies is None:
        return ""
    if outcome.about_deaf_policies:
        none_above = (
            f", {_about_deaf(outcome)}: no arm is shown to end above the best deaf schedule"
        )
        possible = ", ".join(map(_possible_gain, outcome.may_end_above))
        return f"{none_above}; {possible}" if possible else none_above
    arms = list(
        dict.fromkeys(comparison.arm for comparison in outcome.above_deaf if comparison.is_above)
    )
    verb = "ends" if len(arms) == 1 else "end"
    return f", {' and '.join(arms)} {verb} above the best deaf schedule"


def _possible_gain(comparison: DeafComparison) -> str:
    """Return `hard may, by up to 0.12 with 3 seeds`."""
    most = wording.number((comparison.difference and comparison.difference.high) or 0.0)
    return f"{comparison.arm} may, by up to {most} with {plural(comparison.seeds, 'seed')}"


def table(outcome: StudyOutcome) -> Table:
    """Return a row per link with difference, pairs, p and verdict; then the checks."""
    rich_table = folding_table(*COLUMNS)
    for result in outcome.links:
        kind = "" if result.link.name in outcome.stated.deciding else "beside: "
        rich_table.add_row(_link_cell(result.link, kind), *map(text, _cells(result)))
    for check in outcome.checks:
        rich_table.add_row(
            _link_cell(check.link, "check: "), *map(text, _cells(check)), style="dim"
        )
    return rich_table


def _link_cell(link: Link, kind: str = "") -> Text:
    return Text("\n").join([text(f"{kind}{link.name}:"), text(link_words.statement(link))])


def _cells(result: LinkResult) -> Sequence[str]:
    difference, p = result.judged, result.p
    return (
        "-" if difference is None else link_words.interval(difference, result.link),
        str(result.pairs),
        "-" if p is None else claims.p_text(p.supported),
        f"{result.verdict}, small" if result.why == claims.SMALL else result.verdict,
    )
